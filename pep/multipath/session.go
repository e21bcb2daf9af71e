package multipath

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"farlink/emulator/link"
	"farlink/pep/framing"
	"farlink/pep/schedule"
)

// session is one end of one connection.
type session struct {
	*end
	token     token
	conf      Config
	group     uint32
	scheduler schedule.Scheduler
	ctx       context.Context // ends with the session
	stop      context.CancelCauseFunc
	wake      chan struct{}
	opened    chan struct{} // closed when the far side's server has answered

	mu               sync.Mutex
	flows            [framing.MostPaths]*subflow
	book             *framing.Book
	order            *framing.Reorder
	room             *sync.Cond // of the source: the book has room
	queue            []framing.Piece
	filled           *sync.Cond // of the sink: the queue has something
	eof              bool       // our source has ended
	full             bool       // the source waits for room
	plenty           time.Time  // when it last filled a chunk
	sunk             bool       // the sink has had all
	ended            bool
	ack              acks
	snap             schedule.Snapshot
	dead             time.Time // since when there is no path; zero while there is one
	isOpen, isDialed bool
	client, server   netip.AddrPort
	swallowing       swallowing
	expelled         [framing.MostPaths]int // paths that swallowed
}

// acks is what is owed to the peer.
type acks struct {
	frames int
	limit  uint64 // last told
	armed  bool
}

// errDone ends a session in which both directions have ended.
var errDone = errors.New("connection has ended")

func (e *end) newSession(ctx context.Context, t token) (*session, error) {
	c := e.config.Load()
	scheduler, err := schedule.New(c.Scheduler, schedule.Options{NumSegments: c.Segments, StrictRotate: c.Strict})
	if err != nil {
		return nil, err
	}
	s := &session{end: e, token: t, conf: *c, group: e.groups.take(), scheduler: scheduler, wake: make(chan struct{}, 1), opened: make(chan struct{})}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	s.room, s.filled = sync.NewCond(&s.mu), sync.NewCond(&s.mu)
	s.book = framing.NewBook(uint64(c.Window), s.recycle)
	s.order = framing.NewReorder(int(c.Window))
	s.dead = time.Now()
	e.mu.Lock()
	e.sessions[t] = s
	e.mu.Unlock()
	e.totals.opened.Add(1)
	context.AfterFunc(s.ctx, s.close)
	return s, nil
}

// close lets go of all that the session has. What ends it says why by stop.
func (s *session) close() {
	why := context.Cause(s.ctx)
	s.mu.Lock()
	s.ended = true
	if !errors.Is(why, errDone) {
		s.totals.resets.Add(1)
		s.say(&framing.Frame{Type: framing.Reset, Payload: []byte(cut(why.Error(), 200))})
	}
	s.totals.reinjected.Add(s.book.Reinjected)
	s.book.Close()
	_, most := s.order.Held()
	s.totals.held.Store(max(s.totals.held.Load(), uint64(most)))
	flows := s.flows
	s.room.Broadcast()
	s.filled.Broadcast()
	s.mu.Unlock()
	for _, f := range flows {
		if f != nil {
			f.shut()
			// The peer's end is awaited, so that what it must still hear
			// is not cut off by a reset.
			time.AfterFunc(lingers, func() { f.conn.Close() })
		}
	}
	s.end.mu.Lock()
	delete(s.sessions, s.token)
	s.end.mu.Unlock()
	s.groups.give(s.group)
}

// lingers is how long a subflow that is shut waits for the peer's end.
const lingers = 3 * time.Second

func cut(text string, n int) string { return text[:min(len(text), n)] }

// say puts a frame on every path.
func (s *session) say(f *framing.Frame) {
	for _, flow := range s.flows {
		if flow != nil {
			flow.insist(f)
		}
	}
}

// poke wakes the pump.
func (s *session) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// join adds a path.
func (s *session) join(f *subflow) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errDone
	}
	if old := s.flows[f.index]; old != nil {
		s.leave(old)
		old.conn.Close()
	}
	f.trial = s.trial(f.index, time.Now())
	s.flows[f.index] = f
	s.dead = time.Time{}
	if s.order.Next() > 0 {
		s.acknowledge(f) // what was said last may have gone with another path
	}
	s.poke()
	return nil
}

// leave takes a path away: others send what it had in flight.
func (s *session) leave(f *subflow) {
	if s.flows[f.index] != f {
		return
	}
	s.flows[f.index] = nil
	s.book.Lose(f.index)
	for _, other := range s.flows {
		if other != nil {
			s.poke()
			return
		}
	}
	s.dead = time.Now()
}

// listen reads the frames of a path until it ends. It returns the reason.
func (s *session) listen(f *subflow, connect func(payload []byte)) error {
	buffered := bufio.NewReaderSize(f.conn, 64<<10)
	frames := framing.NewReader(buffered)
	for {
		frame, err := frames.Next()
		if err == nil {
			f.received.Add(uint64(framing.HeaderSize + len(frame.Payload)))
			err = s.take(f, &frame, connect)
		}
		if err != nil {
			s.mu.Lock()
			s.leave(f)
			s.mu.Unlock()
			f.conn.Close()
			return err
		}
		if buffered.Buffered() < framing.HeaderSize {
			s.settle(f)
		}
	}
}

