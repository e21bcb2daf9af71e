package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/run"
)

const (
	writeMost    = 5 * time.Second  // for one message to one client
	silenceMost  = 15 * time.Second // then a comment keeps proxies from cutting
	retryMillis  = 1000
	streamFormat = "text/event-stream"
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
	op := operation("stream", http.MethodGet, "/stream", access.Read, reads, "What happens, as server-sent events")
	op.Description += " First hello with the state, then sample ten times a second, state when it changes, event when something happens, mark when one is put into a run, capture when a trigger saved one. Ids begin at 1. A client that falls six seconds behind is dropped."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	op.Responses = map[string]*huma.Response{"200": {
		Description: "Messages without end.",
		Content: map[string]*huma.MediaType{streamFormat: {Schema: &huma.Schema{
			Type: huma.TypeArray, Description: "Each item is one message.",
			Items: &huma.Schema{OneOf: []*huma.Schema{
				messageSchema[Hello](a, "hello"), messageSchema[run.Sample](a, "sample"),
				messageSchema[Status](a, "state"), messageSchema[appliance.Event](a, "event"),
				messageSchema[CaptureSaved](a, "capture"), messageSchema[MarkSaid](a, "mark"),
			}}}}}}}
	op.Metadata[longKey] = true
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
	c, past, last, resumed := s.hub.join(after)
	if c == nil {
		return nil, huma.ErrorWithHeaders(named("too-many-streams", http.StatusServiceUnavailable,
			fmt.Sprintf("%d streams are open, and more are not served", streamsMost)), http.Header{"Retry-After": {"5"}})
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer s.hub.leave(c)
		ctx.SetHeader("Content-Type", streamFormat)
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetHeader("X-Accel-Buffering", "no")
		st := s.Box.State()
		hello := Hello{Version: st.Version, Started: st.Started, Resumed: resumed,
			Interval: int(run.Every / time.Millisecond), Status: s.statusOf(st)}
		helloText, err := json.Marshal(hello)
		if err != nil { // cannot be: the types are ours
			return
		}
		if !resumed {
			past = []message{{id: last, event: "hello", data: helloText}}
		} else {
			past = append([]message{{id: after, event: "hello", data: helloText}}, past...)
		}
		w := humagin.Unwrap(ctx).Writer
		pump(ctx.Context(), sender{w, http.NewResponseController(w)}, past, c.c)
	}}, nil
}

// sender writes messages to one client, each within writeMost.
type sender struct {
	io.Writer
	control *http.ResponseController
}

func (s sender) send(text []byte) error {
	// Writers of tests know no deadline.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeMost))
	if _, err := s.Write(text); err != nil {
		return err
	}
	return s.control.Flush()
}

// pump sends what was, then what comes, until the client or the server goes.
func pump(ctx context.Context, to sender, past []message, live <-chan message) {
	if err := to.send(fmt.Appendf(nil, "retry: %d\n\n", retryMillis)); err != nil {
		return
	}
	for _, m := range past {
		if err := to.send(m.text()); err != nil {
			return
		}
	}
	silence := time.NewTimer(silenceMost)
	defer silence.Stop()
	for {
		text := []byte(":\n\n")
		select {
		case <-ctx.Done():
			return
		case m, ok := <-live:
			if !ok {
				return
			}
			text = m.text()
		case <-silence.C:
		}
		silence.Reset(silenceMost)
		if err := to.send(text); err != nil {
			return
		}
	}
}

// text is the message as it goes over the wire; id 0 is none.
func (m message) text() []byte {
	var b []byte
	if m.id > 0 {
		b = fmt.Appendf(b, "id: %d\n", m.id)
	}
	return fmt.Appendf(b, "event: %s\ndata: %s\n\n", m.event, m.data)
}
