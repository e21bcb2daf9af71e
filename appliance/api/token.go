package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/access"
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

func (s *Server) tokenOperations(a huma.API) {
	huma.Register(a, operation("list-tokens", http.MethodGet, "/tokens", access.Admin, reads, "All tokens, without their secrets"),
		func(context.Context, *struct{}) (*tokensOutput, error) { return &tokensOutput{s.Keys.Tokens()}, nil })

	put := operation("put-token", http.MethodPut, "/tokens/{name}", access.Admin, freely, "Make a token, in place of one of the same name")
	put.Errors = append(put.Errors, http.StatusConflict)
	huma.Register(a, put, s.putToken)

	remove := operation("delete-token", http.MethodDelete, "/tokens/{name}", access.Admin, freely, "End a token and its sessions")
	remove.Errors = append(remove.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, remove, s.deleteToken)

	huma.Register(a, operation("get-audit", http.MethodGet, "/audit", access.Read, reads, "Who wrote what, oldest first"),
		func(_ context.Context, in *auditInput) (*auditOutput, error) {
			return &auditOutput{s.Audit.Tail(in.After, in.Limit)}, nil
		})
}

func (s *Server) putToken(ctx context.Context, in *putTokenInput) (*newTokenOutput, error) {
	w := caller(ctx)
	w.note.On, w.note.After = "token "+in.Name, in.Body
	secret, t, err := s.Keys.Mint(in.Name, in.Body.Scope)
	if err != nil {
		return nil, turnAway(err)
	}
	return &newTokenOutput{NewToken{t, secret}}, nil
}

func (s *Server) deleteToken(ctx context.Context, in *TokenInput) (*struct{}, error) {
	w := caller(ctx)
	w.note.On = "token " + in.Name
	if err := s.Keys.Revoke(in.Name); err != nil {
		return nil, turnAway(err)
	}
	return nil, nil
}
