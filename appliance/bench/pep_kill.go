package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"farlink/appliance"
	"farlink/appliance/store"
	"farlink/emulator/netlab"
)

// boxed is a lab with a daemon of this binary, a link and two proxies.
type boxed struct {
	*netlab.Lab
	dir    string
	daemon *exec.Cmd
	echo   net.Listener
}

func newBoxed(ctx context.Context) (x *boxed, err error) {
	x = &boxed{}
	if x.Lab, err = netlab.New(fmt.Sprintf("fk%x", rand.Uint32N(1<<24)), netlab.Options{}); err != nil {
		return nil, err
	}
	if x.dir, err = os.MkdirTemp("", "farlink-bench-"); err == nil {
		text := fmt.Sprintf("name = %q\nstate = %q\n[api]\nlisten = \"127.0.0.1:0\"\nopen = \"read\"\n[[pairs]]\na = %q\nb = %q\nnetns = %q\n"+
			"[pairs.boot]\nprofile = \"clear\"\n[pairs.pep]\nnear = true\nfar = true\nenabled = true\nhandshake = \"deferred\"\n",
			x.Box, filepath.Join(x.dir, "state"), x.PortA, x.PortB, x.Box)
		err = os.WriteFile(filepath.Join(x.dir, "config.toml"), []byte(text), 0o600)
	}
	if err == nil {
		x.echo, err = echo(x.B)
	}
	if err == nil {
		err = x.serve(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// serve starts the daemon and waits until its link stands between proxies.
func (x *boxed) serve(ctx context.Context) error {
	os.Remove(filepath.Join(x.dir, "state", store.DaemonFile))
	x.daemon = exec.CommandContext(ctx, "/proc/self/exe", "serve", "--config", filepath.Join(x.dir, "config.toml"))
	if err := x.daemon.Start(); err != nil {
		return err
	}
	return x.stands(0, 0)
}

// stands waits until engine and proxies run, none of them being one of those.
func (x *boxed) stands(not ...int) error {
	var why error
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var v victims
		if v, why = x.victims(); why == nil && v.answering && !v.has(not) {
			return nil
		}
	}
	return fmt.Errorf("engine and proxies do not stand after 30 s: %w", why)
}

// victims are the processes of a box.
type victims struct {
	engine, near, far int
	answering         bool
}

func (v victims) has(any []int) bool {
	for _, pid := range any {
		if pid != 0 && (pid == v.engine || pid == v.near || pid == v.far) {
			return true
		}
	}
	return false
}

func (x *boxed) victims() (v victims, err error) {
	var s appliance.State
	var p appliance.PEPState
	if err := errors.Join(x.ask("/api/v1/status", &s), x.ask("/api/v1/pep", &p)); err != nil {
		return v, err
	}
	if len(s.Pairs) != 1 || s.Pairs[0].Word != appliance.Emulating || len(p.Proxies) != 2 {
		return v, errors.New("the link does not stand")
	}
	v = victims{s.Pairs[0].Engine.PID, p.Proxies[0].PID, p.Proxies[1].PID, p.Proxies[0].Silent+p.Proxies[1].Silent == ""}
	return v, nil
}

// ask reads a document of the daemon's.
func (x *boxed) ask(path string, into any) error {
	var d store.Daemon
	b, err := os.ReadFile(filepath.Join(x.dir, "state", store.DaemonFile))
	if err = errors.Join(err, json.Unmarshal(b, &d)); err != nil {
		return err
	}
	answer, err := http.Get(d.API + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, answer.Status)
	}
	if into == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// Close ends the daemon and takes everything down.
func (x *boxed) Close() (err error) {
	if x.daemon != nil {
		x.daemon.Process.Signal(unix.SIGTERM)
		err = x.daemon.Wait()
	}
	if x.echo != nil {
		x.echo.Close()
	}
	return errors.Join(err, os.RemoveAll(x.dir), x.Lab.Close())
}

// passes is how many ms after since a new connection exchanges a byte.
func (x *boxed) passes(since time.Time) (float64, error) {
	for time.Since(since) < 20*time.Second {
		if x.exchanged(200*time.Millisecond) == nil {
			return float64(time.Since(since)) / 1e6, nil
		}
	}
	return 0, errors.New("no new connection passes within 20 s")
}

func (x *boxed) exchanged(most time.Duration) error {
	return x.A.Do(func() error {
		c, err := net.DialTimeout("tcp4", x.echo.Addr().String(), most)
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(most))
		if _, err := c.Write([]byte{1}); err != nil {
			return err
		}
		_, err = io.ReadFull(c, make([]byte, 1))
		return err
	})
}

// pepKill ends engine, proxies and daemon by force, each alone and together,
// at random instants: frames and new connections pass, and what was killed
// comes back.
func pepKill(ctx context.Context, b *Bench) error {
	x, err := newBoxed(ctx)
	if err != nil {
		return err
	}
	defer x.Close()
	for _, c := range []struct {
		name string
		of   func(victims) []int
	}{
		{"the near proxy", func(v victims) []int { return []int{v.near} }},
		{"the far proxy", func(v victims) []int { return []int{v.far} }},
		{"both proxies", func(v victims) []int { return []int{v.near, v.far} }},
		{"the engine", func(v victims) []int { return []int{v.engine} }},
		{"engine and proxies", func(v victims) []int { return []int{v.engine, v.near, v.far} }},
		{"the daemon", func(victims) []int { return []int{x.daemon.Process.Pid} }},
		{"daemon, engine and proxies", func(v victims) []int { return []int{x.daemon.Process.Pid, v.engine, v.near, v.far} }},
	} {
		var s struck
		for range max(1, b.Kills/7) {
			if err := x.strike(ctx, c.of, &s); err != nil {
				return fmt.Errorf("after kill -9 of %s: %w", c.name, err)
			}
		}
		b.atMost("gap after kill -9 of "+c.name, "ms", s.gaps, 50)
		b.atMost("new connection after kill -9 of "+c.name, "ms", s.connected, 1000)
		b.note("all stands again after kill -9 of "+c.name, "ms", s.stood)
		if len(s.takeovers) > 0 {
			b.atMost("frames lost as "+c.name+" comes back", "ms", s.takeovers, 50)
		}
	}
	return x.hang(b)
}

// struck is what strikes have shown, in ms.
type struck struct{ gaps, connected, stood, takeovers []float64 }

// strike kills processes under a stream of frames and has what was killed
// come back.
func (x *boxed) strike(ctx context.Context, of func(victims) []int, s *struck) error {
	v, err := x.victims()
	if err != nil {
		return err
	}
	pids := of(v)
	lost := x.stream(800 * time.Millisecond)
	time.Sleep(100*time.Millisecond + time.Duration(rand.IntN(200))*time.Millisecond)
	at := time.Now()
	for _, pid := range pids {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			return err
		}
	}
	connected, err := x.passes(at)
	got := <-lost
	if err = errors.Join(err, got.err); err != nil {
		return err
	}
	s.connected = append(s.connected, connected)
	s.gaps = append(s.gaps, float64(got.LostUntil(at))/1e6)
	if pids[0] == x.daemon.Process.Pid {
		x.daemon.Wait()
		lost := x.stream(2500 * time.Millisecond)
		at = time.Now()
		if err := x.serve(ctx); err != nil {
			return err
		}
		s.stood = append(s.stood, float64(time.Since(at))/1e6)
		got := <-lost
		s.takeovers = append(s.takeovers, float64(got.Lost())*1e3/streamRate)
		return errors.Join(got.err, x.exchanged(5*time.Second))
	}
	if err := x.stands(pids...); err != nil {
		return err
	}
	s.stood = append(s.stood, float64(time.Since(at))/1e6)
	return x.exchanged(5 * time.Second)
}

