package framing

import (
	"errors"
	"fmt"
	"slices"
)

// Reorder holds what came out of order, up to a window. Chunks are cut by
// one sender at fixed places, so a number stands for one chunk.
type Reorder struct {
	window   int
	next     uint64 // the first number that is missing
	passed   uint64 // up to here the sink has taken
	promised uint64 // the window's end that the peer was told
	waiting  []Piece
	held     int
	most     int
	over     bool // the last chunk was passed on
}

// Piece is a chunk that came.
type Piece struct {
	DSN   uint64
	Data  []byte
	Last  bool
	Stamp uint32
}

// ErrWindow is a peer that sends past the window it was given.
var ErrWindow = errors.New("past the window")

// NewReorder returns a buffer of window bytes.
func NewReorder(window int) *Reorder { return &Reorder{window: window, promised: uint64(window)} }

// Next is the first number that is missing.
func (r *Reorder) Next() uint64 { return r.next }

// Over reports whether the last chunk was passed on.
func (r *Reorder) Over() bool { return r.over }

// Held is how many bytes wait out of order now, and the most that ever did.
func (r *Reorder) Held() (now, most int) { return r.held, r.most }

// Limit is up to where the peer may send: a window beyond what the sink has
// taken. It never goes back.
func (r *Reorder) Limit() uint64 {
	r.promised = max(r.promised, r.passed+uint64(r.window))
	return r.promised
}

// Passed notes that the sink has taken n bytes more.
func (r *Reorder) Passed(n int) { r.passed += uint64(n) }

// Wants reports whether the chunk at dsn is news: of a duplicate nothing need
// be kept.
func (r *Reorder) Wants(dsn uint64) bool {
	if dsn < r.next || r.over {
		return false
	}
	_, there := r.find(dsn)
	return !there
}

func (r *Reorder) find(dsn uint64) (int, bool) {
	return slices.BinarySearchFunc(r.waiting, dsn, func(p Piece, n uint64) int {
		switch {
		case p.DSN < n:
			return -1
		case p.DSN > n:
			return 1
		}
		return 0
	})
}

// size is how many numbers a piece takes.
func (p *Piece) size() int {
	if p.Last {
		return len(p.Data) + 1
	}
	return len(p.Data)
}

// Put takes a piece that Wants said is news and hands on what is in order
// now.
func (r *Reorder) Put(p Piece, pass func(Piece)) error {
	if p.DSN+uint64(p.size()) > r.promised {
		return fmt.Errorf("%w: %d to %d, the window ends at %d", ErrWindow, p.DSN, p.DSN+uint64(p.size()), r.promised)
	}
	if p.size() == 0 {
		return fmt.Errorf("%w: empty chunk at %d", ErrCorrupt, p.DSN)
	}
	if p.DSN != r.next {
		i, there := r.find(p.DSN)
		if !there {
			r.waiting = slices.Insert(r.waiting, i, p)
			r.held += len(p.Data)
			r.most = max(r.most, r.held)
		}
		return nil
	}
	r.hand(p, pass)
	n := 0
	for n < len(r.waiting) && r.waiting[n].DSN <= r.next && !r.over {
		if w := r.waiting[n]; w.DSN == r.next {
			r.hand(w, pass)
		} else {
			return fmt.Errorf("%w: chunk at %d lies across %d", ErrCorrupt, w.DSN, r.next)
		}
		r.held -= len(r.waiting[n].Data)
		n++
	}
	r.waiting = slices.Delete(r.waiting, 0, n)
	return nil
}

func (r *Reorder) hand(p Piece, pass func(Piece)) {
	r.next += uint64(p.size())
	r.over = r.over || p.Last
	pass(p)
}
