package api

import (
	"context"
	"time"

	"farlink/appliance"
	"farlink/appliance/run"
)

// Run takes samples, notices changes and passes events on, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	tick := time.NewTicker(run.Every)
	defer tick.Stop()
	events := s.Box.Subscribe(0)
	defer func() { events.Close() }()
	for _, e := range events.Past {
		s.hub.Publish("event", e)
	}
	old := s.Box.State()
	s.notice(old)
	inner, end := context.WithCancel(ctx)
	defer s.shelf.Close()
	defer s.taps.running.Wait()
	defer end()
	s.record(inner, old)
	seen := uint64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events.C:
			if !ok { // this loop was too slow; take up what it missed
				events = s.Box.Subscribe(seen)
				for _, e := range events.Past {
					s.hub.Publish("event", e)
				}
				continue
			}
			seen = e.ID
			s.runs.Happened(e)
			s.hub.Publish("event", e)
		case <-s.hub.Kicked():
			s.notice(s.Box.State())
		case <-tick.C:
			now := s.Box.State()
			sample := run.Between(old, now)
			s.past.Add(sample)
			s.watch(sample)
			for _, n := range s.runs.Add(sample, now) {
				s.Box.Tell(appliance.Event{Kind: appliance.KindStorage, Pair: n.Pair, Text: n.Text})
			}
			s.hub.Publish("sample", sample)
			s.notice(now)
			s.record(inner, now)
			old = now
		}
	}
}

// notice publishes the state when it is another than before.
func (s *Server) notice(st appliance.State) {
	status := s.statusOf(st)
	if s.hub.Seen(version(status)) {
		s.hub.Publish("state", status)
	}
}
