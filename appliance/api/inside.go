package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/access"
	"farlink/appliance/api/gate"
)

// inside calls the API from within the daemon, for somebody: with that
// caller's scope, lease and entries in the audit log. It is how the box makes
// experiments.
type inside struct {
	*Server
	by access.Caller
}

// Call makes a request; the path begins behind /api/v1.
func (i inside) Call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(gate.Inside(ctx, i.by), method, "http://localhost"+Base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", typeJSON)
	r.RemoteAddr = i.by.From
	w := &answerKept{header: http.Header{}, status: http.StatusOK}
	i.handler.ServeHTTP(w, r)
	if w.status >= 300 {
		no := declined{ErrorModel: &huma.ErrorModel{Status: w.status}}
		_ = json.Unmarshal(w.body.Bytes(), no.ErrorModel) // what is not a problem keeps the status
		return no
	}
	if out == nil || w.body.Len() == 0 {
		return nil
	}
	return json.Unmarshal(w.body.Bytes(), out)
}

// declined is a problem as an error of a call from inside.
type declined struct{ *huma.ErrorModel }

func (r declined) Error() string {
	text := r.Detail
	for _, e := range r.Errors {
		text += fmt.Sprintf("; %s: got %v, %s", e.Location, e.Value, e.Message)
	}
	return text
}

// Temporary reports whether the box may do later what it cannot do now.
func (r declined) Temporary() bool { return r.Status == http.StatusServiceUnavailable }

// answerKept keeps an answer in memory.
type answerKept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answerKept) Header() http.Header         { return a.header }
func (a *answerKept) WriteHeader(status int)      { a.status = status }
func (a *answerKept) Write(b []byte) (int, error) { return a.body.Write(b) }
