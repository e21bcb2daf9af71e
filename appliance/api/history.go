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
	"farlink/appliance/run"
	"farlink/emulator/link"
)

type seriesInput struct {
	PairInput
	Window string `query:"window" doc:"How far back, up to 3h; 1m when not given." example:"5m"`
}

type seriesOutput struct{ Body run.Series }

type eventsInput struct {
	After uint64 `query:"after" doc:"Only events with a higher id."`
}

type eventsOutput struct{ Body []appliance.Event }

func (s *Server) historyOperations(a huma.API) {
	series := gate.Operation("get-series", http.MethodGet, "/series", access.Read, gate.Reads, "What was, in columns")
	series.Description += " Tenths of a second for the last minute, seconds before."
	series.Errors = append(series.Errors, http.StatusNotFound)
	huma.Register(a, series, s.getSeries)

	huma.Register(a, gate.Operation("list-events", http.MethodGet, "/events", access.Read, gate.Reads, "What happened, oldest first"),
		func(_ context.Context, in *eventsInput) (*eventsOutput, error) {
			sub := s.Box.Subscribe(in.After)
			defer sub.Close()
			return &eventsOutput{append([]appliance.Event{}, sub.Past...)}, nil
		})
}

func (s *Server) getSeries(_ context.Context, in *seriesInput) (*seriesOutput, error) {
	name, err := s.pairName(in.Pair)
	if err != nil {
		return nil, err
	}
	window := link.Duration(time.Minute)
	if in.Window != "" {
		window, err = link.ParseDuration(in.Window)
	}
	if err != nil || window < 0 || window > link.Duration(run.Reach) {
		return nil, problem.New(http.StatusUnprocessableEntity, "the window is out of range",
			&huma.ErrorDetail{Location: "query.window", Message: `want a duration up to 3h, such as "5m"`, Value: in.Window})
	}
	return &seriesOutput{run.Columns(name, s.past.Since(name, s.Now().Add(-time.Duration(window))))}, nil
}

// pairName finds the pair that a request means; "" is the only one.
func (s *Server) pairName(name string) (string, error) {
	if _, _, err := s.Box.Want(name); err != nil {
		return "", problem.Refuse(err, "query")
	}
	if name == "" {
		name = s.Box.State().Pairs[0].Name
	}
	return name, nil
}
