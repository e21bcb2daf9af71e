package api

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"farlink/appliance"
	"farlink/appliance/run"
)

const (
	ringLength = 2048 // messages that can be resumed: over three minutes
	behindMost = 64   // messages a client may be behind: over six seconds
)

// message is one event of the stream, written once for all clients.
type message struct {
	id    uint64
	event string
	data  []byte
}

// hub keeps the last messages and hands new ones to the clients; one that
// does not keep up is dropped, so that nobody waits for it.
type hub struct {
	now func() time.Time

	mu      sync.Mutex
	last    uint64
	ring    []message
	clients map[*client]bool
	dropped uint64
	version string
	wake    chan struct{} // closed when the version changes
	kicked  chan struct{} // asks for a look at once
}

type client struct {
	c    chan message
	slow bool // set before c is closed on a client that did not keep up
}

func newHub(now func() time.Time) *hub {
	return &hub{now: now, clients: map[*client]bool{}, wake: make(chan struct{}), kicked: make(chan struct{}, 1)}
}

// publish numbers a message and hands it on.
func (h *hub) publish(event string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // cannot be: the types are ours
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	m := message{h.last, event, data}
	if len(h.ring) == 2*ringLength {
		h.ring = append(h.ring[:0], h.ring[ringLength:]...)
	}
	h.ring = append(h.ring, m)
	for c := range h.clients {
		select {
		case c.c <- m:
		default:
			h.dropped++
			c.slow = true
			h.drop(c)
		}
	}
}

// join adds a client; past are the messages after the given id. resumed is
// false when some of them are gone, or the id is of another life of the
// daemon. It returns nil when there are too many.
func (h *hub) join(after uint64) (c *client, past []message, last uint64, resumed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) >= streamsMost {
		return nil, nil, 0, false
	}
	if after > 0 && after <= h.last {
		first := h.last + 1
		if len(h.ring) > 0 {
			first = h.ring[0].id
		}
		if resumed = after+1 >= first; resumed {
			past = append(past, h.ring[after+1-first:]...)
		}
	}
	c = &client{c: make(chan message, behindMost)}
	h.clients[c] = true
	return c, past, h.last, resumed
}

func (h *hub) leave(c *client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(c)
}

func (h *hub) drop(c *client) {
	if h.clients[c] {
		delete(h.clients, c)
		close(c.c)
	}
}

// changed returns a channel that is closed when the version changes.
func (h *hub) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wake
}

// seen tells the version that was last looked at; true when it is new.
func (h *hub) seen(version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version == version {
		return false
	}
	h.version = version
	close(h.wake)
	h.wake = make(chan struct{})
	return true
}

// kick asks for a look at the state now.
func (h *hub) kick() {
	select {
	case h.kicked <- struct{}{}:
	default:
	}
}

// load returns how many clients there are and how many were dropped.
func (h *hub) load() (clients int, dropped uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients), h.dropped
}

// Run takes samples, notices changes and passes events on, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	tick := time.NewTicker(run.Every)
	defer tick.Stop()
	events := s.Box.Subscribe(0)
	defer func() { events.Close() }()
	for _, e := range events.Past {
		s.hub.publish("event", e)
	}
	old := s.Box.State()
	s.notice(old)
	inner, end := context.WithCancel(ctx)
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
					s.hub.publish("event", e)
				}
				continue
			}
			seen = e.ID
			s.runs.Happened(e)
			s.hub.publish("event", e)
		case <-s.hub.kicked:
			s.notice(s.Box.State())
		case <-tick.C:
			now := s.Box.State()
			sample := run.Between(old, now)
			s.past.Add(sample)
			if err := s.runs.Add(sample, now); err != nil {
				s.Log.Error("run", "error", err)
			}
			s.hub.publish("sample", sample)
			s.notice(now)
			s.record(inner, now)
			old = now
		}
	}
}

// notice publishes the state when it is another than before.
func (s *Server) notice(st appliance.State) {
	status := s.statusOf(st)
	if s.hub.seen(version(status)) {
		s.hub.publish("state", status)
	}
}
