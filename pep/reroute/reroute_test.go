package reroute

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"farlink/emulator/netlab"
)

// A connection to an address that nobody has is taken on its way, with both
// addresses as the client sees them; after Remove it is not.
func TestCapture(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("needs root")
		}
		t.Skip("needs root for namespaces")
	}
	l, err := netlab.New(fmt.Sprintf("rr%x", rand.Uint32N(1<<24)), netlab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
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
	c := Capture{Dev: l.B.Dev, Ports: []uint16{80, 443}}
	var listeners []*net.TCPListener
	err = l.B.Do(func() (err error) {
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
	for _, one := range listeners {
		defer one.Close()
		go func() {
			for {
				conn, err := one.AcceptTCP()
				if err != nil {
					return
				}
				fmt.Fprintf(conn, "%v %v", conn.RemoteAddr(), Original(conn))
				conn.Close()
			}
		}()
	}
	dial := func(to string) (text, want string, err error) {
		err = l.A.Do(func() error {
			conn, err := net.DialTimeout("tcp", to, time.Second)
			if err != nil {
				return err
			}
			defer conn.Close()
			b, err := io.ReadAll(conn)
			text, want = string(b), fmt.Sprintf("%v %v", conn.LocalAddr(), to)
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
