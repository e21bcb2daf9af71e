// Package stream hands messages to many clients as server-sent events, with
// ids that go up by one, so that a client that comes back goes on where it
// was. It knows nothing of what the messages say.
//
//	Publish ─▶ ring (the last thousands) ─▶ each client's queue ─▶ Serve
//	                                        full: dropped
package stream

import (
	"encoding/json"
	"fmt"
	"sync"
)

const (
	// Most is how many clients there may be at once.
	Most       = 64
	ringLength = 2048 // messages that can be resumed: over three minutes
	behindMost = 64   // messages a client may be behind: over six seconds
)

// message is one event as it goes over the wire, written once for all
// clients.
type message struct {
	id   uint64
	text []byte
}

// newMessage writes an event; id 0 is none.
func newMessage(id uint64, event string, data []byte) message {
	var b []byte
	if id > 0 {
		b = fmt.Appendf(b, "id: %d\n", id)
	}
	return message{id, fmt.Appendf(b, "event: %s\ndata: %s\n\n", event, data)}
}

// Hub keeps the last messages and hands new ones to the clients; one that
// does not keep up is dropped, so that nobody waits for it. It also knows the
// version of what the messages tell of, for those who wait for another.
type Hub struct {
	mu      sync.Mutex
	last    uint64
	ring    []message
	clients map[*Client]bool
	dropped uint64
	version string
	wake    chan struct{} // closed when the version changes
	kicked  chan struct{} // asks for a look at once
}

// New returns a hub without clients.
func New() *Hub {
	return &Hub{clients: map[*Client]bool{}, wake: make(chan struct{}), kicked: make(chan struct{}, 1)}
}

// Client is one who listens.
type Client struct {
	// Resumed says that the client goes on right after the id it named.
	Resumed bool

	hub  *Hub
	from uint64 // id of the last message that it knows
	past []message
	live chan message
	slow bool // set before live is closed on a client that did not keep up
}

// Publish numbers a message and hands it on; v is written as JSON.
func (h *Hub) Publish(event string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // cannot be: the types are ours
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	m := newMessage(h.last, event, data)
	if len(h.ring) == 2*ringLength {
		h.ring = append(h.ring[:0], h.ring[ringLength:]...)
	}
	h.ring = append(h.ring, m)
	for c := range h.clients {
		select {
		case c.live <- m:
		default:
			h.dropped++
			c.slow = true
			h.drop(c)
		}
	}
}

// Join adds a client that knows the messages up to the id after; 0 knows
// none. It is not resumed when some of the others are gone, or the id is of
// another life of the daemon. Join returns nil when there are too many
// clients.
func (h *Hub) Join(after uint64) *Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) >= Most {
		return nil
	}
	c := &Client{hub: h, from: h.last, live: make(chan message, behindMost)}
	if after > 0 && after <= h.last {
		first := h.last + 1
		if len(h.ring) > 0 {
			first = h.ring[0].id
		}
		if c.Resumed = after+1 >= first; c.Resumed {
			c.from = after
			c.past = append(c.past, h.ring[after+1-first:]...)
		}
	}
	h.clients[c] = true
	return c
}

// Leave ends a client; a second time is nothing.
func (c *Client) Leave() {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	c.hub.drop(c)
}

func (h *Hub) drop(c *Client) {
	if h.clients[c] {
		delete(h.clients, c)
		close(c.live)
	}
}

// Changed returns a channel that is closed when the version changes.
func (h *Hub) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wake
}

// Seen tells the version that was last looked at; true when it is new.
func (h *Hub) Seen(version string) bool {
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

// Kick asks for a look now; Kicked is where that is heard.
func (h *Hub) Kick() {
	select {
	case h.kicked <- struct{}{}:
	default:
	}
}

// Kicked yields when somebody kicked.
func (h *Hub) Kicked() <-chan struct{} { return h.kicked }

// Load returns how many clients there are and how many were dropped.
func (h *Hub) Load() (clients int, dropped uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.clients), h.dropped
}
