package multipath

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/pep/framing"
)

// paths is how many paths the router's one connection has.
func (r *rig) paths() int {
	if all := r.router.Stats().Connections; len(all) == 1 {
		return len(all[0].Paths)
	}
	return -1
}

// within waits for the paths to be n, and returns how long that took.
func (r *rig) within(t *testing.T, n int) time.Duration {
	t.Helper()
	begun := time.Now()
	for r.paths() != n {
		if time.Since(begun) > 5*time.Second {
			t.Fatalf("%d paths, want %d", r.paths(), n)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begun)
}

// A link that is told to be down is left at once and not tried, and joined
// again at once when it is told to be up; the connection notices neither. A
// carrier that says nothing meanwhile would be noticed by silence only.
func TestSetLink(t *testing.T) {
	r := newRig(t, Config{Scheduler: "roundrobin", PerPath: []string{"reno", ""}}, echo)
	c := r.client(t)
	say := func() {
		t.Helper()
		c.Write([]byte("x"))
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	say()
	r.within(t, 2)
	laws := map[string]string{}
	stats := r.router.Stats().Connections[0]
	for _, p := range stats.Paths {
		laws[p.Carrier] = p.Congestion
	}
	if laws["wire0"] != "reno" || laws["wire1"] != "cubic" {
		t.Errorf("congestion controls %v, want reno on the first and cubic on the second", laws)
	}
	if stats.Client.String() != c.LocalAddr().String() || stats.Server.String() != r.server.Addr().String() {
		t.Errorf("connection %v to %v", stats.Client, stats.Server)
	}
	r.wires[0].cut.Store(true)
	r.router.SetLink(0, false)
	r.proxy.SetLink(0, false)
	if took := r.within(t, 1); took > 50*time.Millisecond {
		t.Errorf("left after %v", took)
	}
	begun := time.Now()
	for range 20 {
		say()
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("20 round trips by the other path took %v", took)
	}
	time.Sleep(rejoin + 100*time.Millisecond)
	if n := r.paths(); n != 1 {
		t.Errorf("%d paths while the link is down", n)
	}
	r.wires[0].cut.Store(false)
	r.router.SetLink(0, true)
	if took := r.within(t, 2); took > rejoin/2 {
		t.Errorf("joined again after %v", took)
	}
	say()
	c.Close()
	r.empty(t)
}

// Without any link a connection lives as long as its patience, and new ones
// wait for a link.
func TestNoLink(t *testing.T) {
	r := newRig(t, Config{Patience: link.Second}, echo)
	for i := range r.wires {
		r.router.SetLink(i, false)
	}
	time.AfterFunc(300*time.Millisecond, func() { r.router.SetLink(1, true) })
	begun := time.Now()
	r.exchange(t, []byte("waits"), nil)
	if took := time.Since(begun); took < 250*time.Millisecond {
		t.Errorf("carried after %v without a link", took)
	}
	r.router.SetLink(1, false)
	c := r.client(t)
	if _, err := c.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("no link at all: %v, want a reset", err)
	} else if n, ok := err.(net.Error); ok && n.Timeout() {
		t.Errorf("no link at all: %v", err)
	}
	r.empty(t)
}

// A router that did not hear of a connection's end is told when it joins again;
// else it would try for good, each join a path found.
func TestFarewell(t *testing.T) {
	r := newRig(t, Config{}, echo)
	c := r.client(t)
	c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.within(t, 2)
	for _, s := range r.proxy.all() {
		s.mu.Lock()
		for _, f := range s.flows {
			if f != nil {
				f.conn.SetLinger(0)
				f.conn.Close()
			}
		}
		s.mu.Unlock()
		s.stop(errors.New("unheard"))
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("client: %v, want a reset", err)
	}
	r.empty(t)
	if s := r.proxy.Stats(); s.Refused != 0 {
		t.Errorf("%d refused: who comes late is no stranger", s.Refused)
	}
}

// The word of a peer that has properly ended stands for its last
// acknowledgement, where all that it must have is sent and all it said is here.
func TestConclude(t *testing.T) {
	r := newRig(t, Config{}, echo)
	for _, c := range []struct {
		name            string
		sent, over, set bool
		want            error
	}{
		{"all there", true, true, true, errDone},
		{"something was never sent", false, true, true, ErrPeer},
		{"its end never came", true, false, true, ErrPeer},
		{"not properly", true, true, false, ErrPeer},
	} {
		s, err := r.router.newSession(t.Context(), token{1})
		if err != nil {
			t.Fatal(err)
		}
		end := &framing.Chunk{Last: true}
		s.book.Append(end)
		s.eof, s.sunk = true, c.over
		if c.sent {
			s.book.Sent(end, 0)
		}
		if c.over {
			if err := s.order.Put(framing.Piece{Last: true}, func(framing.Piece) {}); err != nil {
				t.Fatal(err)
			}
		}
		f := framing.Frame{Type: framing.Reset, Payload: []byte("over")}
		if c.set {
			f.Flags = framing.Last
		}
		s.take(nil, &f, nil)
		if why := context.Cause(s.ctx); !errors.Is(why, c.want) {
			t.Errorf("%s: ended by %v, want %v", c.name, why, c.want)
		}
	}
}
