package wire

import (
	"runtime"
	"sync/atomic"

	"farlink/emulator/link"
)

const (
	tapSlots = 1 << 14
	tapBytes = 216
)

// tapRing is the fates of a way's last frames, in shared memory. The loop
// writes and never waits; a reader that falls behind misses some and is told
// how many. Switched off it costs the loop a load per frame.
type tapRing struct {
	On    uint64
	Head  uint64 // records ever written
	Slots [tapSlots]tapSlot
}

// tapSlot is one record, 256 bytes. Number is its place in the sequence of
// all records plus 1, and 0 while it is being written.
type tapSlot struct {
	Number uint64
	When   int64
	Seq    uint64
	Size   uint16
	Mark   uint16
	Reason uint8
	Stage  uint8
	Kept   uint16
	Bytes  [tapBytes]byte
	Came   int64
}

func (r *tapRing) on() bool { return atomic.LoadUint64(&r.On) != 0 }

// write adds the fate of a frame that came at came (-1: unknown), with its
// first bytes.
func (r *tapRing) write(came link.Time, p link.Packet, c link.Cause, frame []byte) {
	s := &r.Slots[r.Head%tapSlots]
	atomic.StoreUint64(&s.Number, 0)
	s.When, s.Seq, s.Size, s.Mark = int64(p.When), p.Seq, p.Size, uint16(p.Mark)
	s.Came, s.Reason, s.Stage = int64(came), uint8(c.Reason), c.Stage
	s.Kept = uint16(copy(s.Bytes[:], frame))
	atomic.StoreUint64(&s.Number, r.Head+1)
	atomic.StoreUint64(&r.Head, r.Head+1)
}

// Record is the fate of a frame with its first bytes (at most 216). The
// fate's When is its intended departure, or its loss, in the run's time; its
// Ref means nothing here.
type Record struct {
	link.Fate
	Came  link.Time // its arrival as the emulator was told it; -1 if unknown
	Bytes []byte
}

// Tap switches the recording of fates in way w on or off. It begins, or goes
// on, with no packet disturbed.
func (e *Engine) Tap(w link.Way, on bool) {
	var v uint64
	if on {
		v = 1
	}
	atomic.StoreUint64(&e.page.Taps[w].On, v)
}

// Tapped returns how many fates were ever recorded in way w: where a reader
// begins who wants only what comes.
func (e *Engine) Tapped(w link.Way) uint64 { return atomic.LoadUint64(&e.page.Taps[w].Head) }

// Records yields the fates of way w from number from on, as long as yield
// says true, and returns the number to go on from and how many were
// overwritten before they could be read. The bytes of a record are valid
// until yield returns.
func (e *Engine) Records(w link.Way, from uint64, yield func(Record) bool) (next, missed uint64) {
	defer runtime.KeepAlive(e) // its end unmaps the page
	r := &e.page.Taps[w]
	for next = from; next < atomic.LoadUint64(&r.Head); next++ {
		s := &r.Slots[next%tapSlots]
		copied := *s
		if copied.Number != next+1 || atomic.LoadUint64(&s.Number) != next+1 {
			missed++
			continue
		}
		if !yield(copied.record()) {
			return next + 1, missed
		}
	}
	return next, missed
}

func (s *tapSlot) record() Record {
	return Record{
		Fate: link.Fate{
			Packet: link.Packet{When: link.Time(s.When), Seq: s.Seq, Body: link.Body{Size: s.Size, Mark: link.Mark(s.Mark)}},
			Cause:  link.Cause{Reason: link.Reason(s.Reason), Stage: s.Stage},
		},
		Came:  link.Time(s.Came),
		Bytes: s.Bytes[:min(s.Kept, tapBytes)],
	}
}
