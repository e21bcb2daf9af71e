package entry

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
)

// SessionState says who the caller is to the box.
type SessionState struct {
	Name    string       `json:"name" doc:"Token or user; guest@ADDRESS without credentials."`
	Scope   access.Scope `json:"scope" enum:"none,read,drive,admin"`
	Claimed bool         `json:"claimed" doc:"The box has a password; before, its console shows a code."`
}

// Login begins a session by password or by token.
type Login struct {
	Password string `json:"password,omitempty" maxLength:"256"`
	Token    string `json:"token,omitempty" maxLength:"256"`
}

// Claim sets the password of a box that nobody has claimed yet.
type Claim struct {
	Code     string `json:"code" maxLength:"64" doc:"The code on the box's console."`
	Password string `json:"password" maxLength:"256" doc:"At least 10 bytes."`
}

type sessionOutput struct {
	Body SessionState
}

type loginInput struct{ Body Login }

type loginOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      SessionState
}

type claimInput struct{ Body Claim }

type logoutOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

// Sessions registers the operations of sessions and of the first password.
func (e *Entry) Sessions(a huma.API) {
	huma.Register(a, gate.Operation("get-session", http.MethodGet, "/session", access.None, gate.Reads, "Who you are to the box"), e.getSession)

	login := gate.Operation("post-session", http.MethodPost, "/session", access.None, gate.Freely, "Log a browser in")
	login.Errors = append(login.Errors, http.StatusUnauthorized, http.StatusTooManyRequests)
	huma.Register(a, login, e.login)

	claim := gate.Operation("post-claim", http.MethodPost, "/claim", access.None, gate.Freely, "Set the password of a new box")
	claim.Errors = append(claim.Errors, http.StatusUnauthorized, http.StatusConflict, http.StatusTooManyRequests)
	huma.Register(a, claim, e.claim)

	huma.Register(a, gate.Operation("delete-session", http.MethodDelete, "/session", access.None, gate.Freely, "Log a browser out"), e.logout)
}

func (e *Entry) getSession(ctx context.Context, _ *struct{}) (*sessionOutput, error) {
	return &sessionOutput{e.sessionState(gate.Caller(ctx).Caller)}, nil
}

func (e *Entry) sessionState(c access.Caller) SessionState {
	return SessionState{Name: c.Name, Scope: c.Scope, Claimed: e.Keys.Claimed()}
}

func (e *Entry) login(ctx context.Context, in *loginInput) (*loginOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On = "session"
	var secret string
	var c access.Caller
	var err error
	if in.Body.Token != "" {
		secret, c, err = e.Keys.LoginToken(in.Body.Token, w.From)
	} else {
		secret, c, err = e.Keys.Login(in.Body.Password, w.From)
	}
	if err != nil {
		return nil, TurnAway(err)
	}
	w.Name = c.Name
	return &loginOutput{SetCookie: e.cookie(w.Cookie, secret), Body: e.sessionState(c)}, nil
}

// cookie carries a session; without a secret it ends one.
func (e *Entry) cookie(name, secret string) http.Cookie {
	c := http.Cookie{Name: name, Value: secret, Path: "/", HttpOnly: true, Secure: e.Door.Secure(),
		SameSite: http.SameSiteStrictMode, MaxAge: int(access.SessionMost.Seconds())}
	if secret == "" {
		c.MaxAge = -1
	}
	return c
}

// TurnAway turns an error of the keyring into a problem.
func TurnAway(err error) error {
	var slow access.Slow
	switch {
	case errors.As(err, &slow):
		after := strconv.Itoa(int(math.Ceil(slow.Wait.Seconds())))
		return huma.ErrorWithHeaders(problem.New(http.StatusTooManyRequests, err.Error()), http.Header{"Retry-After": {after}})
	case errors.Is(err, access.ErrWrong):
		return problem.Named("wrong-secret", http.StatusUnauthorized, err.Error())
	case errors.Is(err, access.ErrClaimed):
		return problem.Named("claimed", http.StatusConflict, err.Error())
	case errors.Is(err, access.ErrWeak):
		return problem.New(http.StatusUnprocessableEntity, "the password does not do",
			&huma.ErrorDetail{Location: "body.password", Message: err.Error()})
	case errors.Is(err, access.ErrName):
		return problem.New(http.StatusUnprocessableEntity, "the token's name does not do",
			&huma.ErrorDetail{Location: "path.name", Message: err.Error()})
	case errors.Is(err, access.ErrFixed):
		return problem.Named("fixed", http.StatusConflict, err.Error())
	case errors.Is(err, access.ErrNoToken):
		return problem.New(http.StatusNotFound, err.Error())
	}
	return problem.Refuse(err, "body")
}

func (e *Entry) claim(ctx context.Context, in *claimInput) (*loginOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On = "password"
	if err := e.Keys.Claim(in.Body.Code, in.Body.Password, w.From); err != nil {
		return nil, TurnAway(err)
	}
	e.Log.Info("box claimed", "from", w.From)
	return e.login(ctx, &loginInput{Login{Password: in.Body.Password}})
}

func (e *Entry) logout(ctx context.Context, _ *struct{}) (*logoutOutput, error) {
	w := gate.Caller(ctx)
	e.Keys.Logout(w.Session)
	return &logoutOutput{SetCookie: e.cookie(w.Cookie, "")}, nil
}
