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

// PairInput picks a pair.
type PairInput struct {
	Pair string `query:"pair" doc:"Name of the pair; may be left out on a box with one."`
}

// ChangeInput goes with every change of a pair.
type ChangeInput struct {
	PairInput
	IfMatch string `header:"If-Match" doc:"Change only the want that has this ETag; 412 when it has another by now."`
	DryRun  bool   `query:"dry_run" doc:"Check everything, change nothing."`
	NewRun  bool   `query:"new_run" doc:"Begin a new run: what is inside is dropped, the channel and the counters begin anew."`
}

type wantOutput struct {
	ETag string `header:"ETag" doc:"Version of the want."`
	Body appliance.Want
}

type putLinkInput struct {
	ChangeInput
	Body appliance.Want
}

type patchLinkInput struct {
	ChangeInput
	RawBody []byte
	Body    map[string]any `contentType:"application/merge-patch+json" doc:"Merge patch (RFC 7396) of the want: null removes a key."`
}

type appliedOutput struct {
	ETag string `header:"ETag" doc:"Version of the want."`
	Body appliance.Applied
}

type disruptInput struct {
	PairInput
	Body appliance.Disruption
}

type disruptOutput struct {
	Body appliance.Disruption
}

func (s *Server) linkOperations(a huma.API) {
	get := gate.Operation("get-link", http.MethodGet, "/link", access.Read, gate.Reads, "What was asked of a pair")
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(a, get, s.getLink)

	put := gate.Operation("put-link", http.MethodPut, "/link", access.Drive, gate.UnderLease, "Ask something else of a pair, as a whole")
	put.Description += " Atomic: all of it takes effect between two frames, or nothing does."
	put.Errors = append(put.Errors, http.StatusNotFound, http.StatusPreconditionFailed, http.StatusServiceUnavailable)
	huma.Register(a, put, s.putLink)

	patch := gate.Operation("patch-link", http.MethodPatch, "/link", access.Drive, gate.UnderLease, "Change some of what is asked of a pair")
	patch.Errors = put.Errors
	huma.Register(a, patch, s.patchLink)

	events := gate.Operation("post-link-event", http.MethodPost, "/link/events", access.Drive, gate.UnderLease, "Make something happen to a pair for a time")
	events.DefaultStatus = http.StatusAccepted
	events.Errors = append(events.Errors, http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable)
	huma.Register(a, events, s.postLinkEvent)

	reset := gate.Operation("post-reset", http.MethodPost, "/reset", access.Drive, gate.UnderLease, "Put the box back to its boot state")
	reset.Description += " Ends link events, frees the caller's lease; the first call of a test bench."
	reset.DefaultStatus = http.StatusNoContent
	huma.Register(a, reset, s.postReset)
}

func (s *Server) getLink(_ context.Context, in *PairInput) (*wantOutput, error) {
	want, version, err := s.Box.Want(in.Pair)
	if err != nil {
		return nil, problem.Refuse(err, "query")
	}
	return &wantOutput{ETag: quote(version), Body: want}, nil
}

func (s *Server) putLink(ctx context.Context, in *putLinkInput) (*appliedOutput, error) {
	return s.change(ctx, in.ChangeInput, func(ctx context.Context, o appliance.Options) (appliance.Applied, error) {
		return s.Box.Apply(ctx, in.Pair, in.Body, o)
	})
}

func (s *Server) patchLink(ctx context.Context, in *patchLinkInput) (*appliedOutput, error) {
	return s.change(ctx, in.ChangeInput, func(ctx context.Context, o appliance.Options) (appliance.Applied, error) {
		return s.Box.Patch(ctx, in.Pair, in.RawBody, o)
	})
}

// change asks the box for another want.
func (s *Server) change(ctx context.Context, in ChangeInput, ask func(context.Context, appliance.Options) (appliance.Applied, error)) (*appliedOutput, error) {
	before, version, err := s.Box.Want(in.Pair)
	if err != nil {
		return nil, problem.Refuse(err, "query")
	}
	if in.IfMatch != "" && matches(in.IfMatch, version) {
		in.IfMatch = version // of a list, the one that holds
	}
	w := gate.Caller(ctx)
	w.Note.On, w.Note.Before = on("pair", in.Pair), before
	if in.DryRun {
		w.Note.What = gate.DryRun
	}
	// A client that hangs up must not leave half a change.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	done, err := ask(ctx, appliance.Options{IfMatch: strings.Trim(in.IfMatch, `"`), DryRun: in.DryRun, NewRun: in.NewRun, By: w.Name})
	if err != nil {
		return nil, problem.Refuse(err, "body")
	}
	w.Note.After = done.Want
	return &appliedOutput{ETag: quote(done.ETag), Body: done}, nil
}

// on says what a write was done to, for the audit log.
func on(thing, name string) string { return strings.TrimSpace(thing + " " + name) }

func (s *Server) postLinkEvent(ctx context.Context, in *disruptInput) (*disruptOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On, w.Note.After = on("pair", in.Pair), in.Body
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	d, err := s.Box.Disrupt(ctx, in.Pair, in.Body, w.Name)
	if err != nil {
		return nil, problem.Refuse(err, "body")
	}
	return &disruptOutput{Body: d}, nil
}

func (s *Server) postReset(ctx context.Context, _ *struct{}) (*struct{}, error) {
	w := gate.Caller(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	if err := s.Box.Reset(ctx, w.Name); err != nil {
		return nil, problem.Refuse(err, "body")
	}
	s.Desk.Release(w.Name, false)
	return nil, nil
}
