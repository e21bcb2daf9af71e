package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/plot"
	"farlink/emulator/sim"
	"farlink/emulator/sim/load"
	"farlink/profiles"
)

// A preview runs in virtual time, as long as its frames allow: 300,000 of
// them take about a second of one core.
const (
	previewUsual   = 30 * link.Second
	previewMost    = 300 * link.Second
	previewFrames  = 300_000
	previewBitsPer = 12_000 // of a full frame
	previewRate    = 100 * link.MegabitPerSecond
)

type previewInput struct {
	Seed    uint64 `query:"seed" doc:"Seed of the channel."`
	Length  string `query:"length" doc:"Of the run in virtual time, up to 5m; 30s when not given. A fast link is run for less." example:"1m"`
	RawBody []byte `contentType:"application/toml"`
}

func (s *Server) previewOperations(a huma.API) {
	op := operation("post-preview", http.MethodPost, "/preview", access.Read, reads, "What a profile does, in virtual time, as a figure")
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
		return nil, refuse(bad, "body")
	}
	length, err := previewUsual, error(nil)
	if in.Length != "" {
		length, err = link.ParseDuration(in.Length)
	}
	if err != nil || length <= 0 || length > previewMost {
		return nil, problem(http.StatusUnprocessableEntity, "the run is too long or no time",
			&huma.ErrorDetail{Location: "query.length", Message: `want a duration up to 5m, such as "30s"`, Value: in.Length})
	}
	select {
	case s.previewing <- struct{}{}:
		defer func() { <-s.previewing }()
	case <-time.After(5 * time.Second):
		return nil, problem(http.StatusTooManyRequests, "another preview is being made; ask again")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	figure, err := drawn(p, in.Seed, length)
	if err != nil {
		return nil, problem(http.StatusUnprocessableEntity, err.Error())
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "image/svg+xml")
		ctx.SetHeader("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		ctx.BodyWriter().Write(figure)
	}}, nil
}

// drawn runs a profile in virtual time and draws the run.
func drawn(p *profiles.Profile, seed uint64, length link.Duration) ([]byte, error) {
	e, err := emulator.New(emulator.Spec{Links: []emulator.LinkSpec{{Name: appliance.MainLink, Seed: seed, Profile: p}}})
	if err != nil {
		return nil, err
	}
	// A transfer over a link without limit would be without limit too.
	down, up := "tcp-down", "tcp-up"
	rate := link.Rate(0)
	for _, w := range []struct {
		load *string
		link.Rate
	}{{&down, max(p.Expect.Down, p.Down.Queue.Rate)}, {&up, max(p.Expect.Up, p.Up.Queue.Rate)}} {
		if w.Rate == 0 || w.Rate > link.GigabitPerSecond || p.RTT() < link.Millisecond {
			w.Rate = min(previewRate, max(w.Rate, previewRate/10))
			*w.load = fmt.Sprintf("cbr%s=%s", (*w.load)[len("tcp"):], w.Rate)
		}
		rate += w.Rate
	}
	frames := int64(rate) / previewBitsPer * int64(length/link.Millisecond) / 1000
	if frames > previewFrames {
		length = max(link.Second, link.Duration(int64(length)/(frames/previewFrames+1)))
	}
	var senders []sim.Sender
	for _, text := range []string{down, up, "ping"} {
		sender, err := load.Parse(text, seed)
		if err != nil {
			return nil, err
		}
		senders = append(senders, sender)
	}
	r, err := sim.Run(sim.Config{Emulator: e, Senders: senders, Until: link.Time(length), Step: max(length/300, 10*link.Millisecond), Series: true})
	if err != nil {
		return nil, err
	}
	var columns []plot.Column
	for _, c := range r.Series.Columns {
		values := make([]float64, len(c.Values))
		for i, v := range c.Values {
			values[i] = float64(v)
		}
		columns = append(columns, plot.Column{Name: c.Name, Values: values})
	}
	return plot.Figure{Title: p.Name, Subtitle: fmt.Sprintf("%s, seed %d, load %s, %s, ping", p.ShortHash(), seed, down, up),
		Step: r.Series.Step.Seconds(), Panels: plot.Choose(columns, plot.Choice{})}.SVG(), nil
}