// take does what a frame asks for. An error ends the path; what a correct
// peer would never say ends the session.
func (s *session) take(f *subflow, frame *framing.Frame, connect func([]byte)) error {
	switch frame.Type {
	case framing.Data:
		return s.takeData(f, frame)
	case framing.Ack:
		return s.takeAck(frame)
	case framing.Connect:
		if connect != nil {
			connect(frame.Payload)
			return nil
		}
	case framing.Opened:
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.isOpen {
			s.isOpen = true
			close(s.opened)
		}
		return nil
	case framing.Reset:
		if frame.Flags&framing.Last != 0 && s.conclude() {
			return errDone
		}
		s.stop(fmt.Errorf("%w: %s", ErrPeer, frame.Payload))
		return errDone
	}
	err := fmt.Errorf("%w: type %d from this end", framing.ErrUnknown, frame.Type)
	s.stop(err)
	return err
}

// ErrPeer is a connection that the other relay has ended.
var ErrPeer = errors.New("reset by the other relay")

func (s *session) takeData(f *subflow, frame *framing.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ack.frames++
	if s.ended {
		return errDone
	}
	if s.order.Wants(frame.DSN) {
		p := framing.Piece{DSN: frame.DSN, Data: s.copy(frame.Payload), Last: frame.Flags&framing.Last != 0, Stamp: frame.Stamp}
		if err := s.order.Put(p, s.pass); err != nil {
			s.stop(err)
			return err
		}
	}
	if s.ack.frames >= 4 {
		s.acknowledge(f)
	}
	return nil
}

// pass hands a chunk that is in order to the sink.
func (s *session) pass(p framing.Piece) {
	s.delays.add(time.Duration(stamp()-p.Stamp) * time.Microsecond)
	s.queue = append(s.queue, p)
	s.filled.Signal()
}

func (s *session) takeAck(frame *framing.Frame) error {
	limit, err := frame.Limit()
	if err != nil {
		s.stop(err)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	news, possible := s.book.Acked(frame.DSN, limit)
	if !possible {
		err := fmt.Errorf("%w: %d acknowledged, never sent", framing.ErrCorrupt, frame.DSN)
		s.stop(err)
		return err
	}
	if news {
		s.room.Signal()
		s.poke()
		s.finish()
	}
	return nil
}

// acknowledge tells the peer what is there, on the path that just delivered,
// or on another if that has gone meanwhile.
func (s *session) acknowledge(f *subflow) {
	s.ack.frames, s.ack.limit = 0, s.order.Limit()
	frame := framing.AckFrame(s.order.Next(), s.ack.limit)
	if s.flows[f.index] != f || f.insist(&frame) != nil {
		f = nil
		for _, other := range s.flows {
			if other != nil && other.insist(&frame) == nil {
				f = other
				break
			}
		}
	}
	if f != nil && f.late() {
		s.poke() // the pump flushes what the socket did not take
	}
}

// settle sees to it that what came is acknowledged within ackDelay.
func (s *session) settle(f *subflow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ack.frames == 0 || s.ack.armed || s.ended {
		return
	}
	s.ack.armed = true
	time.AfterFunc(ackDelay, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ack.armed = false
		if s.ack.frames > 0 && !s.ended {
			s.acknowledge(f)
		}
	})
}

const ackDelay = 2 * time.Millisecond

// finish ends the session when both directions have.
func (s *session) finish() {
	if s.eof && s.book.Held() == 0 && s.sunk {
		frame := framing.AckFrame(s.order.Next(), s.order.Limit())
		s.say(&frame)
		s.stop(errDone)
	}
}

// conclude takes the word of a peer that had all and has properly ended for
// the acknowledgement that was lost. It reports false when that cannot be.
func (s *session) conclude() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.eof || s.book.Unsent() > 0 || !s.order.Over() {
		return false
	}
	all := s.book.Una() + uint64(s.book.Held())
	s.book.Acked(all, all)
	s.finish()
	return true
}

func (s *session) copy(b []byte) []byte {
	kept := s.buffer(len(b))
	copy(kept, b)
	return kept
}

func (s *session) recycle(c *framing.Chunk) { s.free(c.Data) }

// now is the time of snapshots.
func (s *session) now() link.Time { return link.Time(time.Since(started)) }

// run moves what the plain connection at this end says, both ways, until the
// session ends.
func (s *session) run(app *net.TCPConn) {
	defer app.Close()
	unhook := context.AfterFunc(s.ctx, func() {
		if !errors.Is(context.Cause(s.ctx), errDone) {
			abort(app)
		}
	})
	defer unhook()
	var both sync.WaitGroup
	both.Add(2)
	go func() { defer both.Done(); s.source(app) }()
	go func() { defer both.Done(); s.sink(app) }()
	both.Wait()
	<-s.ctx.Done()
}
