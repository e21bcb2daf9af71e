package bundle

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"farlink/emulator/link"
)

// site is a phone's: two carriers, a router with plain devices behind it.
func site() *Site {
	path := func(name, dev string, n byte, rate link.Rate) Path {
		at := func(side byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, n, side}) }
		return Path{Name: name, Link: "carrier", NearDev: dev, FarDev: dev, Near: at(1), Far: at(2), Rate: rate}
	}
	s := &Site{
		Near: Near{Netns: "near", LAN: "x0", Net: netip.MustParsePrefix("10.78.0.0/24"), Net6: netip.MustParsePrefix("fd78::/64"),
			Intercept: "between", Devices: "l0", Router: "w0", Pins: "/sys/fs/bpf/x"},
		Far:   Far{Netns: "far", LAN: "y0"},
		Paths: []Path{path("skt", "c1", 1, 17*link.MegabitPerSecond), path("kt", "c2", 2, 36*link.MegabitPerSecond)},
	}
	s.Paths[1].Near6, s.Paths[1].Far6 = netip.MustParseAddr("fd77:2::1"), netip.MustParseAddr("fd77:2::2")
	return s
}

// problems lists where a check finds something, each with what is wanted.
func problems(t *testing.T, check func(link.Report)) (at []string) {
	t.Helper()
	check(func(path, _, want string) {
		at = append(at, path)
		if want == "" {
			t.Errorf("%s: nothing wanted", path)
		}
	})
	return at
}

func TestSiteCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Site)
		want   []string
	}{
		{"good", func(*Site) {}, nil},
		{"a phone alone", func(s *Site) { s.Near = Near{} }, nil},
		{"no paths", func(s *Site) { s.Paths = nil }, []string{"path"}},
		{"no far side", func(s *Site) { s.Far = Far{} }, []string{"far"}},
		{"half a near side", func(s *Site) { s.Near.Pins = "" }, []string{"near"}},
		{"one name twice", func(s *Site) { s.Paths[1].Name = "skt" }, []string{"path[1].name"}},
		{"no interface", func(s *Site) { s.Paths[0].NearDev = "" }, []string{"path[0]"}},
		{"IPv6 alone", func(s *Site) { s.Paths[0].Far = netip.MustParseAddr("fd00::1") }, []string{"path[0]"}},
	} {
		s := site()
		c.change(s)
		if got := problems(t, s.Check); !slices.Equal(got, c.want) {
			t.Errorf("%s: problems at %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCarriageCheck(t *testing.T) {
	rules := func(r ...PathRule) Carriage { return Carriage{Rules: r} }
	for _, c := range []struct {
		config Carriage
		want   []string
	}{
		{Carriage{}, nil},
		{Carriage{Mode: Lab, Scheduler: "blest", Congestion: "olia", Window: 4 << 20, Ports: []uint16{443}, Paths: map[string]PathWant{"kt": {"bbr", true}}}, nil},
		{Carriage{Mode: Wire, Congestion: "bbr", Buffer: 600e3, Paths: map[string]PathWant{"kt": {"cubic", false}}}, nil},
		{Carriage{Mode: "both", Scheduler: "best", Congestion: "vegas", Window: 1, Buffer: 1, Ports: []uint16{0}},
			[]string{"mode", "scheduler", "congestion", "ports", "window", "buffer"}},
		{Carriage{Mode: Wire, Congestion: "lia", Paths: map[string]PathWant{"kt": {"olia", false}, "lgu": {}}},
			[]string{"congestion", "paths.kt.congestion", "paths.lgu"}},
		{rules(PathRule{Prefix: "10.0.0.0/8", Protocol: "udp", Port: 443, Path: "kt"}, PathRule{Protocol: "icmp", Path: "best"}), nil},
		{rules(PathRule{Prefix: "10.0.0", Protocol: "sctp", Port: 5, Path: "lgu"}),
			[]string{"rules[0].prefix", "rules[0].protocol", "rules[0].port", "rules[0].path"}},
		{rules(make([]PathRule, mostRules+1)...), append([]string{"rules"}, slices.Repeat([]string{""}, 0)...)},
	} {
		got := problems(t, func(r link.Report) { c.config.Check(site(), r) })
		if len(c.config.Rules) > mostRules {
			got = got[:1]
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: problems at %q, want %q", c.config, got, c.want)
		}
	}
	phone := site()
	phone.Near = Near{}
	if got := problems(t, func(r link.Report) { Carriage{Mode: Lab}.Check(phone, r) }); !slices.Equal(got, []string{"mode"}) {
		t.Errorf("mode lab without a near side: %q", got)
	}
}

// Window and buffer are twice what the paths hold. By hand: 53 Mbit/s for
// 700 ms loaded to 1.4 s is 9.28 MB, twice 18.55 MB; for 40 ms and 50 ms of
// queue 596 kB, twice 1.19 MB.
func TestDefaults(t *testing.T) {
	s := site()
	for _, c := range []struct {
		rtt            link.Duration
		window, buffer link.Size
	}{{0, 8 << 20, 1e6}, {40 * link.Millisecond, 8 << 20, 1_192_500}, {700 * link.Millisecond, 18_550_000, 9_937_500}} {
		s.Paths[1].RTT = c.rtt
		got := Carriage{}.withDefaults(s)
		if got.Window != c.window || got.Buffer != c.buffer {
			t.Errorf("round trip %v: window %d, buffer %d; want %d, %d", c.rtt, got.Window, got.Buffer, c.window, c.buffer)
		}
	}
	if got := (Carriage{Window: 1 << 20, Buffer: 2e6, Congestion: "lia"}).withDefaults(s); got.Window != 1<<20 || got.Buffer != 2e6 || got.Congestion != "lia" {
		t.Errorf("what is said is not kept: %+v", got)
	}
}

// The best path is the fastest that is up and no backup, then the fastest that
// is up.
func TestBest(t *testing.T) {
	backup := func(names ...string) Carriage {
		c := Carriage{Paths: map[string]PathWant{}}
		for _, n := range names {
			c.Paths[n] = PathWant{Backup: true}
		}
		return c
	}
	for _, c := range []struct {
		config Carriage
		up     []bool
		want   int
	}{
		{Carriage{}, []bool{true, true}, 1}, {Carriage{}, []bool{true, false}, 0}, {Carriage{}, []bool{false, true}, 1},
		{backup("kt"), []bool{true, true}, 0}, {backup("kt"), []bool{false, true}, 1}, {backup("kt", "skt"), []bool{true, true}, 1},
		{backup("skt"), []bool{true, false}, 0}, {Carriage{}, []bool{false, false}, 1},
	} {
		if got := site().best(c.config, c.up); got != c.want {
			t.Errorf("%+v, up %v: %d, want %d", c.config.Paths, c.up, got, c.want)
		}
	}
}

// What the kernel is told, by hand: rules of the user first, at both sides
// with the ports turned round; then the paths' own addresses, the devices, and
// all else by the best.
func TestRulesOfTheKernel(t *testing.T) {
	c := Carriage{Rules: []PathRule{{Prefix: "10.79.0.0/24", Protocol: "udp", Port: 443, Path: "skt"}, {Protocol: "icmp", Path: "best"}}}
	s := site()
	for _, v := range s.sides() {
		var got []string
		for _, r := range s.rules(c, v) {
			got = append(got, describe(r))
		}
		lan, own, dport, sport := "x0", "10.77.%.1/32", "443", ""
		if !v.near {
			lan, own, dport, sport = "y0", "10.77.%.2/32", "", "443"
		}
		addr := func(n string) string { return strings.Replace(own, "%", n, 1) }
		own6 := "fd77:2::1/128"
		if !v.near {
			own6 = "fd77:2::2/128"
		}
		want := []string{
			"2/100 iif " + lan + " from <nil> to 10.79.0.0/24 proto 17 sport " + sport + " dport " + dport + " lookup 1001",
			"2/100 iif " + lan + " from 10.79.0.0/24 to <nil> proto 17 sport " + sport + " dport " + dport + " lookup 1001",
			"2/101 iif " + lan + " from <nil> to <nil> proto 1 sport  dport  lookup 1000",
			"2/150 iif  from " + addr("1") + " to <nil> proto 0 sport  dport  lookup 1001",
			"2/150 iif  from " + addr("2") + " to <nil> proto 0 sport  dport  lookup 1002",
		}
		last := []string{"10/101 iif " + lan + " from <nil> to <nil> proto 58 sport  dport  lookup 1000", "10/150 iif  from " + own6 + " to <nil> proto 0 sport  dport  lookup 1002"}
		if v.near {
			want = append(want, "2/200 iif x0 from <nil> to <nil> proto 0 sport  dport  lookup 1000", "2/32800 iif  from <nil> to <nil> proto 0 sport  dport  lookup 1000")
			last = append(last, "10/200 iif x0 from <nil> to <nil> proto 0 sport  dport  lookup 1000", "10/32800 iif  from <nil> to <nil> proto 0 sport  dport  lookup 1000")
		} else {
			want = append(want, "2/160 iif  from <nil> to 10.78.0.0/24 proto 0 sport  dport  lookup 1000", "2/32800 iif  from <nil> to <nil> proto 0 sport  dport  lookup 1000")
			last = append(last, "10/160 iif  from <nil> to fd78::/64 proto 0 sport  dport  lookup 1000", "10/32800 iif  from <nil> to <nil> proto 0 sport  dport  lookup 1000")
		}
		if want = append(want, last...); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", v.netns, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Routes carry a path's congestion control in mode wire, but for those from end
// to end of a path, which the relays' subflows take; and the best path is one
// that is up.
func TestRoutes(t *testing.T) {
	c := Carriage{Mode: Wire, Congestion: "auto", Paths: map[string]PathWant{"kt": {Congestion: "cubic"}}}
	s := site()
	laws, chosen := map[string]string{}, ""
	for _, r := range s.routes(c, s.sides()[0], []bool{true, false}) {
		if r.to.IsValid() && r.table != unix.RT_TABLE_MAIN {
			if r.congestion != "" || !r.to.IsSingleIP() {
				t.Errorf("by the end of a path: %+v", r)
			}
			laws[r.dev] += "own "
			continue
		}
		laws[r.dev] += r.congestion + " "
		if r.table == tableBest {
			chosen = r.dev
		}
	}
	if chosen != "c1" || laws["c1"] != "bbr bbr bbr own " || laws["c2"] != "cubic cubic own cubic cubic own " {
		t.Errorf("best by %s, controls %v", chosen, laws)
	}
	c.Mode = Lab
	for _, r := range s.routes(c, s.sides()[1], []bool{true, true}) {
		if r.congestion != "" || r.table == tableBest && r.dev != "c2" {
			t.Errorf("in mode lab %+v", r)
		}
	}
}

// A process that ends at once, one that talks nonsense, and what Main makes of
// requests out of order.
func TestProcess(t *testing.T) {
	for _, command := range []*exec.Cmd{exec.Command("false"), exec.Command("sh", "-c", "echo nonsense >&3")} {
		p, err := Start(command, *site(), Carriage{})
		if err == nil {
			t.Error("nonsense was taken for a bundle")
			p.Stop()
		}
	}
	if _, err := Start(exec.Command("/nonexistent"), *site(), Carriage{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Main(theirs, nil) }()
	ours.Write([]byte(`{"verb":"status"}` + "\n"))
	buf := make([]byte, 200)
	n, err := ours.Read(buf)
	if err != nil || !strings.Contains(string(buf[:n]), "before open") {
		t.Errorf("%q, %v", buf[:n], err)
	}
	ours.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
