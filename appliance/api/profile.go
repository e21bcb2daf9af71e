package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
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

func (s *Server) profileOperations(a huma.API) {
	huma.Register(a, operation("list-profiles", http.MethodGet, "/profiles", access.Read, reads, "All profiles, by name"),
		func(context.Context, *struct{}) (*profilesOutput, error) {
			all, err := s.Box.Profiles()
			return &profilesOutput{Body: all}, err
		})

	get := operation("get-profile", http.MethodGet, "/profiles/{name}", access.Read, reads, "One profile")
	get.Errors = append(get.Errors, http.StatusNotFound)
	get.Responses = map[string]*huma.Response{"200": {
		Description: "The profile, or with Accept: application/toml its document alone.",
		Headers:     map[string]*huma.Param{"ETag": {Description: "The profile's hash.", Schema: &huma.Schema{Type: huma.TypeString}}},
		Content: map[string]*huma.MediaType{
			typeJSON: {Schema: schemaOf[ProfileDocument](a)},
			typeTOML: {Schema: &huma.Schema{Type: huma.TypeString}},
		}}}
	huma.Register(a, get, s.getProfile)
}

// schemaOf returns a reference to the schema of T.
func schemaOf[T any](a huma.API) *huma.Schema {
	return huma.SchemaFromType(a.OpenAPI().Components.Schemas, typeOf[T]())
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
		return info, nil, problem(http.StatusNotFound, "no profile is called "+strconv.Quote(name),
			&huma.ErrorDetail{Location: "path.name", Message: "want a name of /profiles", Value: name})
	}
	doc, err = s.Box.Profile(name)
	return all[i], doc, err
}
