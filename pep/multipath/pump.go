package multipath

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"farlink/pep/framing"
	"farlink/pep/schedule"
)

// mostUnsent bounds what is read from the source and no path has had: a
// scheduler sees no further.
const mostUnsent = 1 << 20

// source reads the plain connection into the book.
func (s *session) source(app *net.TCPConn) {
	for {
		buf := s.buffer(int(s.conf.Chunk))
		n, err := app.Read(buf)
		s.mu.Lock()
		if n > 0 {
			s.book.Append(&framing.Chunk{Data: buf[:n]})
		}
		if n == len(buf) {
			s.plenty = time.Now()
		}
		if errors.Is(err, io.EOF) {
			s.book.Append(&framing.Chunk{Last: true})
			s.eof = true
		}
		for s.full = true; err == nil && !s.ended && s.book.Unsent() >= mostUnsent; {
			s.room.Wait()
		}
		s.full = false
		ended := s.ended
		s.mu.Unlock()
		s.poke()
		switch {
		case errors.Is(err, io.EOF) || ended:
			return
		case err != nil:
			s.stop(fmt.Errorf("read the plain connection: %w", err))
			return
		}
	}
}

// sink writes what is in order to the plain connection.
func (s *session) sink(app *net.TCPConn) {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.ended {
			s.filled.Wait()
		}
		if s.ended {
			s.mu.Unlock()
			return
		}
		pieces := s.queue
		s.queue = nil
		s.mu.Unlock()
		n, last, err := s.pour(app, pieces)
		s.mu.Lock()
		s.order.Passed(n)
		if s.order.Limit() >= s.ack.limit+uint64(s.conf.Window)/4 {
			s.announce()
		}
		if last {
			s.sunk = true
			s.finish()
		}
		s.mu.Unlock()
		if err != nil {
			s.stop(fmt.Errorf("write the plain connection: %w", err))
		}
		if last || err != nil {
			return
		}
	}
}

// pour writes pieces to the plain connection.
func (s *session) pour(app *net.TCPConn, pieces []framing.Piece) (n int, last bool, err error) {
	data := make(net.Buffers, 0, len(pieces))
	for _, p := range pieces {
		if last = p.Last; len(p.Data) > 0 {
			data = append(data, p.Data)
		}
		n += len(p.Data)
	}
	_, err = data.WriteTo(app)
	for _, p := range pieces {
		s.free(p.Data)
	}
	if last && err == nil {
		n++
		if err = app.CloseWrite(); errors.Is(err, net.ErrClosed) || isNotConnected(err) {
			err = nil
		}
	}
	return n, last, err
}

// announce tells the peer of a window that has opened, by the fastest path.
func (s *session) announce() {
	var best *subflow
	for _, f := range s.flows {
		if f != nil && f.path.State == schedule.Up && (best == nil || f.path.SRTT < best.path.SRTT) {
			best = f
		}
	}
	if best != nil {
		s.acknowledge(best)
	}
}

// Ticks of the pump: while something waits for a path, and else while
// something is in flight.
const (
	tickBlocked = 2 * time.Millisecond
	tickFlight  = 20 * time.Millisecond
	tickIdle    = 500 * time.Millisecond
)

// pump decides and sends until the session ends.
func (s *session) pump() {
	timer := time.NewTimer(tickIdle)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		s.mu.Lock()
		next := s.turn(time.Now())
		s.mu.Unlock()
		timer.Reset(next)
	}
}

// turn looks at the paths, sends what can be sent and says when to look
// again.
func (s *session) turn(now time.Time) time.Duration {
	s.watch(now)
	for s.resend() || s.sendNext() {
	}
	if s.book.Unsent() < mostUnsent {
		s.room.Signal()
	}
	switch {
	case s.ended:
		return tickIdle
	case s.book.Unsent() > 0 || s.book.Again() != nil || s.waits():
		return tickBlocked
	case s.book.Held() > 0:
		return tickFlight
	}
	return tickIdle
}

// waits reports whether a path has a frame that its socket did not take.
func (s *session) waits() bool {
	for _, f := range s.flows {
		if f != nil && f.path.Full {
			return true
		}
	}
	return false
}

