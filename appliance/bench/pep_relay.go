package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"farlink/appliance/split"
	"farlink/emulator/netlab"
	"farlink/pep"
	"farlink/pep/intercept"
)

// relaying is a lab with one proxy and no link.
type relaying struct {
	*netlab.Lab
	*pep.Process
	pins string
}

func newRelaying() (*relaying, error) {
	name := fmt.Sprintf("fb%x", rand.Uint32N(1<<24))
	lab, err := netlab.New(name, netlab.Options{})
	if err != nil {
		return nil, err
	}
	r := &relaying{Lab: lab, pins: filepath.Join("/sys/fs/bpf", name)}
	at := pep.Place{Netns: lab.Box, LAN: lab.PortA, WAN: lab.PortB, Pins: r.pins}
	if r.Process, err = pep.Start(split.Command(), at, passing); err != nil {
		return nil, errors.Join(err, lab.Close())
	}
	return r, nil
}

// Close takes everything down.
func (r *relaying) Close() error {
	return errors.Join(r.Stop(), intercept.Remove(r.pins), os.Remove(r.pins), r.Lab.Close())
}

// pepRelay compares a split connection with the redirect of those that cross.
func pepRelay(_ context.Context, b *Bench) error {
	r, err := newRelaying()
	if err != nil {
		return err
	}
	defer r.Close()
	for _, streams := range []int{1, 10} {
		var splits, crosses []float64
		for range b.Rounds {
			for _, c := range []struct {
				config pep.Config
				to     *[]float64
			}{{passing, &crosses}, {splitting("cubic"), &splits}} {
				if err := r.Configure(c.config); err != nil {
					return err
				}
				got, err := pull(r.B, r.A, streams, "cubic", 1500*time.Millisecond)
				if err != nil {
					return err
				}
				*c.to = append(*c.to, mbits(got, 300*time.Millisecond))
			}
		}
		b.against(fmt.Sprintf("relay, %d streams", streams), "Mbit/s", "BPF redirect", splits, crosses, 0.5)
	}
	return nil
}

// pepLatency is what a split adds one way to a question and its answer.
func pepLatency(_ context.Context, b *Bench) error {
	r, err := newRelaying()
	if err != nil {
		return err
	}
	defer r.Close()
	var added []float64
	for range b.Rounds {
		var medians [2]float64
		for i, c := range []pep.Config{passing, splitting("cubic")} {
			if err := r.Configure(c); err != nil {
				return err
			}
			if medians[i], err = r.exchanges(500); err != nil {
				return err
			}
		}
		added = append(added, (medians[1]-medians[0])/2)
	}
	b.atMost("latency that a split adds, one way", "us", added, 60)
	return nil
}

// exchanges is the median of n round trips of a byte, in microseconds.
func (r *relaying) exchanges(n int) (float64, error) {
	l, err := echo(r.B)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	c, err := dial(r.A, l.Addr())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	one := make([]byte, 1)
	if _, err := io.ReadFull(c, one); err != nil {
		return 0, err
	}
	var took []float64
	for range n {
		begun := time.Now()
		if _, err := c.Write(one); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(c, one); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(begun))/1e3)
	}
	return Median(took), nil
}

// echo answers what it is told.
func echo(at netlab.End) (l net.Listener, err error) {
	err = at.Do(func() (err error) {
		lc := net.ListenConfig{}
		lc.SetMultipathTCP(false)
		l, err = lc.Listen(context.Background(), "tcp4", net.JoinHostPort(at.IP.String(), "0"))
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for one := make([]byte, 1); ; {
					if _, err := io.ReadFull(c, one); err != nil {
						return
					}
					if _, err := c.Write(one); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l, nil
}

// pepFlows opens as many connections as this process's descriptors allow,
// each with an exchange, and an exchange on all while they stand.
func pepFlows(_ context.Context, b *Bench) error {
	r, err := newRelaying()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Configure(splitting("cubic")); err != nil {
		return err
	}
	l, err := echo(r.B)
	if err != nil {
		return err
	}
	defer l.Close()
	s, err := r.Status()
	if err != nil {
		return err
	}
	n := min(s.MostFlows, 9500) // this process, too, takes two descriptors for each
	conns := make([]net.Conn, n)
	defer func() {
		for _, c := range conns {
			if c != nil {
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
			}
		}
	}()
	begun := time.Now()
	opened := spread(n, func(i int) (err error) {
		conns[i], err = dial(r.A, l.Addr())
		return answered(conns[i], err)
	})
	rate := float64(n) / time.Since(begun).Seconds()
	second := spread(n, func(i int) error {
		if conns[i] == nil {
			return errors.New("not open")
		}
		_, err := conns[i].Write([]byte{2})
		return answered(conns[i], err)
	})
	if s, err = r.Status(); err != nil {
		return err
	}
	b.atLeast(fmt.Sprintf("good of %d connections at a time", n), "", []float64{float64(opened)}, float64(n))
	b.atLeast("second exchange on them", "", []float64{float64(second)}, float64(n))
	b.atLeast("of them split", "", []float64{float64(s.Flows)}, float64(n))
	b.atLeast("new connections", "/s", []float64{rate}, 800)
	return nil
}

// answered waits for the echo.
func answered(c net.Conn, err error) error {
	if err != nil {
		return err
	}
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, err = io.ReadFull(c, make([]byte, 1))
	return err
}

// spread does n things by 64 at a time and counts those that went well.
func spread(n int, do func(i int) error) int {
	var next, good atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if do(int(i)) == nil {
					good.Add(1)
				}
			}
		}()
	}
	all.Wait()
	return int(good.Load())
}
