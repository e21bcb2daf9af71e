package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is sent, what is read of an answer, and what a refusal says.
func TestCall(t *testing.T) {
	var asked string
	box := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.String() + " " + r.Header.Get("Authorization")
		switch r.URL.Path {
		case "/api/v1/status":
			w.Write([]byte(`{"name": "bench"}`))
		case "/api/v1/link":
			w.WriteHeader(http.StatusUnprocessableEntity)
			w.Write([]byte(`{"detail": "the document has 1 problem", "errors": [{"location": "body.seed", "message": "want a number", "value": "x"}]}`))
		case "/api/v1/pep":
			w.WriteHeader(http.StatusServiceUnavailable)
			w.Write([]byte("<html>no problem of a box"))
		default:
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer box.Close()
	c := New(strings.TrimPrefix(box.URL, "http://")+"/", "flk_x", "")
	if s, err := c.Status(t.Context()); err != nil || s.Name != "bench" || asked != "GET /api/v1/status Bearer flk_x" {
		t.Errorf("%+v, %v; asked %s", s, err, asked)
	}
	for path, want := range map[string]struct {
		says      string
		temporary bool
	}{
		"/link": {"the document has 1 problem\n  seed: got x, want a number", false},
		"/pep":  {"503 Service Unavailable", true},
		"/none": {"401 Unauthorized\n  want --token, FARLINK_TOKEN or --lab", false},
	} {
		err := c.Call(t.Context(), http.MethodPatch, path, map[string]string{"seed": "x"}, nil)
		var no Refused
		if !errors.As(err, &no) || err.Error() != want.says || no.Temporary() != want.temporary {
			t.Errorf("%s: %v; want %q", path, err, want.says)
		}
	}
	if _, err := c.Open(t.Context(), "/pep"); !errors.As(err, new(Refused)) {
		t.Errorf("opened what is not there: %v", err)
	}
	box.Close()
	c.Hint = "; want another"
	if _, err := c.Status(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "no box answers at http://127.0.0.1:") || !strings.HasSuffix(err.Error(), c.Hint) {
		t.Errorf("%v", err)
	}
}
