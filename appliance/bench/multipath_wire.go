package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"farlink/appliance/carriers"
)

// wirePort is a port that the lab's own relays do not take.
const wirePort = 5202

// multipathWire has the router's namespace be a device with two addresses that
// speaks MPTCP, and the proxy's end it: the sum of the carriers that the
// kernel's own scheduler reaches.
func multipathWire(ctx context.Context, b *Bench) error {
	for _, channel := range [][]string{{"lte/skt-constant", "lte/kt-constant"}, operators} {
		err := together(ctx, carriers.Options{Profiles: channel}, func(l *carriers.Lab) error {
			if err := bePhone(l); err != nil {
				return err
			}
			wire := exec.Command("/proc/self/exe", "multipath", "wire", "--lan", l.B.Dev, "--wan", "x0", "--ports", fmt.Sprint(wirePort),
				"--congestion", "bbr", "--every", "0")
			wire.Stderr = os.Stderr
			if err := l.B.Start(wire); err != nil {
				return err
			}
			defer func() { wire.Process.Signal(unix.SIGTERM); wire.Wait() }()
			time.Sleep(500 * time.Millisecond) // to listen
			var got []float64
			for range b.Rounds {
				mbps, err := mptcpUp(l)
				if err != nil {
					return err
				}
				got = append(got, 100*mbps/sum(l))
			}
			b.note(fmt.Sprintf("%s + %s, MPTCP by the kernel, bbr", channel[0], channel[1]), "% of the sum", got)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bePhone gives the router's namespace a way to the server by each carrier
// from the carrier's own address, and the second as an endpoint.
func bePhone(l *carriers.Lab) error {
	for i := range l.Profiles {
		from, via, table := fmt.Sprintf("10.77.%d.1", i+1), fmt.Sprintf("10.77.%d.2", i+1), fmt.Sprint(101+i)
		for _, args := range [][]string{
			{"route", "add", "10.79.0.0/24", "via", via, "table", table},
			{"rule", "add", "from", from, "lookup", table},
			{"mptcp", "endpoint", "add", from, "dev", l.A.Dev, "subflow"},
		} {
			if out, err := l.A.Output("ip", args...); err != nil {
				return fmt.Errorf("ip %v: %w: %s", args, err, out)
			}
		}
	}
	out, err := l.A.Output("ip", "mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8")
	if err != nil {
		return fmt.Errorf("limits of MPTCP: %w: %s", err, out)
	}
	return nil
}

// mptcpUp is the goodput of one MPTCP transfer to the server, Mbit/s.
func mptcpUp(l *carriers.Lab) (mbps float64, err error) {
	hear, err := swallow(l)
	if err != nil {
		return 0, err
	}
	defer hear.Close()
	var c net.Conn
	err = l.A.Do(func() (err error) {
		d := net.Dialer{Timeout: 10 * time.Second, Control: control("bbr")}
		d.SetMultipathTCP(true)
		c, err = d.Dial("tcp4", hear.Addr().String())
		return err
	})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if on, err := c.(*net.TCPConn).MultipathTCP(); err != nil || !on {
		return 0, errors.Join(errors.New("the connection fell back to TCP"), err)
	}
	go func() {
		for block := make([]byte, 64<<10); ; {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	}()
	time.Sleep(multipathWarm)
	before, begun := hear.got.Load(), time.Now()
	time.Sleep(multipathFor)
	mbps = float64(hear.got.Load()-before) * 8e-6 / time.Since(begun).Seconds()
	c.(*net.TCPConn).SetLinger(0)
	c.Close()
	time.Sleep(700 * time.Millisecond)
	return mbps, nil
}

// swallower counts what a connection brings.
type swallower struct {
	*net.TCPListener
	got atomic.Int64
}

func swallow(l *carriers.Lab) (*swallower, error) {
	s := &swallower{}
	err := l.Server.Do(func() (err error) {
		s.TCPListener, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: l.Server.IP, Port: wirePort})
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() {
		c, err := s.AcceptTCP()
		if err != nil {
			return
		}
		defer c.Close()
		for block := make([]byte, 256<<10); err == nil; {
			var n int
			n, err = c.Read(block)
			s.got.Add(int64(n))
		}
	}()
	return s, nil
}
