package mptcp

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"
)

// details are those of the terminator's subflow with an address, once f holds.
func (r *rig) details(t *testing.T, what, address string, f func(d Detail) bool) {
	t.Helper()
	var all map[Ends]Detail
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		must(t, r.B.Do(func() (err error) { all, err = Details(); return err }))
		for e, d := range all {
			if e.Remote.Addr() == netip.MustParseAddr(address) && f(d) {
				return
			}
		}
	}
	t.Errorf("%s: %+v", what, all)
}

// A path joins as a backup; MP_PRIO makes it a normal one and a backup again,
// while the connection is. A backup carries nothing that the other can carry.
func TestPriority(t *testing.T) {
	r := newRig(t)
	second := Endpoint{Addr: netip.MustParseAddr("10.77.2.1"), Flags: Subflow | Backup, Index: r.index}
	must(t, r.manager.Add(second))
	c := r.connect(t, true)
	echo := func() {
		t.Helper()
		data := make([]byte, 200_000)
		go c.Write(data)
		if _, err := io.ReadFull(c, data); err != nil {
			t.Fatal(err)
		}
	}
	echo()
	r.until(t, "joined", 2)
	r.details(t, "joined as a backup", "10.77.2.1", func(d Detail) bool { return d.Backup && d.Ready && d.Congestion == "cubic" })
	r.details(t, "the first", "10.77.1.1", func(d Detail) bool { return !d.Backup && d.Ready })
	echo()
	for _, p := range r.terminator.Stats().Connections[0].Near.Paths {
		if p.Remote.Addr() == second.Addr && p.Sent+p.Got > 0 {
			t.Errorf("the backup carried %d and %d bytes", p.Sent, p.Got)
		}
	}
	all, err := r.manager.Endpoints()
	must(t, err)
	for _, backup := range []bool{false, true, false} {
		must(t, r.manager.SetBackup(all[0], backup))
		r.details(t, "MP_PRIO", "10.77.2.1", func(d Detail) bool { return d.Backup == backup })
	}
	echo()
}

// A device with one address is told a second one of the terminator's and
// joins it: ADD_ADDR.
func TestAddAddr(t *testing.T) {
	r := newRig(t)
	var manager *Manager
	must(t, r.B.Do(func() (err error) {
		if manager, err = Open(); err != nil {
			return err
		}
		if err := manager.SetLimits(2, 2); err != nil {
			return err
		}
		return manager.Add(Endpoint{Addr: netip.MustParseAddr("10.77.2.2"), Flags: Signal})
	}))
	defer manager.Close()
	c := r.connect(t, true)
	c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s := r.until(t, "announced", 2)
	announced := false
	for _, p := range s.Connections[0].Near.Paths {
		announced = announced || p.Local.Addr() == netip.MustParseAddr("10.77.2.2")
	}
	if !announced {
		t.Errorf("nobody joined 10.77.2.2: %+v", s)
	}
	if got := c.RemoteAddr().(*net.TCPAddr).String(); got != target {
		t.Errorf("the device sees %s, want %s", got, target)
	}
}