// watch reads every path, and takes from those that are silent what they had
// in flight. A connection without any path ends when its patience does.
func (s *session) watch(now time.Time) {
	for _, f := range s.flows {
		if f == nil {
			continue
		}
		f.flush()
		if err := f.look(now); err != nil {
			s.leave(f)
			continue
		}
		switch {
		case f.path.State == schedule.Up || f.path.State == schedule.Loss:
			f.lost = false
		case !f.lost:
			f.lost = true
			s.book.Lose(f.index)
		}
	}
	if f := s.suspect(now); f != nil {
		s.expel(f)
	}
	quiet := s.eof && s.book.Held() == 0 && s.order.Over()
	if !s.dead.IsZero() && !quiet && now.Sub(s.dead) > time.Duration(s.conf.Patience) {
		s.stop(fmt.Errorf("no path for %v", s.conf.Patience))
	}
}

// more reports whether the source has more than was read: it waits for room,
// or filled a chunk just now.
func (s *session) more() bool { return s.full || !s.eof && time.Since(s.plenty) < plentyFor }

// plentyFor is how long a source that filled a chunk may take to fill the
// next before its end counts as in sight.
const plentyFor = 10 * time.Millisecond

// look fills in the snapshot for a chunk of a size.
func (s *session) look(size int) *schedule.Snapshot {
	w := &s.snap
	*w = schedule.Snapshot{Now: s.now(), Paths: w.Paths[:0], Chunk: size, Unsent: s.book.Unsent(), More: s.more(), Reinjected: s.book.Reinjected, Eager: s.conf.Eager}
	w.Window, w.Left = s.book.Window()
	for i, f := range s.flows {
		p := schedule.Path{State: schedule.Gone}
		if f != nil {
			p = f.path
			p.Behind = s.book.Behind(i)
		}
		w.Paths = append(w.Paths, p)
	}
	return w
}

// resend sends the first chunk that a silent or lost path had, by the fastest
// path that can take it.
func (s *session) resend() bool {
	c := s.book.Again()
	if c == nil {
		return false
	}
	return s.fastest(c)
}

// fastest gives a chunk to the available path of the least round-trip time
// that does not have it.
func (s *session) fastest(c *framing.Chunk) bool {
	w := s.look(c.Size())
	best := schedule.Wait
	for i := range w.Paths {
		if w.Available(i) && !c.On(i) && (best == schedule.Wait || w.Paths[i].SRTT < w.Paths[best].SRTT) {
			best = i
		}
	}
	if best == schedule.Wait || !s.give(c, best) {
		return false
	}
	s.book.Sent(c, best)
	return true
}

// sendNext asks the scheduler about the next new chunk. When the window is
// full, the chunk that the peer waits for goes by another path, too.
func (s *session) sendNext() bool {
	c := s.book.New()
	size := int(s.conf.Chunk)
	if c != nil {
		size = c.Size()
	}
	w := s.look(size)
	choice := s.scheduler.Next(w)
	switch {
	case choice.Path == schedule.Wait:
		head := s.book.Head()
		return head != nil && c != nil && w.Left < w.Chunk && s.fastest(head)
	case choice.Copy:
		old := s.book.Copy(choice.Path)
		if old == nil {
			return s.book.Behind(choice.Path) == 0 && w.Paths[choice.Path].Behind > 0
		}
		if !s.give(old, choice.Path) {
			return false
		}
		s.book.Copied(old, choice.Path)
		return true
	}
	if c == nil || !s.give(c, choice.Path) {
		return false
	}
	s.book.Sent(c, choice.Path)
	return true
}

// give puts a chunk on a path and looks at the path again.
func (s *session) give(c *framing.Chunk, i int) bool {
	f := s.flows[i]
	frame := framing.Frame{Type: framing.Data, DSN: c.DSN, Stamp: stamp(), Payload: c.Data}
	if c.Last {
		frame.Flags = framing.Last
	}
	switch err := f.send(&frame); {
	case errors.Is(err, errFull):
		f.path.Full = true
		return false
	case err != nil:
		s.leave(f)
		return false
	}
	c.Mark = f.sent.Load()
	if err := f.look(time.Now()); err != nil {
		s.leave(f)
	}
	return true
}
