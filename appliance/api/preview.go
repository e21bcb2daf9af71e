package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/appliance/preview"
	"farlink/emulator/link"
	"farlink/profiles"
)

// previewUsual is the length of a preview that does not say.
const previewUsual = 30 * link.Second

type previewInput struct {
	Seed    uint64 `query:"seed" doc:"Seed of the channel."`
	Length  string `query:"length" doc:"Of the run in virtual time, up to 5m; 30s when not given. A fast link is run for less." example:"1m"`
	RawBody []byte `contentType:"application/toml"`
}

func (s *Server) previewOperations(a huma.API) {
	op := gate.Operation("post-preview", http.MethodPost, "/preview", access.Read, gate.Reads, "What a profile does, in virtual time, as a figure")
	op.Description += " A bulk transfer each way and a ping run over the link of the document; nothing is applied. SVG."
	op.Responses = map[string]*huma.Response{"200": {Description: "The figure.", Content: map[string]*huma.MediaType{"image/svg+xml": text}}}
	op.Errors = append(op.Errors, http.StatusTooManyRequests)
	huma.Register(a, op, s.preview)
}

func (s *Server) preview(ctx context.Context, in *previewInput) (*huma.StreamResponse, error) {
	p, problems := profiles.Parse(in.RawBody)
	if p == nil {
		var bad appliance.Problems
		for _, one := range problems {
			if one.Level == profiles.Error {
				bad = append(bad, one)
			}
		}
		return nil, problem.Refuse(bad, "body")
	}
	length, err := previewUsual, error(nil)
	if in.Length != "" {
		length, err = link.ParseDuration(in.Length)
	}
	if err != nil || length <= 0 || length > preview.Most {
		return nil, problem.New(http.StatusUnprocessableEntity, "the run is too long or no time",
			&huma.ErrorDetail{Location: "query.length", Message: `want a duration up to 5m, such as "30s"`, Value: in.Length})
	}
	select {
	case s.previewing <- struct{}{}:
		defer func() { <-s.previewing }()
	case <-time.After(5 * time.Second):
		return nil, problem.New(http.StatusTooManyRequests, "another preview is being made; ask again")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	figure, err := preview.Draw(p, in.Seed, length)
	if err != nil {
		return nil, problem.New(http.StatusUnprocessableEntity, err.Error())
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "image/svg+xml")
		ctx.SetHeader("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		ctx.BodyWriter().Write(figure)
	}}, nil
}
