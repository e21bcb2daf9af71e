package api

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"farlink/appliance/access"
	"farlink/appliance/api/problem"
)

const (
	needKey  = "need"  // in Operation.Metadata: the scope an operation needs
	writeKey = "write" // in Operation.Metadata: how it writes
	longKey  = "long"  // in Operation.Metadata: the answer may take its time
)

// writes says whether an operation changes something, and whether another's
// lease stands against it.
type writes int

const (
	reads writes = iota
	freely
	underLease
)

// operation describes one operation.
func operation(id, method, path string, need access.Scope, w writes, summary string) huma.Operation {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		MaxBodyBytes: bodyMost, BodyReadTimeout: bodyTime,
		Metadata: map[string]any{needKey: need, writeKey: w},
	}
	if need > access.None {
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
		op.Description = "Needs scope " + need.String() + "."
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
	}
	if w == underLease {
		op.Description += " Refused with 423 while another holds the lease."
		op.Errors = append(op.Errors, http.StatusLocked)
	}
	return op
}

// who carries the caller and what the audit log shall say through a request.
type who struct {
	access.Caller
	note    access.Entry
	cookie  string // name of the session's
	session string // secret of the session, if there is one
}

type whoKey struct{}

// begunKey finds when the connection of a request was made.
type begunKey struct{}

// caller returns who makes the request.
func caller(ctx context.Context) *who {
	w, _ := ctx.Value(whoKey{}).(*who)
	if w == nil {
		return &who{}
	}
	return w
}

// admit stands before every operation.
func (s *Server) admit(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	w := &who{}
	var within bool
	if w.Caller, within = insider(ctx.Context()); !within {
		w.cookie = cookieName(ctx.Host())
		w.session = sessionOf(ctx.Header("Cookie"), w.cookie)
		w.Caller = s.identify(ctx.Header("Authorization"), w.session, ctx.RemoteAddr())
	}
	ctx = huma.WithValue(ctx, whoKey{}, w)
	// huma knows no status of an answer that is streamed; the writer does.
	status := humagin.Unwrap(ctx).Writer.Status
	defer func() { s.counts.Request(op.OperationID, status()) }()
	if p := s.barred(op, w.Caller); p != nil {
		answer(ctx, p)
		return
	}
	if begun, ok := ctx.Context().Value(begunKey{}).(time.Time); ok && w.May(access.Admin) {
		s.Door.Entered(begun)
	}
	kind, _ := op.Metadata[writeKey].(writes)
	if l, blocked := s.Desk.Blocks(w.Name); kind == underLease && blocked {
		answer(ctx, problem.Leased(l))
		s.book(op, w, http.StatusLocked)
		return
	}
	if long, _ := op.Metadata[longKey].(bool); long {
		patient(ctx)
	}
	next(ctx)
	if kind != reads {
		s.book(op, w, status())
		s.hub.Kick()
	}
}

// patient lifts the time limits of a connection whose answer takes its time.
func patient(ctx huma.Context) {
	control := http.NewResponseController(humagin.Unwrap(ctx).Writer)
	// Writers of tests know no deadlines.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Now().Add(pollMost + answerTime))
}

// barred returns the problem of a caller whose scope does not reach.
func (s *Server) barred(op *huma.Operation, c access.Caller) *huma.ErrorModel {
	need, _ := op.Metadata[needKey].(access.Scope)
	switch {
	case c.May(need):
		return nil
	case c.Scope == access.None || strings.HasPrefix(c.Name, guest):
		return problem.New(http.StatusUnauthorized, "this needs a token (Authorization: Bearer flk_…) or a session of the panel")
	}
	return problem.New(http.StatusForbidden, fmt.Sprintf("%s has scope %s, this needs %s", c.Name, c.Scope, need))
}

// readers stands before what is not an operation but shows what scope read
// shows.
func (s *Server) readers(c *gin.Context) {
	r := c.Request
	caller := s.identify(r.Header.Get("Authorization"), sessionOf(r.Header.Get("Cookie"), cookieName(r.Host)), r.RemoteAddr)
	if p := s.barred(&huma.Operation{Metadata: map[string]any{needKey: access.Read}}, caller); p != nil {
		c.Header("WWW-Authenticate", `Bearer realm="farlink"`)
		problem.Write(c.Writer, p)
		c.Abort()
	}
}

// guest starts the name of a caller without credentials.
const guest = "guest@"

// identify finds out who the caller is. Wrong credentials are nobody's, even
// on an open bench: who sends some means them.
func (s *Server) identify(authorization, session, remote string) access.Caller {
	from := remote
	if host, _, err := net.SplitHostPort(remote); err == nil {
		from = host
	}
	if authorization != "" {
		secret, ok := strings.CutPrefix(authorization, "Bearer ")
		if !ok {
			return access.Caller{From: from}
		}
		c, _ := s.Keys.Token(strings.TrimSpace(secret))
		c.From = from
		return c
	}
	if session != "" {
		if c, ok := s.Keys.Session(session); ok {
			c.From = from
			return c
		}
	}
	return access.Caller{Name: guest + from, Scope: s.Door.Guest(), From: from}
}

// sessionCookie starts the name of the cookie that carries a session.
const sessionCookie = "farlink_session"

// cookieName is that of the session's cookie at a host. Cookies know no ports
// (RFC 6265, 8.5): the name does, so that boxes of one host do not log each
// other's users out.
func cookieName(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return sessionCookie + "_" + port
	}
	return sessionCookie
}

// sessionOf finds the session in a Cookie header.
func sessionOf(cookies, name string) string {
	list, err := http.ParseCookie(cookies)
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(list, func(c *http.Cookie) bool { return c.Name == name })
	if i < 0 {
		return ""
	}
	return list[i].Value
}

// book writes the audit entry of a write; dry runs write nothing, and
// strangers are not worth a line.
func (s *Server) book(op *huma.Operation, w *who, status int) {
	e := w.note
	if e.What == dryRun || status == http.StatusUnauthorized || status == http.StatusTooManyRequests {
		return
	}
	e.Time, e.Who, e.From, e.What, e.Status = s.Now().UTC(), w.Name, w.From, op.OperationID, status
	if err := s.Audit.Add(e); err != nil {
		s.Log.Error("audit", "err", err)
	}
}

// dryRun as the note's What keeps a request out of the audit log.
const dryRun = "dry-run"

// answer writes a problem from within a middleware.
func answer(ctx huma.Context, err error) {
	p := err.(*huma.ErrorModel)
	if p.Status == http.StatusUnauthorized {
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="farlink"`)
	}
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetHeader("Cache-Control", "no-store")
	ctx.SetStatus(p.Status)
	writeBody(ctx.BodyWriter(), p)
}
