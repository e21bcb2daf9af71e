package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"farlink/appliance/carriers"
	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/pep"
	"farlink/pep/multipath"
)

// Rates and times of the comparison of relays: what a busy machine carries
// without losses of its own.
const (
	relayRate = 120 * link.MegabitPerSecond
	relayRTT  = 20 * link.Millisecond
	relayFor  = 5 * time.Second
)

// multipathRelay holds the processor time that two multipath relays take per
// byte, over two carriers, against that of two single-path proxies over one
// link of the same rate.
func multipathRelay(ctx context.Context, b *Bench) error {
	var relays, proxies, ratio []float64
	for range b.Rounds {
		r, err := relaysPerByte(ctx)
		if err != nil {
			return err
		}
		p, err := proxiesPerByte(ctx)
		if err != nil {
			return err
		}
		relays, proxies, ratio = append(relays, r), append(proxies, p), append(ratio, r/p)
	}
	b.note("router and proxy", "ns per byte", relays)
	b.note("two single-path proxies", "ns per byte", proxies)
	b.atMost("processor time of the relays, against single-path proxies", "x", ratio, 2)
	return nil
}

// perByte is the processor time that processes take while bytes come, by how
// many those are, in nanoseconds.
func perByte(pids []int, carry func() (bytes int64, err error)) (float64, error) {
	used := func() (sum time.Duration, err error) {
		for _, pid := range pids {
			t, bad := cpu(pid)
			sum, err = sum+t, errors.Join(err, bad)
		}
		return sum, err
	}
	before, err := used()
	if err != nil {
		return 0, err
	}
	bytes, err := carry()
	if err != nil {
		return 0, err
	}
	after, err := used()
	return float64(after-before) / float64(max(bytes, 1)), err
}

// fetched counts what one connection brings to an endpoint.
func fetched(to netlab.End, from net.Addr) (n int64, err error) {
	tenths := make([]int64, relayFor/(100*time.Millisecond))
	err = count(to, from, tenths, time.Now())
	for _, t := range tenths {
		n += t
	}
	return n, err
}

func proxiesPerByte(ctx context.Context) (float64, error) {
	one, err := plain(relayRate, relayRTT)
	if err != nil {
		return 0, err
	}
	doc, err := document(one, 1)
	if err != nil {
		return 0, err
	}
	p, err := newProxied(ctx, doc, splitting("bbr"))
	if err != nil {
		return 0, err
	}
	defer p.Close()
	l, err := serve(p.B, "cubic", endless)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	var pids []int
	p.path.Proxies(func(_ string, one *pep.Process) { pids = append(pids, one.PID()) })
	return perByte(pids, func() (int64, error) { return fetched(p.A, l.Addr()) })
}

func relaysPerByte(ctx context.Context) (got float64, err error) {
	two, err := plains(relayRate/2, relayRTT, relayRate/2, relayRTT)
	if err != nil {
		return 0, err
	}
	err = together(ctx, carriers.Options{Custom: two}, func(l *carriers.Lab) error {
		server, err := serve(l.Server, "cubic", endless)
		if err != nil {
			return err
		}
		defer server.Close()
		pids, end, err := processes(l, server.Addr().(*net.TCPAddr).Port)
		if err != nil {
			return err
		}
		defer end()
		got, err = perByte(pids, func() (int64, error) { return fetched(l.Device, server.Addr()) })
		return err
	})
	return got, err
}

// processes starts router and proxy as processes of their own, for a port.
func processes(l *carriers.Lab, port int) (pids []int, end func(), err error) {
	dir, err := os.MkdirTemp("", "farlink-bench")
	if err != nil {
		return nil, nil, err
	}
	var running []*exec.Cmd
	end = func() {
		for _, c := range running {
			c.Process.Signal(unix.SIGTERM)
			c.Wait()
		}
		os.RemoveAll(dir)
	}
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("a key of the bench, no secret"), 0o600); err != nil {
		return nil, end, err
	}
	proxy := []string{"multipath", "proxy", "--listen", "10.77.1.2:6500", "--listen", "10.77.2.2:6500"}
	router := []string{"multipath", "router", "--over", "10.77.1.1=10.77.1.2:6500", "--over", "10.77.2.1=10.77.2.2:6500"}
	for at, args := range map[*netlab.End][]string{&l.B: proxy, &l.A: router} {
		c := exec.Command("/proc/self/exe", append(args, "--lan", "x0", "--ports", fmt.Sprint(port), "--key", key, "--every", "0")...)
		c.Stderr = os.Stderr
		if err := at.Start(c); err != nil {
			end()
			return nil, nil, err
		}
		running, pids = append(running, c), append(pids, c.Process.Pid)
	}
	time.Sleep(500 * time.Millisecond) // to listen
	return pids, end, nil
}

// manyConnections are opened and closed by multipathMany.
const manyConnections = 10_000

// multipathMany opens and closes connections, each with an exchange, and
// counts what stays: connections, sockets, goroutines.
func multipathMany(ctx context.Context, b *Bench) error {
	two, err := plains(100*link.MegabitPerSecond, 2*link.Millisecond, 100*link.MegabitPerSecond, 2*link.Millisecond)
	if err != nil {
		return err
	}
	return together(ctx, carriers.Options{Custom: two}, func(l *carriers.Lab) error {
		if err := l.Configure(multipath.Config{Congestion: "cubic"}); err != nil {
			return err
		}
		server, err := repeat(l.Server, 8080)
		if err != nil {
			return err
		}
		defer server.Close()
		sockets, routines := openSockets(), runtime.NumGoroutine()
		begun := time.Now()
		good := spread(manyConnections, func(int) error { return exchange(l.Device, server.Addr()) })
		rate := manyConnections / time.Since(begun).Seconds()
		stay := func() int { return len(l.Router.Stats().Connections) + len(l.Proxy.Stats().Connections) }
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && (stay() > 0 || openSockets() > sockets); {
			time.Sleep(100 * time.Millisecond)
		}
		b.atLeast(fmt.Sprintf("good of %d connections, one after another by 64", manyConnections), "", []float64{float64(good)}, manyConnections)
		b.note("connections", "/s", []float64{rate})
		b.atMost("of them there afterwards", "", []float64{float64(stay())}, 0)
		b.atMost("more sockets than before", "", []float64{float64(max(openSockets()-sockets, 0))}, 0)
		b.atMost("more goroutines than before", "", []float64{float64(max(runtime.NumGoroutine()-routines, 0))}, 8)
		return nil
	})
}

// openSockets is how many sockets this process has. Pipes are the Go
// library's, kept for splicing.
func openSockets() (n int) {
	all, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range all {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// repeat answers what it is told on a port, to the end.
func repeat(at netlab.End, port int) (l *net.TCPListener, err error) {
	err = at.Do(func() (err error) {
		l, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: at.IP, Port: port})
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
	return l, nil
}

// exchange opens a connection, says 2,000 bytes, wants them back, closes.
func exchange(from netlab.End, to net.Addr) error {
	var c net.Conn
	err := from.Do(func() (err error) {
		c, err = net.DialTimeout("tcp4", to.String(), 10*time.Second)
		return err
	})
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Write(make([]byte, 2000)); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, c)
	if err == nil && n != 2000 {
		err = fmt.Errorf("%d of 2000 bytes came back", n)
	}
	return err
}
