// Package problem is what the API says when it does not do what it was asked:
// New details by RFC 9457. Its types are stable and anchors in docs/api.md.
package problem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
)

// URN starts the type of every problem; what follows is stable and an
// anchor in docs/api.md.
const URN = "urn:farlink:problem:"

// Kinds names the problem of a status that has no narrower one.
var Kinds = map[int]string{
	http.StatusBadRequest:            "bad-request",
	http.StatusUnauthorized:          "no-credentials",
	http.StatusForbidden:             "scope",
	http.StatusNotFound:              "not-found",
	http.StatusMethodNotAllowed:      "method",
	http.StatusNotAcceptable:         "not-acceptable",
	http.StatusRequestTimeout:        "timeout",
	http.StatusConflict:              "conflict",
	http.StatusPreconditionFailed:    "stale",
	http.StatusRequestEntityTooLarge: "too-large",
	http.StatusUnsupportedMediaType:  "media-type",
	http.StatusMisdirectedRequest:    "host",
	http.StatusUnprocessableEntity:   "invalid",
	http.StatusLocked:                "leased",
	http.StatusTooManyRequests:       "slow-down",
	http.StatusInternalServerError:   "internal",
	http.StatusServiceUnavailable:    "not-ready",
	http.StatusInsufficientStorage:   "storage",
}

// New makes the problem of a status.
func New(status int, detail string, errs ...*huma.ErrorDetail) *huma.ErrorModel {
	return &huma.ErrorModel{Type: URN + Kinds[status], Title: http.StatusText(status),
		Status: status, Detail: detail, Errors: errs}
}

// Named is New with a narrower type.
func Named(kind string, status int, detail string, errs ...*huma.ErrorDetail) *huma.ErrorModel {
	p := New(status, detail, errs...)
	p.Type = URN + kind
	return p
}

// Refuse turns an error of the box into a problem. at is where in the request
// the paths of the error begin: "body", "query.pair".
func Refuse(err error, at string) error {
	var problems appliance.Problems
	var stale appliance.Stale
	var noPair appliance.NoPair
	var notReady appliance.NotReady
	var noProfile appliance.NoProfile
	var shipped appliance.Shipped
	var inUse appliance.InUse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problems):
		return New(http.StatusUnprocessableEntity, sentence(len(problems)), details(problems, at)...)
	case errors.As(err, &stale):
		return New(http.StatusPreconditionFailed, stale.Error(),
			&huma.ErrorDetail{Location: "header.If-Match", Message: "want " + strconv.Quote(stale.Now), Value: stale.Got})
	case errors.As(err, &noPair):
		return New(http.StatusNotFound, noPair.Error(),
			&huma.ErrorDetail{Location: "query.pair", Message: "want a pair of the box", Value: noPair.Name})
	case errors.Is(err, appliance.ErrNoMultipath):
		return New(http.StatusNotFound, err.Error())
	case errors.As(err, &notReady):
		return New(http.StatusServiceUnavailable, notReady.Error())
	case errors.As(err, &noProfile):
		return New(http.StatusNotFound, noProfile.Error(),
			&huma.ErrorDetail{Location: "path.name", Message: "want a name of /profiles", Value: noProfile.Name})
	case errors.As(err, &shipped):
		return Named("read-only", http.StatusConflict, shipped.Error())
	case errors.As(err, &inUse):
		return Named("in-use", http.StatusConflict, inUse.Error())
	case unwritable(err):
		return New(http.StatusInsufficientStorage, "the state directory does not take it: "+err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return New(http.StatusServiceUnavailable, "another change is still under way: "+err.Error())
	case errors.Is(err, appliance.ErrBusy):
		return Named("busy", http.StatusConflict, err.Error())
	}
	return err // huma makes a 500 of it
}

// unwritable reports whether a disk is full, or only to be read.
func unwritable(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func sentence(n int) string {
	if n == 1 {
		return "the document has 1 problem"
	}
	return fmt.Sprintf("the document has %d problems", n)
}

// detailsMost bounds the problems of one answer: a megabyte can hold some
// 200,000 unknown keys. The sentence before them has their number.
const detailsMost = 200

// details gives each problem of a document its place in the request.
func details(problems appliance.Problems, at string) []*huma.ErrorDetail {
	list := make([]*huma.ErrorDetail, min(len(problems), detailsMost))
	for i, p := range problems[:len(list)] {
		list[i] = &huma.ErrorDetail{Message: "want " + p.Want, Location: place(at, p), Value: p.Got}
	}
	return list
}

func place(at string, p appliance.Problem) string {
	where := at
	if p.Path != "" {
		where += "." + p.Path
	}
	if p.Line > 0 {
		where += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			where += ":" + strconv.Itoa(p.Column)
		}
	}
	return where
}

// Leased is the problem of a write while somebody else holds the lease.
func Leased(l access.Lease) *huma.ErrorModel {
	until := l.Until.UTC().Format(time.RFC3339)
	p := New(http.StatusLocked, fmt.Sprintf("%s holds the lease until %s (%s)", l.Holder, until, l.Purpose),
		&huma.ErrorDetail{Location: "lease.holder", Message: "holds the lease", Value: l.Holder},
		&huma.ErrorDetail{Location: "lease.until", Message: "ends then unless renewed", Value: until})
	return p
}

// echoMost bounds how much of a wrong value a problem gives back.
const echoMost = 200

// Finish returns the transformer that every answer passes: it gives problems
// made by huma their type, and cuts what they echo. What went wrong inside is
// for the log, not for strangers.
func Finish(log *slog.Logger) huma.Transformer {
	return func(ctx huma.Context, _ string, v any) (any, error) { return finish(log, ctx, v) }
}

func finish(log *slog.Logger, ctx huma.Context, v any) (any, error) {
	p, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if p.Type == "" {
		p.Type = URN + Kinds[p.Status]
	}
	if p.Status == http.StatusUnsupportedMediaType {
		p.Detail = "this operation does not read that media type; with curl say --json, or -H 'Content-Type: …'"
	}
	if p.Status == http.StatusInternalServerError {
		for _, e := range p.Errors {
			log.Error("request failed", "operation", ctx.Operation().OperationID, "err", e)
		}
		p.Errors = nil
	}
	for _, e := range p.Errors {
		if e != nil {
			locate(e)
			e.Value = short(e.Value)
		}
	}
	return p, nil
}

// worded is a problem of a document as text, which is all that huma hands on
// of what kept a body from being read: place, path, got, want.
var worded = regexp.MustCompile(`^(?:\d+:\d+: )?([^\s:"]+): got (.+), want (.+)$`)

// locate gives what kept a body from being read its place in the body, and its
// value instead of the whole body.
func locate(e *huma.ErrorDetail) {
	if e.Location != "body" {
		return
	}
	if m := worded.FindStringSubmatch(e.Message); m != nil {
		e.Location, e.Value, e.Message = "body."+m[1], m[2], "want "+m[3]
	}
}

func short(v any) any {
	b, err := json.Marshal(v)
	if err != nil || len(b) <= echoMost {
		return v
	}
	return string(b[:echoMost]) + "…"
}

// Write answers outside of huma.
func Write(w http.ResponseWriter, p *huma.ErrorModel) {
	b, err := json.Marshal(p)
	if err != nil { // cannot be: strings and numbers
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	w.Write(append(b, '\n'))
}
