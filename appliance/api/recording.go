package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/api/problem"
	"farlink/appliance/capture"
	"farlink/appliance/run"
	"farlink/emulator/link"
)

// Bounds of a recording, bytes.
const (
	recordLeast = 1_000_000
	recordMost  = 100_000_000_000
)

// beginRun begins a run, and its recording where one is asked for.
func (s *Server) beginRun(in *putRunInput, by string, p appliance.PairState) (*runOutput, error) {
	var most link.Size
	if in.Body.Record != "" {
		err := most.UnmarshalText([]byte(in.Body.Record))
		if err != nil || most < recordLeast || most > recordMost {
			return nil, problem.New(http.StatusUnprocessableEntity, "a recording cannot have that size",
				&huma.ErrorDetail{Location: "body.record", Message: "want a size from 1MB to 100GB", Value: in.Body.Record})
		}
	}
	r, err := s.runs.Begin(in.ID, in.Body.Title, by, p)
	if err != nil || most == 0 || r.Recording != nil {
		return &runOutput{r}, refuseRun(err)
	}
	if err := s.beginRecording(r, int64(most)); err != nil {
		_, bad := s.runs.Stop(in.ID)
		return nil, refuseRun(errors.Join(err, bad, s.runs.Delete(in.ID)))
	}
	r, err = s.runs.Get(in.ID)
	return &runOutput{r}, refuseRun(err)
}

// beginRecording has all that the pair's links do with frames from now on
// written beside the run.
func (s *Server) beginRecording(r run.Run, most int64) error {
	rec, _, err := s.recorder(r.Pair)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.runs.ChannelPath(r.ID), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := s.runs.Recorded(r.ID, run.Recording{Most: most}, true); err != nil {
		return errors.Join(err, f.Close())
	}
	var once sync.Once
	return rec.Stream(f, most, "run "+r.ID, func(is capture.Streamed) {
		ended := false
		if is.Ended {
			once.Do(func() { ended = true })
		}
		err := s.runs.Recorded(r.ID, recording(most, is), ended)
		if ended && is.Why != "" {
			s.Box.Tell(appliance.Event{Kind: appliance.KindStorage, Pair: r.Pair, Text: fmt.Sprintf("run %s: the channel is not recorded any further: %s", r.ID, is.Why)})
		}
		if err != nil {
			s.Log.Error("recording", "run", r.ID, "error", err)
		}
	})
}

func recording(most int64, is capture.Streamed) run.Recording {
	return run.Recording{Most: most, Bytes: is.Bytes, Packets: is.Packets, Missed: is.Missed, Why: is.Why}
}

// endRecording ends the recording of a run that ends.
func (s *Server) endRecording(r run.Run) {
	if rec, _, err := s.recorder(r.Pair); err == nil {
		rec.EndStream()
	}
}

func (s *Server) getRunChannel(_ context.Context, in *RunInput) (*huma.StreamResponse, error) {
	r, err := s.runs.Get(in.ID)
	if err != nil {
		return nil, refuseRun(err)
	}
	f, err := os.Open(s.runs.ChannelPath(r.ID))
	if err != nil {
		return nil, problem.New(http.StatusNotFound, `the channel of the run was not recorded; begin one with "record": "1GB"`)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer f.Close()
		download(ctx, "farlink-"+r.ID+"-channel.pcapng")
		if _, err := io.Copy(ctx.BodyWriter(), f); err != nil {
			s.Log.Debug("recording", "run", r.ID, "error", err) // the client went
		}
	}}, nil
}
