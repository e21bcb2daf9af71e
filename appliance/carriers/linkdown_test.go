package carriers

import (
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"farlink/emulator/netspace"
	"farlink/pep/bundle"
	"farlink/pep/mptcp"
)

// flood is an echo that is kept full: how much came back, and when last.
type flood struct{ got, last atomic.Int64 }

// fill sends on c without end, and takes what comes.
func fill(c *net.TCPConn) *flood {
	f := &flood{}
	c.SetDeadline(time.Now().Add(30 * time.Second))
	go func() {
		for block := make([]byte, 16<<10); ; {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	}()
	go func() {
		for buf := make([]byte, 64<<10); ; {
			n, err := c.Read(buf)
			if err != nil {
				return
			}
			f.got.Add(int64(n))
			f.last.Store(time.Now().UnixNano())
		}
	}()
	return f
}

// on is the state of the subflow on a path, "up" before others; "" is none.
func on(c bundle.Connection, path string) (state string) {
	for _, f := range c.Subflows {
		if f.Path == path && state != "up" {
			state = f.State
		}
	}
	return state
}

// endpoint reports whether the near side has an MPTCP endpoint.
func (l *land) endpoint(t *testing.T, a netip.Addr) (there bool) {
	t.Helper()
	err := netspace.Do(l.Name+"-a", func() error {
		m, err := mptcp.Open()
		if err != nil {
			return err
		}
		defer m.Close()
		all, err := m.Endpoints()
		there = slices.ContainsFunc(all, func(e mptcp.Endpoint) bool { return e.Addr == a })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// A link that goes down in the middle of a transfer is seen at once (by
// interface, not by silence), stalls it shortly and resets nothing; one that
// comes back is joined again. Both modes, both ways.
func TestLinkDown(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	for _, m := range []bundle.Mode{bundle.Wire, bundle.Lab} {
		l.configure(t, bundle.Carriage{Mode: m})
		c := l.connect(t, "d", server4, false)
		f := fill(c)
		l.one(t, "both", both)
		time.Sleep(time.Second)
		begun := time.Now()
		l.link(t, "c2", false)
		l.until(t, "down", func(p []bundle.PathState) bool { return !p[1].Up })
		seen := time.Since(begun)
		var stall time.Duration
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			stall = max(stall, time.Since(time.Unix(0, f.last.Load())))
		}
		l.one(t, "one left", func(c bundle.Connection) bool {
			return len(c.Subflows) >= 1 && (m != bundle.Lab || on(c, "lte/kt-constant") == "")
		})
		if !l.endpoint(t, at(0, 1)) && m == bundle.Wire {
			t.Error("mode wire: the endpoint of the path that is left was taken away, and its subflow with it")
		}
		begun = time.Now()
		l.link(t, "c2", true)
		l.one(t, "joined again", func(c bundle.Connection) bool { return on(c, "lte/kt-constant") == "up" })
		t.Logf("mode %s: down seen after %v, stall %v, joined again after %v, %d bytes", m, seen, stall, time.Since(begun), f.got.Load())
		if seen > 500*time.Millisecond || stall > 2*time.Second {
			t.Errorf("mode %s: down seen after %v, stall %v", m, seen, stall)
		}
		if s, _ := l.Status(0, 10); s.Totals.Resets != 0 {
			t.Errorf("mode %s: %d resets", m, s.Totals.Resets)
		}
		c.SetLinger(0)
		c.Close()
		l.none(t)
	}
}

// A connection of mode lab outlives the mode: a carrier that went and came back
// is joined again, nobody is turned away, and at its end nothing is left.
func TestModeChanged(t *testing.T) {
	l := settle(t, "lte/skt-constant", "lte/kt-constant")
	l.configure(t, bundle.Carriage{Mode: bundle.Lab, Congestion: "cubic"})
	c := l.connect(t, "d", server4, false)
	fill(c)
	l.one(t, "both", both)
	l.configure(t, bundle.Carriage{Mode: bundle.Wire, Congestion: "bbr"})
	l.link(t, "c2", false)
	l.one(t, "one left", func(c bundle.Connection) bool { return on(c, "lte/kt-constant") == "" })
	l.link(t, "c2", true)
	l.one(t, "joined again", func(c bundle.Connection) bool { return on(c, "lte/kt-constant") == "up" })
	if s, _ := l.Status(0, 10); s.Totals.Strangers != 0 || s.Totals.Resets != 0 {
		t.Errorf("%d strangers, %d resets", s.Totals.Strangers, s.Totals.Resets)
	}
	c.SetLinger(0)
	c.Close()
	l.none(t)
}
