package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/appliance/experiment/shelf"
	"farlink/appliance/run"
	"farlink/appliance/stream"
)

// Hello is the first message of a stream.
type Hello struct {
	Version  string    `json:"version"`
	Started  time.Time `json:"started" doc:"When the daemon started; ids of the stream begin anew with it."`
	Resumed  bool      `json:"resumed" doc:"The stream goes on right after Last-Event-ID."`
	Interval int       `json:"interval_ms" doc:"Time between samples."`
	Status   Status    `json:"status"`
}

type streamInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"Id of the last message seen: the stream goes on after it, if it is still kept."`
}

func (s *Server) streamOperations(a huma.API) {
	op := gate.Operation("stream", http.MethodGet, "/stream", access.Read, gate.Reads, "What happens, as server-sent events")
	op.Description += " First hello with the state, then sample ten times a second, state when it changes, event when something happens, mark when one is put into a run, capture when a trigger saved one, experiment when one of its cells begins or ends. Ids begin at 1. A client that falls six seconds behind is dropped."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Messages without end.",
		Content: map[string]*huma.MediaType{stream.MediaType: {Schema: &huma.Schema{
			Type: huma.TypeArray, Description: "Each item is one message.",
			Items: &huma.Schema{OneOf: []*huma.Schema{
				messageSchema[Hello](a, "hello"), messageSchema[run.Sample](a, "sample"),
				messageSchema[Status](a, "state"), messageSchema[appliance.Event](a, "event"),
				messageSchema[CaptureSaved](a, "capture"), messageSchema[MarkSaid](a, "mark"),
				messageSchema[shelf.ExperimentState](a, "experiment"),
			}}}}}}}
	op.Metadata[gate.LongKey] = true
	huma.Register(a, op, s.stream)
}

func messageSchema[T any](a huma.API, event string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Required: []string{"event", "data"}, Properties: map[string]*huma.Schema{
		"id":    {Type: huma.TypeInteger},
		"event": {Type: huma.TypeString, Enum: []any{event}},
		"data":  schemaOf[T](a),
	}}
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

func (s *Server) stream(_ context.Context, in *streamInput) (*huma.StreamResponse, error) {
	after, _ := strconv.ParseUint(in.LastEventID, 10, 64) // what does not read is no id
	c := s.hub.Join(after)
	if c == nil {
		return nil, huma.ErrorWithHeaders(problem.Named("too-many-streams", http.StatusServiceUnavailable,
			fmt.Sprintf("%d streams are open, and more are not served", stream.Most)), http.Header{"Retry-After": {"5"}})
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", stream.MediaType)
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no")
		st := s.Box.State()
		c.Serve(ctx.Context(), humagin.Unwrap(ctx).Writer, Hello{Version: st.Version, Started: st.Started, Resumed: c.Resumed,
			Interval: int(run.Every / time.Millisecond), Status: s.statusOf(st)})
	}}, nil
}
