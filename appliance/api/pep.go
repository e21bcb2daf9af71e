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
)

// PEPInput goes with every change of a pair's proxies.
type PEPInput struct {
	PairInput
	IfMatch string `header:"If-Match" doc:"Change only the want that has this ETag; 412 when it has another by now."`
	DryRun  bool   `query:"dry_run" doc:"Check everything, change nothing."`
}

type pepOutput struct {
	ETag string `header:"ETag" doc:"Version of the want."`
	Body appliance.PEPState
}

type putPEPInput struct {
	PEPInput
	RawBody []byte
	Body    appliance.PEP
}

type patchPEPInput struct {
	PEPInput
	RawBody []byte
	Body    map[string]any `contentType:"application/merge-patch+json" doc:"Merge patch (RFC 7396) of the want: null removes a key."`
}

type flowsInput struct {
	PairInput
	Side   string `query:"side" enum:"near,far" doc:"Which proxy; the first there is when left out."`
	Offset int    `query:"offset" minimum:"0" doc:"Leave out so many of the oldest."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Show at most so many."`
}

type flowsOutput struct {
	Body struct {
		Total int               `json:"total" doc:"How many connections are split."`
		Flows []appliance.Split `json:"flows" doc:"A page of them, oldest first."`
	}
}

func (s *Server) pepOperations(a huma.API) {
	get := gate.Operation("get-pep", http.MethodGet, "/pep", access.Read, gate.Reads, "The proxies of a pair")
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(a, get, s.getPEP)

	put := gate.Operation("put-pep", http.MethodPut, "/pep", access.Drive, gate.UnderLease, "Ask something else of a pair's proxies, as a whole")
	put.Description += " Connections that are split go on when rules and legs change; they end when proxies come or go."
	put.Errors = append(put.Errors, http.StatusNotFound, http.StatusPreconditionFailed, http.StatusServiceUnavailable)
	put.SkipValidateBody = true // the box says all that is wrong
	huma.Register(a, put, s.putPEP)

	patch := gate.Operation("patch-pep", http.MethodPatch, "/pep", access.Drive, gate.UnderLease, "Change some of what is asked of a pair's proxies")
	patch.Errors = put.Errors
	huma.Register(a, patch, s.patchPEP)

	flows := gate.Operation("get-flows", http.MethodGet, "/flows", access.Read, gate.Reads, "The split connections of a pair")
	flows.Errors = append(flows.Errors, http.StatusNotFound)
	huma.Register(a, flows, s.getFlows)
}

func (s *Server) getPEP(_ context.Context, in *PairInput) (*pepOutput, error) {
	state, err := s.Box.PEP(in.Pair)
	if err != nil {
		return nil, problem.Refuse(err, "query")
	}
	return &pepOutput{ETag: quote(state.ETag), Body: state}, nil
}

func (s *Server) putPEP(ctx context.Context, in *putPEPInput) (*pepOutput, error) {
	want, bad := appliance.ParsePEP(in.RawBody)
	if len(bad) > 0 {
		return nil, problem.Refuse(bad, "body")
	}
	return s.changePEP(ctx, in.PEPInput, func(ctx context.Context, o appliance.Options) (appliance.PEPState, error) {
		return s.Box.ApplyPEP(ctx, in.Pair, want, o)
	})
}

func (s *Server) patchPEP(ctx context.Context, in *patchPEPInput) (*pepOutput, error) {
	return s.changePEP(ctx, in.PEPInput, func(ctx context.Context, o appliance.Options) (appliance.PEPState, error) {
		return s.Box.PatchPEP(ctx, in.Pair, in.RawBody, o)
	})
}

// changePEP asks the box for other proxies.
func (s *Server) changePEP(ctx context.Context, in PEPInput, ask func(context.Context, appliance.Options) (appliance.PEPState, error)) (*pepOutput, error) {
	before, err := s.Box.PEP(in.Pair)
	if err != nil {
		return nil, problem.Refuse(err, "query")
	}
	if in.IfMatch != "" && matches(in.IfMatch, before.ETag) {
		in.IfMatch = before.ETag
	}
	w := gate.Caller(ctx)
	w.Note.On, w.Note.Before = on("pep", in.Pair), before.Want
	if in.DryRun {
		w.Note.What = gate.DryRun
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	done, err := ask(ctx, appliance.Options{IfMatch: strings.Trim(in.IfMatch, `"`), DryRun: in.DryRun, By: w.Name})
	if err != nil {
		return nil, problem.Refuse(err, "body")
	}
	w.Note.After = done.Want
	return &pepOutput{ETag: quote(done.ETag), Body: done}, nil
}

func (s *Server) getFlows(_ context.Context, in *flowsInput) (*flowsOutput, error) {
	out := &flowsOutput{}
	page, total, err := s.Box.Splits(in.Pair, in.Side, in.Offset, in.Limit)
	if err != nil {
		return nil, problem.Refuse(err, "query")
	}
	out.Body.Total, out.Body.Flows = total, append([]appliance.Split{}, page...)
	return out, nil
}
