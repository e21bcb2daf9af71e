package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"farlink/appliance/split"
	"farlink/emulator/netlab"
	"farlink/emulator/wire"
	"farlink/pep"
	"farlink/pep/intercept"
)

// proxied is a lab with a link between two proxies.
type proxied struct {
	*netlab.Lab
	*wire.Engine
	path *split.Path
}

// splitting splits every connection; control is that of the legs over the
// link.
func splitting(control string) pep.Config {
	return pep.Config{Enabled: true, Handshake: intercept.Deferred, WAN: pep.Leg{Congestion: control}}
}

// passing has the proxies in the path, but splits nothing.
var passing = pep.Config{}

func newProxied(ctx context.Context, doc []byte, c pep.Config) (*proxied, error) {
	name := fmt.Sprintf("fb%x", rand.Uint32N(1<<24))
	lab, err := netlab.New(name, netlab.Options{})
	if err != nil {
		return nil, err
	}
	p := &proxied{Lab: lab}
	p.path, err = split.Open(split.Config{Name: name, Netns: lab.Box, A: lab.PortA, B: lab.PortB,
		Sides: split.Sides{Near: true, Far: true}, PEP: c, Command: split.Command})
	if err != nil {
		return nil, errors.Join(err, lab.Close())
	}
	if err := p.path.Join(); err != nil {
		return nil, errors.Join(err, p.path.Close(), lab.Close())
	}
	a, b := p.path.Ends()
	p.Engine, err = wire.Start(ctx, wire.Config{Pair: name, A: a, B: b, Netns: lab.Box, Doc: doc, Feed: p.path.Feed(), Memory: 512 << 20})
	if err != nil {
		return nil, errors.Join(err, p.path.Close(), lab.Close())
	}
	return p, nil
}

// newProxiedOn is newProxied over a profile that is shipped.
func newProxiedOn(ctx context.Context, profile string, c pep.Config) (*proxied, error) {
	doc, err := shipped(profile)
	if err != nil {
		return nil, err
	}
	return newProxied(ctx, doc, c)
}

// turnTo changes the link over to a profile that is shipped.
func (p *proxied) turnTo(profile string) error {
	doc, err := shipped(profile)
	if err == nil {
		_, err = p.Apply(doc)
	}
	return err
}

// far is the proxy at the network's side.
func (p *proxied) far() (far *pep.Process) {
	p.path.Proxies(func(side string, proxy *pep.Process) {
		if side == "far" {
			far = proxy
		}
	})
	return far
}

// Close takes everything down.
func (p *proxied) Close() error {
	err := p.Engine.Close()
	return errors.Join(err, wire.Remove(p.path.Name()), p.path.Close(), p.Lab.Close())
}

// control has the sockets of a listener use a congestion control.
func control(name string) func(string, string, syscall.RawConn) error {
	return func(_, _ string, raw syscall.RawConn) error {
		var set error
		err := raw.Control(func(fd uintptr) { set = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) })
		return errors.Join(err, set)
	}
}

// serve gives every connection to an endpoint n bytes, or bytes without end,
// once it has sent one; the senders use cubic.
func serve(at netlab.End, name string, n int64) (net.Listener, error) {
	var l net.Listener
	err := at.Do(func() (err error) {
		lc := net.ListenConfig{Control: control(name)}
		lc.SetMultipathTCP(false)
		l, err = lc.Listen(context.Background(), "tcp4", net.JoinHostPort(at.IP.String(), "0"))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("serve in %s: %w", at.Netns, err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
					return
				}
				give(c, n)
			}()
		}
	}()
	return l, nil
}

func give(c net.Conn, n int64) {
	block := make([]byte, 256<<10)
	for n > 0 {
		k, err := c.Write(block[:min(n, int64(len(block)))])
		if err != nil {
			return
		}
		n -= int64(k)
	}
}

// dial connects from an endpoint and asks for the bytes.
func dial(from netlab.End, to net.Addr) (c net.Conn, err error) {
	err = from.Do(func() error {
		d := net.Dialer{Timeout: 30 * time.Second}
		d.SetMultipathTCP(false)
		c, err = d.Dial("tcp4", to.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = c.Write([]byte{1})
	return c, err
}

// endless is more than any case transfers.
const endless = 1 << 60

// pull loads the link with streams towards A for d and returns what each
// received, in bytes, in every tenth of a second. Its own servers use
// congestion control name.
func pull(from, to netlab.End, streams int, name string, d time.Duration) ([][]int64, error) {
	l, err := serve(from, name, endless)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ticks := int(d / (100 * time.Millisecond))
	got := make([][]int64, streams)
	var all sync.WaitGroup
	var failure atomic.Pointer[error]
	begun := time.Now()
	for i := range got {
		got[i] = make([]int64, ticks)
		all.Add(1)
		go func() {
			defer all.Done()
			if err := count(to, l.Addr(), got[i], begun); err != nil {
				failure.Store(&err)
			}
		}()
	}
	all.Wait()
	if err := failure.Load(); err != nil {
		return nil, *err
	}
	return got, nil
}

// count adds what a connection receives to the tenths of a second since
// begun.
func count(at netlab.End, to net.Addr, tenths []int64, begun time.Time) error {
	c, err := dial(at, to)
	if err != nil {
		return err
	}
	defer c.(*net.TCPConn).SetLinger(0)
	defer c.Close()
	c.SetReadDeadline(begun.Add(time.Duration(len(tenths)) * 100 * time.Millisecond))
	for block := make([]byte, 256<<10); ; {
		n, err := c.Read(block)
		if i := int(time.Since(begun) / (100 * time.Millisecond)); i < len(tenths) {
			tenths[i] += int64(n)
		}
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// mbits is the goodput of all streams from a time on, in Mbit/s.
func mbits(got [][]int64, from time.Duration) float64 {
	var sum int64
	first := int(from / (100 * time.Millisecond))
	for _, tenths := range got {
		for _, n := range tenths[first:] {
			sum += n
		}
	}
	return float64(sum) * 8e-6 / (float64(len(got[0])-first) / 10)
}

// fetch is how long a connection and n bytes over it take, from dialling.
func fetch(from, to netlab.End, name string, n int64) (time.Duration, error) {
	l, err := serve(from, name, n)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	begun := time.Now()
	c, err := dial(to, l.Addr())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetReadDeadline(begun.Add(2 * time.Minute))
	got, err := io.Copy(io.Discard, c)
	if err == nil && got != n {
		err = fmt.Errorf("%d bytes came, want %d", got, n)
	}
	return time.Since(begun), err
}
