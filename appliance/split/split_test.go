package split_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/appliance/machine"
	"farlink/appliance/split"
	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/emulator/netlab"
	"farlink/emulator/wire"
	"farlink/pep"
	"farlink/pep/intercept"
	"farlink/profiles"
)

// The test binary is the engine and the proxies, too.
func TestMain(m *testing.M) {
	if wire.IsEngine() {
		os.Exit(wire.Main(machine.Build, machine.OpenFeed))
	}
	if os.Getenv(split.ProxyVariable) != "" {
		conn, err := net.FileConn(os.NewFile(3, "daemon"))
		if err == nil {
			err = pep.Main(context.Background(), conn, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "proxy:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// rig is a lab with proxies and a link between them.
type rig struct {
	*netlab.Lab
	path   *split.Path
	engine *wire.Engine
}

func newRig(t *testing.T, sides split.Sides, c pep.Config, profile string) *rig {
	t.Helper()
	need.Root(t)
	name := fmt.Sprintf("sp%x", rand.Uint32N(1<<24))
	lab, err := netlab.New(name, netlab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lab.Close() })
	if c.LeastRTT == 0 {
		c.LeastRTT = 1 // a lab of short links is to be split
	}
	r := &rig{Lab: lab}
	r.path, err = split.Open(split.Config{Name: name, Netns: lab.Box, A: lab.PortA, B: lab.PortB, Sides: sides, PEP: c, Command: split.Command})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.path.Close(); err != nil {
			t.Error(err)
		}
		left, _ := exec.Command("sh", "-c", "ip netns list | grep -w "+name+"-near; ls -d /sys/fs/bpf/farlink*/"+name+"* 2>/dev/null").Output()
		if len(left) > 0 {
			t.Errorf("left behind: %s", left)
		}
	})
	if err := r.path.Join(); err != nil {
		t.Fatal(err)
	}
	a, b := r.path.Ends()
	p, err := profiles.Lookup(profile)
	if err != nil {
		t.Fatal(err)
	}
	doc := fmt.Appendf(nil, `{"line":"1Gbit/s","default":"main","links":[{"name":"main","seed":1,"profile":%s}]}`, p.Profile.JSON())
	r.engine, err = wire.Start(t.Context(), wire.Config{Pair: name, A: a, B: b, Netns: lab.Box, Doc: doc, Feed: r.path.Feed()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.engine.Close()
		wire.Remove(name)
	})
	return r
}

// fetch connects from a to b, sends a byte, receives n and returns how long
// it all took.
func (r *rig) fetch(t *testing.T, n int) (took time.Duration) {
	t.Helper()
	var l net.Listener
	err := r.B.Do(func() (err error) {
		l, err = net.Listen("tcp4", "10.77.0.2:0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.ReadFull(c, make([]byte, 1))
		io.CopyN(c, zero{}, int64(n))
	}()
	err = r.A.Do(func() error {
		start := time.Now()
		c, err := net.DialTimeout("tcp4", l.Addr().String(), 10*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(30 * time.Second))
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		got, err := io.Copy(io.Discard, c)
		took = time.Since(start)
		if err == nil && got != int64(n) {
			err = fmt.Errorf("%d bytes came, want %d", got, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return took
}

type zero struct{}

func (zero) Read(b []byte) (int, error) { return len(b), nil }

// TestBothSides: over a GEO link with two proxies ping takes the link's round
// trip, TCP works, and is split at both.
func TestBothSides(t *testing.T) {
	c := pep.Config{Enabled: true, Handshake: intercept.Deferred}
	r := newRig(t, split.Sides{Near: true, Far: true}, c, "geo/qirse-sat")
	out, err := r.A.Output("ping", "-n", "-c", "6", "-i", "0.3", "-W", "2", "10.77.0.2")
	if err != nil || !strings.Contains(string(out), "time=60") { // the first ones wait for ARP
		t.Errorf("ping: %s", out)
	}
	r.fetch(t, 100_000)
	r.path.Proxies(func(side string, p *pep.Process) {
		s, err := p.Status()
		if err != nil || s.Accepted != 1 {
			t.Errorf("%s: %+v, %v; want one connection", side, s, err)
		}
		// The engine tells each proxy the way into which it sends.
		want := map[string]float64{"near": 2e6, "far": 20e6}[side]
		if l := s.Feed.Links; len(l) != 1 || l[0].GrantedBps != want || l[0].RTTms != 600 || l[0].AgeMs > 200 {
			t.Errorf("%s: feed %+v, want %v bit/s and 600 ms, of late", side, l, want)
		}
	})
}

// TestOneSide: a proxy alone, whose partner a device under test may be.
func TestOneSide(t *testing.T) {
	for _, sides := range []split.Sides{{Near: true}, {Far: true}} {
		t.Run(fmt.Sprintf("%+v", sides), func(t *testing.T) {
			c := pep.Config{Enabled: true, Handshake: intercept.Deferred}
			r := newRig(t, sides, c, "terrestrial/fibre")
			r.fetch(t, 100_000)
			n := 0
			r.path.Proxies(func(side string, p *pep.Process) {
				n++
				if s, err := p.Status(); err != nil || (side == "near") != sides.Near || s.Accepted != 1 {
					t.Errorf("%s: %+v, %v; want one connection", side, s, err)
				}
			})
			if n != 1 {
				t.Errorf("%d proxies, want one", n)
			}
		})
	}
}

// TestTakeOver: a path whose daemon and proxies were killed is a wire, and the
// next daemon takes it over as it stands.
func TestTakeOver(t *testing.T) {
	c := pep.Config{Enabled: true, Handshake: intercept.Deferred}
	r := newRig(t, split.Sides{Near: true, Far: true}, c, "clear")
	r.fetch(t, 1000)
	r.path.Proxies(func(_ string, p *pep.Process) { p.Kill(); <-p.Done() })
	r.fetch(t, 1000)
	again, err := split.Open(split.Config{Name: r.Name(), Netns: r.Box, A: r.PortA, B: r.PortB, Sides: r.path.Sides(), PEP: c, Command: split.Command})
	if err != nil {
		t.Fatal(err)
	}
	r.path = again // the rig closes it
	if !again.Adopted() {
		t.Error("the path was made anew")
	}
	r.fetch(t, 1000)
	again.Proxies(func(side string, p *pep.Process) {
		if s, err := p.Status(); err != nil || s.Accepted != 1 {
			t.Errorf("%s: %+v, %v; want one connection", side, s, err)
		}
	})
	other := split.Config{Name: r.Name(), Netns: r.Box, A: r.PortA, B: r.PortB, Sides: split.Sides{Near: true}, Command: split.Command}
	if again.Proxies(func(_ string, p *pep.Process) { p.Kill(); <-p.Done() }); t.Failed() {
		return
	}
	if r.path, err = split.Open(other); err != nil {
		t.Fatal(err)
	}
	if r.path.Adopted() {
		t.Error("a path of other sides was taken over")
	}
}

// TestAgainAtOnce: a namespace that something still holds, such as a
// connection that has not ended, does not keep the next path from standing.
func TestAgainAtOnce(t *testing.T) {
	r := newRig(t, split.Sides{Near: true}, pep.Config{}, "clear")
	held, err := os.Open("/run/netns/" + r.Name() + "-near")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := r.path.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := split.Open(split.Config{Name: r.Name(), Netns: r.Box, A: r.PortA, B: r.PortB, Sides: split.Sides{Near: true}, Command: split.Command})
	if err != nil {
		t.Fatal(err)
	}
	r.path = again // the rig closes it
}

// Name is the lab's and the pair's.
func (r *rig) Name() string { return strings.TrimSuffix(r.Box, "-box") }

// TestRevive: while a proxy is dead its namespace is a wire; started again it
// splits what comes new.
func TestRevive(t *testing.T) {
	c := pep.Config{Enabled: true, Handshake: intercept.Deferred}
	r := newRig(t, split.Sides{Near: true, Far: true}, c, "terrestrial/fibre")
	r.fetch(t, 1000)
	r.path.Proxies(func(side string, p *pep.Process) {
		if side == "near" {
			syscall.Kill(p.PID(), syscall.SIGKILL)
		}
	})
	if side := <-r.path.Ended(); side != "near" {
		t.Fatalf("%s ended, want near", side)
	}
	if r.path.Alive() {
		t.Error("alive with a dead proxy")
	}
	r.fetch(t, 1000) // over a wire and the far proxy
	start := time.Now()
	if err := r.path.Revive("near"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("started again after %v", took)
	}
	r.fetch(t, 1000)
	r.path.Proxies(func(side string, p *pep.Process) {
		want := uint64(1) // of the one that was started again
		if side == "far" {
			want = 3
		}
		if s, err := p.Status(); err != nil || s.Accepted != want {
			t.Errorf("%s split %d connections, %v; want %d", side, s.Accepted, err, want)
		}
	})
}

// TestResume: a later connection starts at half of what an earlier one used,
// and retreats where the link carries less by now (RFC 9959).
func TestResume(t *testing.T) {
	c := pep.Config{Enabled: true, Handshake: intercept.Deferred,
		Rules: []pep.Policy{{Rule: intercept.Rule{Handshake: intercept.Deferred}, WAN: pep.Leg{Congestion: "resume"}}}}
	r := newRig(t, split.Sides{Near: true, Far: true}, c, "clear")
	r.carry(t, "20Mbit/s", "750kB")
	r.fetch(t, 100) // the neighbours know each other
	first := r.fetch(t, 1_000_000)
	r.fetch(t, 3_000_000)
	saved := r.saved(t)
	if saved.Bytes < 300_000 || saved.MinRTTms < 299 || saved.MinRTTms > 400 || saved.Retreats != 0 {
		t.Errorf("saved %+v, want most of 750 kB a round trip of 300 ms", saved)
	}
	second := r.fetch(t, 1_000_000)
	if now := r.saved(t); now.Jumps != saved.Jumps+1 || now.Validated != saved.Validated+1 || now.Retreats != 0 {
		t.Errorf("%+v, then %+v; want one jump more, validated", saved, now)
	}
	// Each doubling that the jump leaves out is a round trip of 300 ms.
	if second > first-300*time.Millisecond {
		t.Errorf("1 MB took %v, then %v from half of %d bytes; want a round trip less at least", first, second, saved.Bytes)
	}
	r.carry(t, "1Mbit/s", "60kB")
	before := r.saved(t)
	r.fetch(t, 400_000)
	if now := r.saved(t); now.Jumps != before.Jumps+1 || now.Retreats != 1 {
		t.Errorf("%+v, then %+v; want one jump more, and a retreat", before, now)
	}
}

// TestShortLink: over a link of less than least_rtt nothing is split, and the
// proxies say so; they split again when the link is longer.
func TestShortLink(t *testing.T) {
	c := pep.Config{Enabled: true, Handshake: intercept.Deferred, LeastRTT: 20 * link.Millisecond}
	r := newRig(t, split.Sides{Near: true, Far: true}, c, "terrestrial/fibre") // 6 ms
	accepted := func(short bool) (sum uint64) {
		r.path.Proxies(func(side string, p *pep.Process) {
			s, err := p.Status()
			for end := time.Now().Add(5 * time.Second); err == nil && s.Short != short && time.Now().Before(end); s, err = p.Status() {
				time.Sleep(20 * time.Millisecond)
			}
			if err != nil || s.Short != short || !s.Enabled {
				t.Errorf("%s: %+v, %v; want short %v", side, s, err, short)
			}
			sum += s.Accepted
		})
		return sum
	}
	before := accepted(true)
	r.fetch(t, 1000)
	if now := accepted(true); now != before {
		t.Errorf("%d connections were split over a link of 6 ms", now-before)
	}
	r.carry(t, "8Mbit/s", "600kB")
	accepted(false)
	r.fetch(t, 1000)
	if now := accepted(false); now != before+2 {
		t.Errorf("%d connections were split over a link of 300 ms, want one at each end", now-before)
	}
}

// carry gives the link another rate and queue down, and 150 ms each way.
func (r *rig) carry(t *testing.T, rate, queue string) {
	t.Helper()
	profile := fmt.Sprintf(`{"name":"path","down":{"queue":{"rate":%q,"limit":%q},"path":{"delay":"150ms"}},"up":{"path":{"delay":"150ms"}}}`, rate, queue)
	if _, err := r.engine.Apply(fmt.Appendf(nil, `{"line":"1Gbit/s","default":"main","links":[{"name":"main","seed":1,"profile":%s}]}`, profile)); err != nil {
		t.Fatal(err)
	}
}

// saved is what the far proxy has saved of the link.
func (r *rig) saved(t *testing.T) (saved pep.SavedPath) {
	t.Helper()
	r.path.Proxies(func(side string, p *pep.Process) {
		s, err := p.Status()
		if err != nil || len(s.Missing) > 0 {
			t.Errorf("%s: %v, missing %v", side, err, s.Missing)
		}
		if side == "far" && len(s.Saved) == 1 {
			saved = s.Saved[0]
		}
	})
	return saved
}

// TestTagged: what comes in a VLAN, or in two, leaves in it: through proxies
// and link, what is split and what crosses.
func TestTagged(t *testing.T) {
	c := pep.Config{Enabled: true, Handshake: intercept.Deferred}
	r := newRig(t, split.Sides{Near: true, Far: true}, c, "terrestrial/fibre")
	for _, e := range []netlab.End{r.A, r.B} { // as cards send it: within the frame
		if out, err := e.Output("ethtool", "-K", e.Dev, "txvlan", "off", "tx-vlan-stag-hw-insert", "off"); err != nil {
			t.Fatalf("%s", out)
		}
	}
	tags, err := netlab.Tag(r.A, r.B)
	t.Cleanup(func() { tags.Close() })
	if err != nil {
		t.Fatal(err)
	}
	r.fetch(t, 1000) // the neighbours know each other
	for mark, want := range map[int]string{netlab.TaggedOnce: "8100 6064 0800", netlab.TaggedTwice: "88a8 000a 8100 0014 0800"} {
		tap, err := r.B.Tap()
		if err != nil {
			t.Fatal(err)
		}
		defer tap.Close()
		m := fmt.Sprint(mark)
		if out, err := r.A.Output("ping", "-n", "-m", m, "-c", "1", "-W", "2", "10.77.0.2"); err != nil {
			t.Errorf("ping with tags: %s", out)
		}
		if got := came(tap, 1); got != want {
			t.Errorf("ICMP came as %s, want %s", got, want)
		}
		r.marked(t, mark)
		if got := came(tap, 6); got != want {
			t.Errorf("TCP came as %s, want %s", got, want)
		}
	}
	r.path.Proxies(func(side string, p *pep.Process) {
		if s, err := p.Status(); err != nil || s.Accepted != 3 {
			t.Errorf("%s split %d connections, %v; want 3", side, s.Accepted, err)
		}
	})
}

// came is the types and tags of the next frame of an IPv4 protocol, in hex.
func came(tap *netlab.Tap, protocol byte) string {
	buf := make([]byte, 1<<16)
	for {
		f, err := tap.Receive(buf, 2*time.Second)
		if err != nil {
			return "nothing"
		}
		b := f.Bytes
		for at := 12; !f.Outgoing && len(b) > at+12; at += 4 {
			if b[at] == 8 && b[at+1] == 0 && b[at+2+9] == protocol {
				return words(b[12 : at+2])
			}
		}
	}
}

// words writes words of 16 bits in hex.
func words(b []byte) string {
	var all []string
	for i := 0; i+1 < len(b); i += 2 {
		all = append(all, fmt.Sprintf("%02x%02x", b[i], b[i+1]))
	}
	return strings.Join(all, " ")
}

// marked exchanges a byte between sockets with a mark.
func (r *rig) marked(t *testing.T, mark int) {
	t.Helper()
	set := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_MARK, mark) })
	}
	var l net.Listener
	err := r.B.Do(func() (err error) {
		l, err = (&net.ListenConfig{Control: set}).Listen(t.Context(), "tcp4", "10.77.0.2:0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	err = r.A.Do(func() error {
		c, err := (&net.Dialer{Control: set, Timeout: 5 * time.Second}).Dial("tcp4", l.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(5 * time.Second))
		c.Write([]byte("x"))
		_, err = io.ReadFull(c, make([]byte, 1))
		return err
	})
	if err != nil {
		t.Errorf("mark %#x: %v", mark, err)
	}
}
