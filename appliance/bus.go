package appliance

import (
	"sync"
	"time"
)

// kept is how many past events can be resumed from; queued is how many a
// subscriber may be behind before it is dropped.
const (
	kept   = 1024
	queued = 64
)

// bus numbers events, keeps the last of them and hands them on.
type bus struct {
	mu   sync.Mutex
	last uint64
	ring []Event
	subs map[*Subscription]bool
}

// Subscription is one listener of events.
type Subscription struct {
	// Past are the events after the id that was asked for, as far as they
	// are still kept; Missed says that some are not.
	Past   []Event
	Missed bool
	// C gives what happens from now on. It is closed when the subscription
	// is, and when the listener is too slow.
	C   <-chan Event
	c   chan Event
	bus *bus
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.drop(s)
}

func (b *bus) drop(s *Subscription) {
	if b.subs[s] {
		delete(b.subs, s)
		close(s.c)
	}
}

// publish numbers the event, dates it and hands it on.
func (b *bus) publish(e Event) Event {
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

// subscribe returns the events after the id, then the live ones. An id that
// has not been yet (of an earlier life of the daemon) counts as 0.
func (b *bus) subscribe(after uint64) *Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Subscription{c: make(chan Event, queued), bus: b}
	s.C = s.c
	if after > b.last {
		after, s.Missed = 0, true
	}
	past := b.ring[max(0, len(b.ring)-kept):]
	for i := range past {
		if past[i].ID > after {
			s.Past = append([]Event(nil), past[i:]...)
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