const streamRate = 2000 // frames per second

type streamed struct {
	netlab.Streamed
	err error
}

func (x *boxed) stream(d time.Duration) <-chan streamed {
	done := make(chan streamed, 1)
	go func() {
		s, err := netlab.Stream(x.A, x.B, netlab.StreamOptions{Rate: streamRate, For: d})
		done <- streamed{s, err}
	}()
	time.Sleep(50 * time.Millisecond)
	return done
}

// hang stops a proxy where it is: figures are shown in time, new connections
// cross, and the proxy is ended and comes back.
func (x *boxed) hang(b *Bench) error {
	v, err := x.victims()
	if err != nil {
		return err
	}
	if err := unix.Kill(v.near, unix.SIGSTOP); err != nil {
		return err
	}
	at := time.Now()
	var took []float64
	for range 3 {
		asked := time.Now()
		if err := x.ask("/metrics", nil); err != nil {
			return err
		}
		took = append(took, float64(time.Since(asked))/1e6)
	}
	b.atMost("/metrics beside a proxy that hangs", "ms", took, 1000)
	connected, err := x.passes(at)
	if err != nil {
		return err
	}
	b.atMost("new connection after a proxy hangs", "ms", []float64{connected}, 4000)
	err = x.stands(v.near)
	b.note("a proxy that hangs is replaced", "ms", []float64{float64(time.Since(at)) / 1e6})
	return err
}
