package reroute

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"farlink/emulator/need"
	"farlink/emulator/netlab"
)

// newRig is a client at A whose way to 192.0.2.0/24 and 2001:db8::/64, where
// nobody is, leads by B.
func newRig(t *testing.T) *netlab.Lab {
	t.Helper()
	need.Root(t)
	l, err := netlab.New(fmt.Sprintf("rr%x", rand.Uint32N(1<<24)), netlab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := l.Bridge(); err != nil {
		t.Fatal(err)
	}
	for ip, gateway := range map[string]net.IP{"192.0.2.0/24": l.B.IP, "2001:db8::/64": l.B.V6} {
		err := l.A.Do(func() error {
			_, to, err := net.ParseCIDR(ip)
			if err != nil {
				return err
			}
			return netlink.RouteAdd(&netlink.Route{Dst: to, Gw: gateway})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// greet tells who comes its own address and where it wanted to go, and then
// gives back what it says.
func greet(t *testing.T, listeners []*net.TCPListener) {
	for _, one := range listeners {
		t.Cleanup(func() { one.Close() })
		go func() {
			for {
				conn, err := one.AcceptTCP()
				if err != nil {
					return
				}
				go func() {
					fmt.Fprintf(conn, "%v %v\n", conn.RemoteAddr(), Original(conn))
					io.Copy(conn, conn)
					conn.Close()
				}()
			}
		}()
	}
}

// A connection to an address that nobody has is taken on its way, with both
// addresses as the client sees them; after Remove it is not.
func TestCapture(t *testing.T) {
	l := newRig(t)
	c := Capture{Dev: l.B.Dev, Ports: []uint16{80, 443}}
	var listeners []*net.TCPListener
	err := l.B.Do(func() (err error) {
		if err = c.Apply(); err == nil {
			err = c.Apply() // again is no error
		}
		if err == nil {
			listeners, err = c.Listen(context.Background(), false)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	greet(t, listeners)
	dial := func(to string) (text, want string, err error) {
		err = l.A.Do(func() error {
			conn, err := net.DialTimeout("tcp", to, time.Second)
			if err != nil {
				return err
			}
			defer conn.Close()
			conn.(*net.TCPConn).CloseWrite()
			b, err := io.ReadAll(conn)
			text, want = string(b), fmt.Sprintf("%v %v\n", conn.LocalAddr(), to)
			return err
		})
		return text, want, err
	}
	for _, to := range []string{"192.0.2.7:80", "192.0.2.8:443", "[2001:db8::7]:443"} {
		if got, want, err := dial(to); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", to, got, err, want)
		}
	}
	if _, _, err := dial("192.0.2.7:81"); err == nil {
		t.Error("port 81 was taken, too")
	}
	if err := l.B.Do(c.Remove); err != nil {
		t.Error(err)
	}
	if _, _, err := dial("192.0.2.7:80"); err == nil {
		t.Error("port 80 is taken after Remove")
	}
	if err := l.B.Do(c.Remove); err != nil {
		t.Errorf("remove again: %v", err)
	}
}

// Taking begins and ends with new connections: one that a socket here has goes
// on when its port is not taken any more; others are not taken, listener or
// no.
func TestMine(t *testing.T) {
	l := newRig(t)
	var m *Mine
	var listeners []*net.TCPListener
	err := l.B.Do(func() (err error) {
		if listeners, err = (Capture{Ports: []uint16{80, 443}}).Listen(context.Background(), false); err == nil {
			m, err = OpenMine(l.B.Dev)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	greet(t, listeners)
	dial := func(to string) (c net.Conn, err error) {
		err = l.A.Do(func() error {
			c, err = net.DialTimeout("tcp", to, 700*time.Millisecond)
			return err
		})
		return c, err
	}
	if _, err := dial("192.0.2.7:80"); err == nil {
		t.Error("taken before Take")
	}
	if err := m.Take([]uint16{80, 443}); err != nil {
		t.Fatal(err)
	}
	var old []net.Conn
	for _, to := range []string{"192.0.2.7:80", "[2001:db8::7]:443"} {
		c, err := dial(to)
		if err != nil {
			t.Fatalf("%s: %v", to, err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(3 * time.Second))
		line, err := bufio.NewReader(c).ReadString('\n')
		if want := fmt.Sprintf("%v %v\n", c.LocalAddr(), to); line != want || err != nil {
			t.Errorf("%q, %v; want %q", line, err, want)
		}
		old = append(old, c)
	}
	if err := m.Take([]uint16{443}); err != nil {
		t.Fatal(err)
	}
	if _, err := dial("192.0.2.7:80"); err == nil {
		t.Error("port 80 is still taken")
	}
	for _, c := range old {
		c.Write([]byte("still here"))
		if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
			t.Errorf("an old connection: %v", err)
		}
	}
}

// What a relay that was killed took is released by the next one on the same
// interface; the other direction and other interfaces keep theirs.
func TestCaptureSwept(t *testing.T) {
	l := newRig(t)
	dead, back, next := Capture{Dev: l.B.Dev, Ports: []uint16{80, 443}}, Capture{Dev: l.B.Dev, Ports: []uint16{80}, Back: true}, Capture{Dev: l.B.Dev, Ports: []uint16{443, 8080}}
	other := Capture{Dev: "lo", Ports: []uint16{80}}
	err := l.B.Do(func() error {
		for _, c := range []Capture{dead, back, other, next} {
			if err := c.Apply(); err != nil {
				return err
			}
		}
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			rules, err := netlink.RuleListFiltered(family, &netlink.Rule{Table: table}, netlink.RT_FILTER_TABLE)
			if err != nil {
				return err
			}
			got := map[string]bool{}
			for _, r := range rules {
				if r.Dport != nil {
					got[fmt.Sprint(r.IifName, " to ", r.Dport.Start)] = true
				} else if r.Sport != nil {
					got[fmt.Sprint(r.IifName, " from ", r.Sport.Start)] = true
				}
			}
			dev := l.B.Dev
			if len(got) != 4 || !got[dev+" to 443"] || !got[dev+" to 8080"] || !got[dev+" from 80"] || !got["lo to 80"] {
				t.Errorf("family %d: rules %v", family, got)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
