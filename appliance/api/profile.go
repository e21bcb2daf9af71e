package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
)

// The media types of a profile's document.
const (
	typeTOML = "application/toml"
	typeJSON = "application/json"
)

type profilesOutput struct {
	Body []appliance.ProfileInfo
}

// ProfileInput names a profile.
type ProfileInput struct {
	Name string `path:"name" doc:"Name of the profile; its slashes may stand as they are." example:"geo/qirse-t"`
}

type getProfileInput struct {
	ProfileInput
	Accept string `header:"Accept" doc:"application/toml for the document alone; otherwise JSON with what is known of it."`
}

// ProfileDocument is a profile with its document.
type ProfileDocument struct {
	appliance.ProfileInfo
	TOML string `json:"toml" doc:"The document."`
}

type putProfileInput struct {
	ProfileInput
	DryRun      bool   `query:"dry_run" doc:"Check the document, store nothing."`
	ContentType string `header:"Content-Type" doc:"application/toml or application/json."`
	RawBody     []byte `contentType:"application/toml"`
}

type profileOutput struct {
	ETag string `header:"ETag" doc:"The profile's hash."`
	Body appliance.ProfileInfo
}

func (s *Server) profileOperations(a huma.API) {
	huma.Register(a, gate.Operation("list-profiles", http.MethodGet, "/profiles", access.Read, gate.Reads, "All profiles, by name"),
		func(context.Context, *struct{}) (*profilesOutput, error) {
			all, err := s.Box.Profiles()
			return &profilesOutput{Body: all}, err
		})

	get := gate.Operation("get-profile", http.MethodGet, "/profiles/{name}", access.Read, gate.Reads, "One profile")
	get.Errors = append(get.Errors, http.StatusNotFound)
	get.Responses = map[string]*huma.Response{"200": {
		Description: "The profile, or with Accept: application/toml its document alone.",
		Headers:     map[string]*huma.Param{"ETag": {Description: "The profile's hash.", Schema: &huma.Schema{Type: huma.TypeString}}},
		Content: map[string]*huma.MediaType{
			typeJSON: {Schema: schemaOf[ProfileDocument](a)},
			typeTOML: {Schema: &huma.Schema{Type: huma.TypeString}},
		}}}
	huma.Register(a, get, s.getProfile)

	put := gate.Operation("put-profile", http.MethodPut, "/profiles/{name}", access.Drive, gate.UnderLease, "Store a profile of your own")
	put.Description += " Every problem of the document is reported at once. Shipped profiles are read-only."
	put.Errors = append(put.Errors, http.StatusConflict, http.StatusUnsupportedMediaType)
	huma.Register(a, put, s.putProfile)

	remove := gate.Operation("delete-profile", http.MethodDelete, "/profiles/{name}", access.Drive, gate.UnderLease, "Remove a profile of your own")
	remove.Errors = append(remove.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, remove, s.deleteProfile)
}

// schemaOf returns a reference to the schema of T.
func schemaOf[T any](a huma.API) *huma.Schema {
	return a.OpenAPI().Components.Schemas.Schema(typeOf[T](), true, "")
}

func (s *Server) getProfile(_ context.Context, in *getProfileInput) (*huma.StreamResponse, error) {
	info, doc, err := s.profile(in.Name)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("ETag", quote(info.Hash))
		if strings.Contains(in.Accept, typeTOML) {
			ctx.SetHeader("Content-Type", typeTOML)
			ctx.BodyWriter().Write(doc)
			return
		}
		ctx.SetHeader("Content-Type", typeJSON)
		writeBody(ctx.BodyWriter(), ProfileDocument{ProfileInfo: info, TOML: string(doc)})
	}}, nil
}

// profile finds a profile by name.
func (s *Server) profile(name string) (info appliance.ProfileInfo, doc []byte, err error) {
	all, err := s.Box.Profiles()
	if err != nil {
		return info, nil, err
	}
	i := slices.IndexFunc(all, func(p appliance.ProfileInfo) bool { return p.Name == name })
	if i < 0 {
		return info, nil, problem.Refuse(appliance.NoProfile{Name: name}, "")
	}
	doc, err = s.Box.Profile(name)
	return all[i], doc, err
}

func (s *Server) putProfile(ctx context.Context, in *putProfileInput) (*profileOutput, error) {
	media, _, _ := strings.Cut(in.ContentType, ";")
	if media = strings.ToLower(strings.TrimSpace(media)); media != typeTOML && media != typeJSON {
		return nil, problem.New(http.StatusUnsupportedMediaType, "")
	}
	w := gate.Caller(ctx)
	w.Note.On = "profile " + in.Name
	if in.DryRun {
		w.Note.What = gate.DryRun
	}
	if old, _, err := s.profile(in.Name); err == nil {
		w.Note.Before = old.Hash
	}
	info, err := s.Box.PutProfile(in.Name, in.RawBody, media == typeJSON, appliance.Options{By: w.Name, DryRun: in.DryRun})
	if err != nil {
		return nil, problem.Refuse(err, "body")
	}
	w.Note.After = info.Hash
	return &profileOutput{ETag: quote(info.Hash), Body: info}, nil
}

func (s *Server) deleteProfile(ctx context.Context, in *ProfileInput) (*struct{}, error) {
	w := gate.Caller(ctx)
	w.Note.On = "profile " + in.Name
	if old, _, err := s.profile(in.Name); err == nil {
		w.Note.Before = old.Hash
	}
	return nil, problem.Refuse(s.Box.DeleteProfile(in.Name, appliance.Options{By: w.Name}), "path.name")
}
