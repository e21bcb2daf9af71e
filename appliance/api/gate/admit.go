package gate

import (
	"context"
	"encoding/json"
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
	NeedKey  = "need"  // in Operation.Metadata: the scope an operation needs
	WriteKey = "write" // in Operation.Metadata: how it writes
	LongKey  = "long"  // in Operation.Metadata: the answer may take its time
)

// Writes says whether an operation changes something, and whether another's
// lease stands against it.
type Writes int

const (
	Reads Writes = iota
	Freely
	UnderLease
)

// Operation describes one operation.
func Operation(id, method, path string, need access.Scope, w Writes, summary string) huma.Operation {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		MaxBodyBytes: BodyMost, BodyReadTimeout: BodyTime,
		Metadata: map[string]any{NeedKey: need, WriteKey: w},
	}
	if need > access.None {
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
		op.Description = "Needs scope " + need.String() + "."
		op.Errors = append(op.Errors, http.StatusUnauthorized, http.StatusForbidden)
	}
	if w == UnderLease {
		op.Description += " Refused with 423 while another holds the lease."
		op.Errors = append(op.Errors, http.StatusLocked)
	}
	return op
}

// Who carries the caller and what the audit log shall say through a request.
type Who struct {
	access.Caller
	Note    access.Entry
	Cookie  string // name of the session's
	Session string // secret of the session, if there is one
}

type whoKey struct{}

// begunKey finds when the connection of a request was made.
type begunKey struct{}

// Begun notes in the context of a connection when it was made.
func Begun(ctx context.Context) context.Context {
	return context.WithValue(ctx, begunKey{}, time.Now())
}

type insideKey struct{}

// Inside is a context in which the daemon calls itself for somebody: with that
// caller's scope, lease and entries in the audit log.
func Inside(ctx context.Context, by access.Caller) context.Context {
	return context.WithValue(ctx, insideKey{}, by)
}

// insider returns for whom the daemon calls itself. Nobody else can: the key
// is not of the request but of its context.
func insider(ctx context.Context) (access.Caller, bool) {
	c, ok := ctx.Value(insideKey{}).(access.Caller)
	return c, ok
}

// Caller returns who makes the request.
func Caller(ctx context.Context) *Who {
	w, _ := ctx.Value(whoKey{}).(*Who)
	if w == nil {
		return &Who{}
	}
	return w
}

// Admit stands before every operation.
func (g *Gate) Admit(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	w := &Who{}
	var within bool
	if w.Caller, within = insider(ctx.Context()); !within {
		w.Cookie = cookieName(ctx.Host())
		w.Session = sessionOf(ctx.Header("Cookie"), w.Cookie)
		w.Caller = g.identify(ctx.Header("Authorization"), w.Session, ctx.RemoteAddr())
	}
	ctx = huma.WithValue(ctx, whoKey{}, w)
	// huma knows no status of an answer that is streamed; the writer does.
	status := humagin.Unwrap(ctx).Writer.Status
	defer func() { g.Count(op.OperationID, status()) }()
	if p := g.barred(op, w.Caller); p != nil {
		answer(ctx, p)
		return
	}
	if begun, ok := ctx.Context().Value(begunKey{}).(time.Time); ok && w.May(access.Admin) {
		g.Door.Entered(begun)
	}
	kind, _ := op.Metadata[WriteKey].(Writes)
	if l, blocked := g.Desk.Blocks(w.Name); kind == UnderLease && blocked {
		answer(ctx, problem.Leased(l))
		g.book(op, w, http.StatusLocked)
		return
	}
	if long, _ := op.Metadata[LongKey].(bool); long {
		patient(ctx)
	}
	next(ctx)
	if kind != Reads {
		g.book(op, w, status())
		g.Wrote()
	}
}

// patient lifts the time limits of a connection whose answer takes its time.
func patient(ctx huma.Context) {
	control := http.NewResponseController(humagin.Unwrap(ctx).Writer)
	// Writers of tests know no deadlines.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Now().Add(PollMost + AnswerTime))
}

// barred returns the problem of a caller whose scope does not reach.
func (g *Gate) barred(op *huma.Operation, c access.Caller) *huma.ErrorModel {
	need, _ := op.Metadata[NeedKey].(access.Scope)
	switch {
	case c.May(need):
		return nil
	case c.Scope == access.None || strings.HasPrefix(c.Name, guest):
		return problem.New(http.StatusUnauthorized, "this needs a token (Authorization: Bearer flk_…) or a session of the panel")
	}
	return problem.New(http.StatusForbidden, fmt.Sprintf("%s has scope %s, this needs %s", c.Name, c.Scope, need))
}

// Readers stands before what is not an operation but shows what scope read
// shows.
func (g *Gate) Readers(c *gin.Context) {
	r := c.Request
	caller := g.identify(r.Header.Get("Authorization"), sessionOf(r.Header.Get("Cookie"), cookieName(r.Host)), r.RemoteAddr)
	if p := g.barred(&huma.Operation{Metadata: map[string]any{NeedKey: access.Read}}, caller); p != nil {
		c.Header("WWW-Authenticate", `Bearer realm="farlink"`)
		problem.Write(c.Writer, p)
		c.Abort()
	}
}

// guest starts the name of a caller without credentials.
const guest = "guest@"

// identify finds out who the caller is. Wrong credentials are nobody's, even
// on an open bench: who sends some means them.
func (g *Gate) identify(authorization, session, remote string) access.Caller {
	from := remote
	if host, _, err := net.SplitHostPort(remote); err == nil {
		from = host
	}
	if authorization != "" {
		secret, ok := strings.CutPrefix(authorization, "Bearer ")
		if !ok {
			return access.Caller{From: from}
		}
		c, _ := g.Keys.Token(strings.TrimSpace(secret))
		c.From = from
		return c
	}
	if session != "" {
		if c, ok := g.Keys.Session(session); ok {
			c.From = from
			return c
		}
	}
	return access.Caller{Name: guest + from, Scope: g.Door.Guest(), From: from}
}

// SessionCookie starts the name of the cookie that carries a session.
const SessionCookie = "farlink_session"

// cookieName is that of the session's cookie at a host. Cookies know no ports
// (RFC 6265, 8.5): the name does, so that boxes of one host do not log each
// other's users out.
func cookieName(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return SessionCookie + "_" + port
	}
	return SessionCookie
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
func (g *Gate) book(op *huma.Operation, w *Who, status int) {
	e := w.Note
	if e.What == DryRun || status == http.StatusUnauthorized || status == http.StatusTooManyRequests {
		return
	}
	e.Time, e.Who, e.From, e.What, e.Status = g.Now().UTC(), w.Name, w.From, op.OperationID, status
	if err := g.Audit.Add(e); err != nil {
		g.Log.Error("audit", "err", err)
	}
}

// DryRun as the note's What keeps a request out of the audit log.
const DryRun = "dry-run"

// answer writes a problem from within a middleware.
func answer(ctx huma.Context, p *huma.ErrorModel) {
	if p.Status == http.StatusUnauthorized {
		ctx.SetHeader("WWW-Authenticate", `Bearer realm="farlink"`)
	}
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetHeader("Cache-Control", "no-store")
	ctx.SetStatus(p.Status)
	b, err := json.Marshal(p)
	if err == nil { // it cannot be otherwise: strings and numbers
		ctx.BodyWriter().Write(append(b, '\n'))
	}
}
