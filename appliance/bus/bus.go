// Package bus numbers what happens to a box, keeps the last of it and hands it
// on to whoever listens.
package bus

import (
	"sync"
	"time"

	"farlink/appliance"
)

// kept is how many past events can be resumed from; queued is how many a
// Subscriber may be behind before it is dropped.
const (
	kept   = 1024
	queued = 64
)

// Bus numbers events, keeps the last of them and hands them on.
type Bus struct {
	mu   sync.Mutex
	last uint64
	ring []appliance.Event
	subs map[*Subscription]bool
}

// Subscription is one listener of events.
type Subscription struct {
	// Past are the events after the id that was asked for, as far as they
	// are still kept; Missed says that some are not.
	Past   []appliance.Event
	Missed bool
	// C gives what happens from now on. It is closed when the subscription
	// is, and when the listener is too slow.
	C   <-chan appliance.Event
	c   chan appliance.Event
	bus *Bus
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.drop(s)
}

func (b *Bus) drop(s *Subscription) {
	if b.subs[s] {
		delete(b.subs, s)
		close(s.c)
	}
}

// Publish numbers the event, dates it and hands it on.
func (b *Bus) Publish(e appliance.Event) appliance.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	e.ID, e.Time = b.last, time.Now()
	b.ring = append(b.ring, e)
	if len(b.ring) > 2*kept {
		b.ring = append(b.ring[:0], b.ring[len(b.ring)-kept:]...)
	}
	for s := range b.subs {
		select {
		case s.c <- e:
		default:
			b.drop(s)
		}
	}
	return e
}

// Subscribe returns the events after the id, then the live ones. An id that
// has not been yet (of an earlier life of the daemon) counts as 0.
func (b *Bus) Subscribe(after uint64) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Subscription{c: make(chan appliance.Event, queued), bus: b}
	s.C = s.c
	if after > b.last {
		after, s.Missed = 0, true
	}
	past := b.ring[max(0, len(b.ring)-kept):]
	for i := range past {
		if past[i].ID > after {
			s.Past = append([]appliance.Event(nil), past[i:]...)
			break
		}
	}
	if len(s.Past) > 0 && s.Past[0].ID > after+1 {
		s.Missed = true
	}
	if b.subs == nil {
		b.subs = map[*Subscription]bool{}
	}
	b.subs[s] = true
	return s
}
