package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/profiles/document"
)

// TestRefuse has every error of the box, wrapped, and what becomes of it.
func TestRefuse(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		kind   string
		at     string // place of the first detail
	}{
		{appliance.Problems{{Path: "rate", Place: document.Place{Line: 3, Column: 8}, Got: "x", Want: "a rate"}}, 422, "invalid", "body.rate:3:8"},
		{appliance.Problems{{Place: document.Place{Line: 3}, Want: "a key"}}, 422, "invalid", "body:3"},
		{appliance.Stale{Got: "1", Now: "2"}, 412, "stale", "header.If-Match"},
		{appliance.NoPair{Name: "x"}, 404, "not-found", "query.pair"},
		{appliance.ErrNoMultipath, 404, "not-found", ""},
		{appliance.NotReady{Pair: "main", Why: "no port"}, 503, "not-ready", ""},
		{appliance.NoProfile{Name: "x"}, 404, "not-found", "path.name"},
		{appliance.Shipped{Name: "clear"}, 409, "read-only", ""},
		{appliance.InUse{Name: "mine", Pair: "main"}, 409, "in-use", ""},
		{syscall.ENOSPC, 507, "storage", ""},
		{syscall.EROFS, 507, "storage", ""},
		{context.DeadlineExceeded, 503, "not-ready", ""},
		{appliance.ErrBusy, 409, "busy", ""},
	} {
		var p *huma.ErrorModel
		if got := Refuse(fmt.Errorf("wrapped: %w", c.err), "body"); !errors.As(got, &p) {
			t.Errorf("%v: %v is no problem", c.err, got)
			continue
		}
		at := ""
		if len(p.Errors) > 0 {
			at = p.Errors[0].Location
		}
		if p.Status != c.status || p.Type != URN+c.kind || at != c.at || p.Title == "" {
			t.Errorf("%v: %d %s at %q, want %d %s at %q", c.err, p.Status, p.Type, at, c.status, c.kind, c.at)
		}
	}
	if Refuse(nil, "body") != nil || Refuse(io.EOF, "body") != io.EOF {
		t.Error("no error became one, or an unknown one was hidden from the log")
	}
}

// A document of very many problems is answered with the first and their number.
func TestManyProblems(t *testing.T) {
	p := Refuse(make(appliance.Problems, detailsMost+50), "body").(*huma.ErrorModel)
	if len(p.Errors) != detailsMost || p.Detail != "the document has 250 problems" {
		t.Errorf("%d details, %q", len(p.Errors), p.Detail)
	}
}

func TestLeased(t *testing.T) {
	w := httptest.NewRecorder()
	Write(w, Leased(access.Lease{Holder: "alice", Purpose: "soak", Until: time.Unix(0, 0)}))
	var p huma.ErrorModel
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	if w.Code != 423 || w.Header().Get("Content-Type") != "application/problem+json" || p.Type != URN+"leased" ||
		p.Detail != "alice holds the lease until 1970-01-01T00:00:00Z (soak)" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// What huma says gets its type; what a caller sent comes back cut.
func TestFinish(t *testing.T) {
	v, err := finish(nil, nil, &huma.ErrorModel{Status: 422, Errors: []*huma.ErrorDetail{{Value: strings.Repeat("x", 5000)}, {Value: 7}}})
	p := v.(*huma.ErrorModel)
	if err != nil || p.Type != URN+"invalid" || p.Errors[1].Value != 7 || len(p.Errors[0].Value.(string)) > echoMost+3 {
		t.Errorf("%+v, %v", p, err)
	}
	if v, _ := finish(nil, nil, "an answer"); v != "an answer" {
		t.Errorf("%v", v)
	}
}
