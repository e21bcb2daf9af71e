package netlab

import (
	"encoding/binary"
	"fmt"
	"time"
)

// StreamOptions say how to stream; zero values stand for the defaults named.
type StreamOptions struct {
	Rate int           // frames per second: 1000
	For  time.Duration // 1 s
	Size int           // bytes: 100
	Wait time.Duration // for the last ones: 200 ms
}

// Streamed is what became of numbered frames.
type Streamed struct {
	SentAt     []int64 // by number, CLOCK_REALTIME ns, just before the sending
	CameAt     []int64 // the kernel's stamp of the first to come; 0 never
	Received   int
	Reordered  int // came after one with a higher number
	Duplicated int
}

// Lost returns how many did not come.
func (s Streamed) Lost() int {
	n := 0
	for _, t := range s.CameAt {
		if t == 0 {
			n++
		}
	}
	return n
}

// PassedAgain returns how long after the instant the first frame came that
// was sent after it; -1 if none did.
func (s Streamed) PassedAgain(after time.Time) time.Duration {
	for i, t := range s.SentAt {
		if t > after.UnixNano() && s.CameAt[i] != 0 {
			return time.Duration(s.CameAt[i] - after.UnixNano())
		}
	}
	return -1
}

// LostUntil returns how long after the instant the last frame was sent that
// was lost before one passed again: 0 if the first sent after it passed, the
// whole rest of the stream if none did. Where PassedAgain counts the sender's
// own pauses, this does not: a wire that passes frames sooner has not lost
// them.
func (s Streamed) LostUntil(after time.Time) (last time.Duration) {
	for i, t := range s.SentAt {
		switch {
		case t <= after.UnixNano():
		case s.CameAt[i] != 0:
			return last
		default:
			last = time.Duration(t - after.UnixNano())
		}
	}
	return last
}

// Stream sends numbered frames at a steady rate and follows each.
func Stream(from, to End, o StreamOptions) (Streamed, error) {
	if o.Rate == 0 {
		o.Rate = 1000
	}
	if o.For == 0 {
		o.For = time.Second
	}
	if o.Size == 0 {
		o.Size = 100
	}
	if o.Wait == 0 {
		o.Wait = 200 * time.Millisecond
	}
	near, err := from.Tap()
	if err != nil {
		return Streamed{}, err
	}
	defer near.Close()
	far, err := to.Tap()
	if err != nil {
		return Streamed{}, err
	}
	defer far.Close()
	n := int(o.For.Seconds() * float64(o.Rate))
	s := Streamed{SentAt: make([]int64, n), CameAt: make([]int64, n)}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { far.follow(&s, o.Size, stop); close(done) }()
	err = near.steadily(s.SentAt, o)
	time.Sleep(o.Wait)
	close(stop)
	<-done
	return s, err
}

// steadily sends the frames, each when its time has come or, after a
// hiccup, as soon as possible.
func (t *Tap) steadily(sentAt []int64, o StreamOptions) error {
	frame := probeFrame(ProbeOptions{Size: o.Size})
	frame[11] = 0xfc
	begun := time.Now()
	for i := range sentAt {
		if ahead := time.Until(begun.Add(time.Duration(i) * time.Second / time.Duration(o.Rate))); ahead > 0 {
			time.Sleep(ahead)
		}
		binary.BigEndian.PutUint32(frame[len(frame)-4:], uint32(i))
		sentAt[i] = time.Now().UnixNano()
		if err := t.Send(frame); err != nil {
			return fmt.Errorf("send frame %d: %w", i, err)
		}
	}
	return nil
}

// follow notes the frames as they come until stop is closed and no more are
// there.
func (t *Tap) follow(s *Streamed, size int, stop <-chan struct{}) {
	buf := make([]byte, 1<<16)
	highest := -1
	for {
		f, err := t.Receive(buf, 10*time.Millisecond)
		if err != nil {
			select {
			case <-stop:
				return
			default:
				continue
			}
		}
		if f.Outgoing || len(f.Bytes) != size || f.Bytes[11] != 0xfc {
			continue
		}
		n := int(binary.BigEndian.Uint32(f.Bytes[size-4:]))
		switch {
		case n >= len(s.CameAt):
			continue
		case s.CameAt[n] != 0:
			s.Duplicated++
			continue
		case n < highest:
			s.Reordered++
		}
		s.CameAt[n] = f.At
		s.Received++
		highest = max(highest, n)
	}
}
