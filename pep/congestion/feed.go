package congestion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/pep/cwnd"
)

// MostLinks is how many links a feed has room for.
const MostLinks = 256

// feedMap is the map of xlayer.bpf.c that a Feed stands for.
const feedMap = "capacities"

// Feed is what links grant now, in memory that the engine, the proxies and
// their xlayer share: one BPF array that all have mapped. One writer for each
// column.
type Feed struct {
	m       *ebpf.Map
	columns []capacity
	follow  []cwnd.Follower // of the one who tells
	raw     []byte
}

// capacity is struct capacity of xlayer.bpf.c.
type capacity struct {
	told, at, next, nextAt uint64
	queue, rtt             uint32
	faulted                uint64
	fault                  uint32
	epoch                  uint32 // of xlayer, as now and before
	now, before            int32  // flows with a backlog
	most                   uint64
	level, span            uint32
	granted, pace, carry   uint64
	wait, demand           uint32
	_                      [2]uint64
}

// Told is what a feed says of a link in one way.
type Told struct {
	Rate   link.Rate // of Ethernet frames, granted now, or of late where grants are by the frame
	Frame  link.Rate // granted in this frame
	At     int64     // CLOCK_MONOTONIC ns when it was told; 0 is never
	NextAt int64     // CLOCK_MONOTONIC ns when the next grant takes effect
	// NextRate is that grant where it is known already, else Frame.
	NextRate link.Rate
	Most     link.Rate     // the highest that may be granted
	Demand   bool          // granted on demand, long after it
	Carry    link.Rate     // of what windows are the product; 0 is Rate
	Wait     link.Duration // beyond the round trip, for which windows last
	Queue    link.Size     // waiting for capacity
	RTT      link.Duration // below 0 is not known
}

// Column is the place of a link's way in a feed.
func Column(number int, w link.Way) uint32 { return uint32(2*number) + uint32(w) }

// NewFeed makes a feed, without a name of its own.
func NewFeed() (*Feed, error) {
	spec, err := loadXlayer()
	if err != nil {
		return nil, fmt.Errorf("read the feed's layout: %w", err)
	}
	m, err := ebpf.NewMap(spec.Maps[feedMap])
	if err != nil {
		return nil, fmt.Errorf("make a feed: %w", err)
	}
	return mapped(m)
}

// CreateFeed makes a feed and pins it at path, in place of what was there.
func CreateFeed(path string) (*Feed, error) {
	f, err := NewFeed()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("pin a feed: %w", err), f.Close())
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("pin a feed: %w", err), f.Close())
	}
	if err := f.m.Pin(path); err != nil {
		return nil, errors.Join(fmt.Errorf("pin a feed: %w", err), f.Close())
	}
	return f, nil
}

// OpenFeed opens the feed that is pinned at path.
func OpenFeed(path string) (*Feed, error) {
	m, err := ebpf.LoadPinnedMap(path, nil)
	if err != nil {
		return nil, fmt.Errorf("open feed %s: %w", path, err)
	}
	return mapped(m)
}

func mapped(m *ebpf.Map) (*Feed, error) {
	const size = 2 * MostLinks * unsafe.Sizeof(capacity{})
	raw, err := unix.Mmap(m.FD(), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map a feed: %w", err), m.Close())
	}
	return &Feed{m, unsafe.Slice((*capacity)(unsafe.Pointer(&raw[0])), 2*MostLinks), make([]cwnd.Follower, 2*MostLinks), raw}, nil
}

// Close lets go of the feed. Whoever has it mapped keeps it.
func (f *Feed) Close() error { return errors.Join(unix.Munmap(f.raw), f.m.Close()) }

// Tell publishes what a link grants in one way. now is CLOCK_MONOTONIC;
// nextAt, on the same clock, is when c.NextRate takes effect. It does not
// allocate; links beyond MostLinks are left out.
func (f *Feed) Tell(number int, w link.Way, now, nextAt int64, c link.Capacity) {
	if number < 0 || number >= MostLinks {
		return
	}
	column := Column(number, w)
	e := &f.columns[column]
	lasting := link.Duration(0)
	if nextAt > now {
		lasting = link.Duration(min(nextAt-now, int64(link.Second)))
	}
	a := f.follow[column].Follow(c, link.Duration(now-int64(atomic.LoadUint64(&e.at))), lasting)
	demand := uint32(0)
	if c.OnDemand {
		demand = 1
	}
	atomic.StoreUint64(&e.granted, uint64(c.Rate)/8)
	atomic.StoreUint64(&e.told, uint64(a.Told)/8)
	atomic.StoreUint64(&e.pace, uint64(a.Pace)/8)
	atomic.StoreUint64(&e.carry, uint64(a.Carry)/8)
	atomic.StoreUint32(&e.level, uint32(min(a.Level, 1<<31)))
	atomic.StoreUint32(&e.span, uint32(min(a.Span, 1<<31)))
	atomic.StoreUint32(&e.wait, uint32(a.Wait/link.Microsecond))
	atomic.StoreUint32(&e.demand, demand)
	atomic.StoreUint64(&e.most, uint64(max(c.Most, c.Rate))/8)
	atomic.StoreUint64(&e.next, uint64(c.NextRate)/8)
	atomic.StoreUint64(&e.nextAt, uint64(nextAt))
	atomic.StoreUint32(&e.queue, uint32(min(c.Queue, 1<<32-1)))
	atomic.StoreUint32(&e.rtt, microseconds(c.RTT))
	atomic.StoreUint64(&e.at, uint64(now))
}

// Forget says that a link does not tell its capacity, or has no limit.
func (f *Feed) Forget(number int, w link.Way) {
	if number >= 0 && number < MostLinks {
		e := &f.columns[Column(number, w)]
		atomic.StoreUint64(&e.at, 0)
		atomic.StoreUint64(&e.most, 0)
	}
}

// Now reads a column.
func (f *Feed) Now(column uint32) Told {
	e := &f.columns[column]
	return Told{
		Rate: link.Rate(8 * atomic.LoadUint64(&e.told)), At: int64(atomic.LoadUint64(&e.at)),
		NextAt:   int64(atomic.LoadUint64(&e.nextAt)),
		NextRate: link.Rate(8 * atomic.LoadUint64(&e.next)),
		Demand:   atomic.LoadUint32(&e.demand) == 1,
		Carry:    link.Rate(8 * atomic.LoadUint64(&e.carry)),
		Wait:     link.Duration(atomic.LoadUint32(&e.wait)) * link.Microsecond,
		Frame:    link.Rate(8 * atomic.LoadUint64(&e.granted)),
		Most:     link.Rate(8 * atomic.LoadUint64(&e.most)),
		Queue:    link.Size(atomic.LoadUint32(&e.queue)), RTT: duration(atomic.LoadUint32(&e.rtt)),
	}
}

// unknown is a round trip that nobody told.
const unknown = ^uint32(0)

func microseconds(d link.Duration) uint32 {
	if d < 0 {
		return unknown
	}
	return uint32(d / link.Microsecond)
}

func duration(us uint32) link.Duration {
	if us == unknown {
		return -1
	}
	return link.Duration(us) * link.Microsecond
}

// Pretend makes xlayer believe a rate other than the one that is told.
func (f *Feed) Pretend(column uint32, r link.Rate) {
	e := &f.columns[column]
	atomic.StoreUint64(&e.faulted, uint64(r)/8)
	atomic.StoreUint32(&e.fault, 1)
}

// Believe ends Pretend.
func (f *Feed) Believe(column uint32) { atomic.StoreUint32(&f.columns[column].fault, 0) }
