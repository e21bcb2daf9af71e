package pep

import (
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farlink/pep/intercept"
)

// TestFlood: SYNs of a great many who never go on, towards a server that is
// silent to them; where they are answered early, more than the table of flows
// has room for. A connection that stood idle meanwhile goes on, new ones come
// through, and the proxy stays within its limits.
func TestFlood(t *testing.T) {
	for _, c := range []struct {
		handshake intercept.Action
		syns      int
	}{{intercept.Deferred, 20_000}, {intercept.Early, 300_000}} {
		t.Run(c.handshake.String(), func(t *testing.T) {
			config := splitAll()
			config.Handshake, config.Flows = c.handshake, 500
			r := newRig(t, config)
			client, server := r.connect(t, false)
			exchange(t, client, server, "before")
			files := openFiles(t, r.proxy.PID())
			r.flood(t, c.syns)
			s, err := r.proxy.Status()
			if err != nil || s.Flows > config.Flows {
				t.Errorf("%+v, %v; want %d flows at most", s, err, config.Flows)
			}
			if n := openFiles(t, r.proxy.PID()); n > files+2*config.Flows {
				t.Errorf("%d descriptors after, %d before", n, files)
			}
			exchange(t, client, server, "idle meanwhile")
			a, b := r.connect(t, false)
			exchange(t, a, b, "new")
			exchange(t, server, client, "and back")
		})
	}
}

// flood sends SYNs from as many addresses and ports, to port 9 of the
// network's end.
func (r *rig) flood(t *testing.T, syns int) {
	t.Helper()
	tap, err := r.A.Tap()
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	a, _ := net.ParseMAC(hardware(r.A))
	b, _ := net.ParseMAC(hardware(r.B))
	f := append(append(append([]byte{}, b...), a...), 8, 0,
		0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 99, 0, 0, 10, 77, 0, 2,
		0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 5<<4, flagSYN, 0xfa, 0, 0, 0, 0, 0)
	for i := range syns {
		binary.BigEndian.PutUint16(f[28:], uint16(i>>8)) // 10.99.x.y
		binary.BigEndian.PutUint16(f[34:], uint16(1024+i&0xff))
		copy(f[24:], []byte{0, 0})
		binary.BigEndian.PutUint16(f[24:], internet(f[14:34]))
		copy(f[50:], []byte{0, 0})
		pseudo := append(append([]byte{}, f[26:34]...), 0, 6, 0, 20)
		binary.BigEndian.PutUint16(f[50:], internet(append(pseudo, f[34:54]...)))
		err := tap.Send(f)
		for ; errors.Is(err, unix.ENOBUFS); err = tap.Send(f) {
			time.Sleep(100 * time.Microsecond)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
