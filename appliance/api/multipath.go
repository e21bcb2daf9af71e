package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/pep/bundle"
)

type multipathOutput struct {
	ETag string `header:"ETag" doc:"Version of the want."`
	Body appliance.MultipathState
}

type getMultipathInput struct {
	Offset int `query:"offset" minimum:"0" doc:"Leave out so many connections."`
	Limit  int `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Show at most so many."`
}

// MultipathInput goes with every change of the bundle of paths.
type MultipathInput struct {
	IfMatch string `header:"If-Match" doc:"Change only the want that has this ETag; 412 when it has another by now."`
	DryRun  bool   `query:"dry_run" doc:"Check everything, change nothing."`
}

type putMultipathInput struct {
	MultipathInput
	RawBody []byte
	Body    bundle.Carriage
}

type patchMultipathInput struct {
	MultipathInput
	RawBody []byte
	Body    map[string]any `contentType:"application/merge-patch+json" doc:"Merge patch (RFC 7396) of the want: null removes a key."`
}

func (s *Server) multipathOperations(a huma.API) {
	get := gate.Operation("get-multipath", http.MethodGet, "/multipath", access.Read, gate.Reads, "The paths that are held together, and what is carried over them")
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(a, get, s.getMultipath)

	put := gate.Operation("put-multipath", http.MethodPut, "/multipath", access.Drive, gate.UnderLease, "Ask something else of the bundle of paths, as a whole")
	put.Description += " All of it takes effect, or nothing; it holds for new connections, those that are go on as they began."
	put.Errors = append(put.Errors, http.StatusNotFound, http.StatusPreconditionFailed, http.StatusServiceUnavailable)
	put.SkipValidateBody = true // the box says all that is wrong
	huma.Register(a, put, s.putMultipath)

	patch := gate.Operation("patch-multipath", http.MethodPatch, "/multipath", access.Drive, gate.UnderLease, "Change some of what is asked of the bundle of paths")
	patch.Description += " All of it takes effect, or nothing; it holds for new connections, those that are go on as they began."
	patch.Errors = put.Errors
	huma.Register(a, patch, s.patchMultipath)
}

func (s *Server) getMultipath(_ context.Context, in *getMultipathInput) (*multipathOutput, error) {
	state, err := s.Box.Multipath(in.Offset, in.Limit)
	if err != nil {
		return nil, problem.Refuse(err, "query")
	}
	return &multipathOutput{ETag: quote(state.ETag), Body: state}, nil
}

func (s *Server) putMultipath(ctx context.Context, in *putMultipathInput) (*multipathOutput, error) {
	want, bad := appliance.ParseMultipath(in.RawBody)
	if len(bad) > 0 {
		return nil, problem.Refuse(bad, "body")
	}
	return s.changeMultipath(ctx, in.MultipathInput, func(o appliance.Options) (appliance.MultipathState, error) {
		return s.Box.ApplyMultipath(want, o)
	})
}

func (s *Server) patchMultipath(ctx context.Context, in *patchMultipathInput) (*multipathOutput, error) {
	return s.changeMultipath(ctx, in.MultipathInput, func(o appliance.Options) (appliance.MultipathState, error) {
		return s.Box.PatchMultipath(in.RawBody, o)
	})
}

// changeMultipath asks the box for something else of the bundle.
func (s *Server) changeMultipath(ctx context.Context, in MultipathInput, ask func(appliance.Options) (appliance.MultipathState, error)) (*multipathOutput, error) {
	before, err := s.Box.Multipath(0, 0)
	if err != nil {
		return nil, problem.Refuse(err, "body")
	}
	if in.IfMatch != "" && matches(in.IfMatch, before.ETag) {
		in.IfMatch = before.ETag
	}
	w := gate.Caller(ctx)
	w.Note.On, w.Note.Before = "multipath", before.Want
	if in.DryRun {
		w.Note.What = gate.DryRun
	}
	done, err := ask(appliance.Options{IfMatch: strings.Trim(in.IfMatch, `"`), DryRun: in.DryRun, By: w.Name})
	if err != nil {
		return nil, problem.Refuse(err, "body")
	}
	w.Note.After = done.Want
	return &multipathOutput{ETag: quote(done.ETag), Body: done}, nil
}
