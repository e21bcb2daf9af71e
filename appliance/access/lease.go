package access

import (
	"slices"
	"sync"
	"time"
)

// A lease lasts at least LeaseMin and at most LeaseMost without renewal.
const (
	LeaseMin  = 5 * time.Second
	LeaseMost = 24 * time.Hour
	// WaiterIdle is how long a waiter keeps its place without asking again.
	WaiterIdle = 60 * time.Second
)

// Lease says who may drive the box now. The zero Lease is nobody's.
type Lease struct {
	Holder  string // name of the caller; "" when nobody holds it
	Purpose string
	Since   time.Time
	Until   time.Time
	Waiters []Waiter
}

// Held reports whether somebody holds the lease.
func (l Lease) Held() bool { return l.Holder != "" }

// Waiter stands in the queue for the lease.
type Waiter struct {
	Name    string
	Purpose string
	TTL     time.Duration
	Since   time.Time
	asked   time.Time
}

// Desk gives out the lease. Nobody has to take it: while it is nobody's,
// every driver may write. Its methods may be called from several goroutines.
type Desk struct {
	mu  sync.Mutex
	now func() time.Time
	l   Lease
}

// NewDesk returns a desk whose lease is nobody's.
func NewDesk(now func() time.Time) *Desk { return &Desk{now: now} }

// settle ends what is over: waiters that stopped asking, a lease that ran
// out; the first who waits takes over.
func (d *Desk) settle() {
	now := d.now()
	d.l.Waiters = slices.DeleteFunc(d.l.Waiters, func(w Waiter) bool { return now.Sub(w.asked) > WaiterIdle })
	if d.l.Held() && now.Before(d.l.Until) {
		return
	}
	waiters := d.l.Waiters
	d.l = Lease{}
	if len(waiters) > 0 {
		w := waiters[0]
		d.l = Lease{Holder: w.Name, Purpose: w.Purpose, Since: now, Until: now.Add(w.TTL)}
		d.l.Waiters = slices.Clone(waiters[1:])
	}
}

// Look returns the lease as it is now.
func (d *Desk) Look() Lease {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	return d.copy()
}

func (d *Desk) copy() Lease {
	l := d.l
	l.Waiters = slices.Clone(l.Waiters)
	return l
}

// Take takes or renews the lease for name. When another holds it, force takes
// it away, wait joins the queue (or keeps the place in it), and otherwise
// nothing changes. ok says whether name holds the lease now.
func (d *Desk) Take(name, purpose string, ttl time.Duration, wait, force bool) (l Lease, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	now := d.now()
	switch {
	case d.l.Holder == name:
		d.l.Purpose, d.l.Until = purpose, now.Add(ttl)
	case !d.l.Held() || force:
		d.leave(name)
		d.l.Holder, d.l.Purpose, d.l.Since, d.l.Until = name, purpose, now, now.Add(ttl)
	case wait:
		d.join(Waiter{Name: name, Purpose: purpose, TTL: ttl, Since: now, asked: now})
		return d.copy(), false
	default:
		return d.copy(), false
	}
	return d.copy(), true
}

func (d *Desk) join(w Waiter) {
	for i, have := range d.l.Waiters {
		if have.Name == w.Name {
			w.Since = have.Since
			d.l.Waiters[i] = w
			return
		}
	}
	d.l.Waiters = append(d.l.Waiters, w)
}

func (d *Desk) leave(name string) (was bool) {
	n := len(d.l.Waiters)
	d.l.Waiters = slices.DeleteFunc(d.l.Waiters, func(w Waiter) bool { return w.Name == name })
	return len(d.l.Waiters) < n
}

// Release gives the lease back, or the place in the queue; ok says whether
// name had either. force gives back another's.
func (d *Desk) Release(name string, force bool) (l Lease, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	if d.l.Held() && (d.l.Holder == name || force) {
		d.l.Until = d.now()
		d.settle()
		return d.copy(), true
	}
	ok = d.leave(name)
	return d.copy(), ok
}

// Blocks returns the lease when another than name holds it.
func (d *Desk) Blocks(name string) (Lease, bool) {
	l := d.Look()
	return l, l.Held() && l.Holder != name
}
