package entry

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/access"
	"farlink/appliance/api/gate"
)

// TokenWish asks for a token.
type TokenWish struct {
	Scope access.Scope `json:"scope" enum:"read,drive,admin" doc:"How much it may do."`
}

// NewToken is a token with its secret.
type NewToken struct {
	access.Token
	Secret string `json:"token" doc:"The token itself. It is never shown again." example:"flk_…"`
}

type tokensOutput struct{ Body []access.Token }

// TokenInput names a token.
type TokenInput struct {
	Name string `path:"name" maxLength:"64" doc:"Name of the token, as it stands in the audit log." example:"ci-runner-12"`
}

type putTokenInput struct {
	TokenInput
	Body TokenWish
}

type newTokenOutput struct{ Body NewToken }

type auditInput struct {
	After uint64 `query:"after" doc:"Only entries with a higher id."`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The newest so many."`
}

type auditOutput struct{ Body []access.Entry }

// Tokens registers the operations of tokens and of the audit log.
func (e *Entry) Tokens(a huma.API) {
	huma.Register(a, gate.Operation("list-tokens", http.MethodGet, "/tokens", access.Admin, gate.Reads, "All tokens, without their secrets"),
		func(context.Context, *struct{}) (*tokensOutput, error) { return &tokensOutput{e.Keys.Tokens()}, nil })

	put := gate.Operation("put-token", http.MethodPut, "/tokens/{name}", access.Admin, gate.Freely, "Make a token, in place of one of the same name")
	put.Errors = append(put.Errors, http.StatusConflict)
	huma.Register(a, put, e.putToken)

	remove := gate.Operation("delete-token", http.MethodDelete, "/tokens/{name}", access.Admin, gate.Freely, "End a token and its sessions")
	remove.Errors = append(remove.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, remove, e.deleteToken)

	huma.Register(a, gate.Operation("get-audit", http.MethodGet, "/audit", access.Read, gate.Reads, "Who wrote what, oldest first"),
		func(_ context.Context, in *auditInput) (*auditOutput, error) {
			return &auditOutput{e.Audit.Tail(in.After, in.Limit)}, nil
		})
}

func (e *Entry) putToken(ctx context.Context, in *putTokenInput) (*newTokenOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On, w.Note.After = "token "+in.Name, in.Body
	secret, t, err := e.Keys.Mint(in.Name, in.Body.Scope)
	if err != nil {
		return nil, TurnAway(err)
	}
	return &newTokenOutput{NewToken{t, secret}}, nil
}

func (e *Entry) deleteToken(ctx context.Context, in *TokenInput) (*struct{}, error) {
	w := gate.Caller(ctx)
	w.Note.On = "token " + in.Name
	if err := e.Keys.Revoke(in.Name); err != nil {
		return nil, TurnAway(err)
	}
	return nil, nil
}
