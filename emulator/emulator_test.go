package emulator

import (
	"bytes"
	"farlink/emulator/frame/frametest"
	"fmt"
	"strings"
	"testing"

	"farlink/emulator/frame"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/profiles"
)

// parse returns the profile of a document, its name given.
func parse(t testing.TB, doc string) *profiles.Profile {
	t.Helper()
	p, problems := profiles.Parse([]byte("name = \"test\"\n" + doc))
	if p == nil {
		t.Fatalf("%v in\n%s", problems, doc)
	}
	return p
}

func one(t testing.TB, p *profiles.Profile, seed uint64) *Emulator {
	t.Helper()
	e, err := New(Spec{Links: []LinkSpec{{Name: "main", Profile: p, Seed: seed}}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// wayStage is one way of an emulator as a Stage, so that linktest drives it.
type wayStage struct {
	e *Emulator
	w link.Way
}

var blank [1 << 16]byte

func (s *wayStage) Put(p link.Packet, out link.Sink) {
	s.e.Arrive(s.w, p.When, p.Ref, blank[:p.Size], out)
}
func (s *wayStage) Next() link.Time                  { return s.e.Next(s.w) }
func (s *wayStage) Run(now link.Time, out link.Sink) { s.e.Run(s.w, now, out) }
func (s *wayStage) Held() (int, int)                 { return s.e.Held(s.w) }

// Every shipped link, both ways: the fates of packets depend on arrivals and
// seed alone, and none is unaccounted for.
func TestShippedIndependent(t *testing.T) {
	all, err := profiles.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, w := range link.Ways {
			t.Run(fmt.Sprint(s.Name, " ", w), func(t *testing.T) {
				arrivals := linktest.Arrivals(7, 800, link.Millisecond)
				log := linktest.Independent(t, func() link.Stage {
					return &wayStage{one(t, s.Profile, 7), w}
				}, arrivals, link.Time(60*link.Second))
				if len(log.Fates) < len(arrivals) {
					t.Errorf("%d fates of %d packets", len(log.Fates), len(arrivals))
				}
			})
		}
	}
}

// counted checks what the rules, and the links behind them, say of the frames.
func counted(t *testing.T, e *Emulator) {
	t.Helper()
	var counts []uint64
	e.Rules(link.Up, func(_ int, c Count) { counts = append(counts, c.Packets) })
	figures := map[string]float64{}
	e.Figures(link.Up, 0, func(p link.Probe) { figures[p.Name] = p.Value })
	if _, ok := figures["b:queue_bytes"]; !ok {
		t.Errorf("no figure of the second link: %v", figures)
	}
	if figures["rule_1_packets"] != 1 || figures["passed_packets"] != 2 || len(figures) < 10 {
		t.Errorf("figures %v", figures)
	}
	if fmt.Sprint(counts) != "[1 1 1 0 2]" {
		t.Errorf("counts %v, want 1 1 1 0, 2 passed", counts)
	}
}

// A frame that passes all links leaves at once, with its own numbers.
func TestRules(t *testing.T) {
	p := parse(t, "[up.path]\ndelay = \"10ms\"")
	var spec Spec
	problems := profiles.ReadJSON([]byte(`{
		"rules": [
			{"vlan": "5", "link": "a"},
			{"prefix": "10.0.0.2", "port": "443", "protocol": "udp", "link": "b"},
			{"dscp": "46", "link": "pass"},
			{"mac": "02:00:00:00:00:0a", "from": "b", "link": "a"}],
		"default": "pass"}`), &spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	spec.Links = []LinkSpec{{Name: "a", Profile: p}, {Name: "b", Profile: p, Seed: 1}}
	e, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	udp := frametest.IPv4(46<<2, 17, 0, "10.0.0.1", "10.0.0.2", frametest.Ports...)
	tcp := frametest.IPv4(46<<2, 6, 0, "10.0.0.1", "10.0.0.2", frametest.Ports...)
	arp := append([]byte{8, 6}, make([]byte, 46)...)
	var log linktest.Log
	for i, c := range []struct {
		way   link.Way
		frame []byte
		link  int
	}{
		{link.Up, frametest.Of(frametest.VLAN5, frametest.Type4, udp), 0},
		{link.Up, frametest.Of(frametest.Type4, udp), 1},
		{link.Up, frametest.Of(frametest.Type4, tcp), Passed},
		{link.Up, frametest.Of(arp), Passed}, // rule 3 is of port b only
		{link.Down, frametest.Of(arp), 0},
		{link.Down, nil, Passed},
	} {
		log.Fates = nil
		e.Arrive(c.way, 0, uint32(i), c.frame, &log)
		e.Run(c.way, link.Time(link.Second), &log)
		if len(log.Fates) != 1 {
			t.Fatalf("frame %d: %d fates", i, len(log.Fates))
		}
		got := log.Fates[0].Packet
		want := link.Time(0)
		if c.way == link.Up && c.link != Passed {
			want = link.Time(10 * link.Millisecond)
		}
		if got.Mark.Link() != c.link || got.When != want || got.Ref != uint32(i) {
			t.Errorf("frame %d: link %d at %d, want %d at %d", i, got.Mark.Link(), got.When, c.link, want)
		}
	}
	counted(t, e)
}

func TestSpecProblems(t *testing.T) {
	_, problems := ParseSpec([]byte(`{
		"links": [{"name": "a"}, {"name": "a", "profile": {"down": {"path": {"delay": "3h"}}}}, {"name": "pass", "profile": {}}],
		"rules": [{"link": "c", "vlan": "4095"}, {"port": "5-4", "prefix": "10.0.0", "mac": "1:2", "protocol": "ip", "dscp": "64", "from": "c"}],
		"default": "d"}`))
	if len(problems) != 7 { // those of reading come first
		t.Errorf("%d problems of reading, want 7: %v", len(problems), problems)
	}
	_, problems = ParseSpec([]byte(`{
		"links": [{"name": "a"}, {"name": "a", "profile": {"down": {"path": {"delay": "3h"}}}}, {"name": "pass", "profile": {}}],
		"rules": [{"link": "c"}], "default": "d"}`))
	if len(problems) != 6 {
		t.Errorf("%d problems, want 6: %v", len(problems), problems)
	}
}

// A spec comes through its document as it was.
func TestSpecDocument(t *testing.T) {
	s, err := profiles.Lookup("geo/qirse-sat")
	if err != nil {
		t.Fatal(err)
	}
	doc := []byte(`{"links":[{"name":"main","seed":18446744073709551615,"profile":` + string(s.JSON()) + `}],` +
		`"rules":[{"from":"a","vlan":"none","mac":"02:00:00:00:00:0a","prefix":"10.0.0.0/8","dscp":"0","protocol":"sctp","port":"5000-5100","link":"main"}],"default":"pass"}`)
	spec, problems := ParseSpec(doc)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := spec.JSON(); !bytes.Equal(got, doc) {
		t.Errorf("read back as\n%s\nwant\n%s", got, doc)
	}
}

// Packets of two links leave in order of time, whichever link is first.
func TestLinksMerge(t *testing.T) {
	a := parse(t, "[up.path]\ndelay = \"10ms\"")
	b := parse(t, "[up.path]\ndelay = \"7ms\"\n[up.queue]\nrate = \"4Mbit/s\"")
	spec := Spec{Links: []LinkSpec{{Name: "a", Profile: a}, {Name: "b", Profile: b}}}
	if problems := profiles.ReadJSON([]byte(`{"rules":[{"vlan":"5","link":"b"}]}`), &spec); problems != nil {
		t.Fatal(problems)
	}
	e, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	var log linktest.Log
	for i := range 100 {
		frame := frametest.Of(frametest.Type4, make([]byte, 500))
		if i%2 == 0 {
			frame = frametest.Of(frametest.VLAN5, frametest.Type4, make([]byte, 500))
		}
		e.Arrive(link.Up, link.Time(i)*link.Time(link.Millisecond), 0, frame, &log)
	}
	e.Run(link.Up, link.Time(link.Second), &log)
	if len(log.Fates) != 100 {
		t.Fatalf("%d fates", len(log.Fates))
	}
	for i := 1; i < 100; i++ {
		if log.Fates[i].Packet.When < log.Fates[i-1].Packet.When {
			t.Fatalf("packet %d leaves before the one ahead", i)
		}
	}
}

// ECN capability is read from the frame, and congestion written into it.
func TestECN(t *testing.T) {
	p := parse(t, "[up.queue]\nrate = \"1Mbit/s\"\ndiscipline = \"codel\"\necn = true\nlimit = \"1MB\"")
	e := one(t, p, 1)
	var log linktest.Log
	for i := range 400 {
		frame := frametest.Of(frametest.Type4, frametest.IPv4(1, 6, 0, "10.0.0.1", "10.0.0.2", make([]byte, 966)...))
		e.Arrive(link.Up, link.Time(i)*link.Time(4*link.Millisecond), uint32(i), frame, &log)
	}
	e.Run(link.Up, link.Time(link.Second*60), &log)
	marked := 0
	for _, p := range log.Delivered() {
		frame := frametest.Of(frametest.Type4, frametest.IPv4(1, 6, 0, "10.0.0.1", "10.0.0.2", make([]byte, 966)...))
		e.Finish(p, link.Up, frame)
		if frame[15]&3 == 3 {
			marked++
		}
	}
	if marked == 0 || log.Lost(link.EarlyDropped) > 0 || len(log.Fates) != 400 {
		t.Errorf("%d marked, %d dropped, %d fates", marked, log.Lost(link.EarlyDropped), len(log.Fates))
	}
}

func TestNoAllocs(t *testing.T) {
	p := parse(t, `[up]
mtu = "9000B"
[up.queue]
rate = "20Mbit/s"
discipline = "codel"
[up.loss]
probability = 0.01
[up.loss.gilbert]
loss = 0.01
burst = 3.0
[up.corrupt]
probability = 0.01
[up.path]
delay = "300ms"
[up.path.jitter]
distribution = "normal"
spread = "2ms"
half_life = "1s"
[up.reorder]
probability = 0.01
delay = "5ms"
[up.duplicate]
probability = 0.01`)
	linktest.NoAllocs(t, &wayStage{one(t, p, 1), link.Up}, link.Millisecond)
	e := one(t, p, 1)
	e.spec.Rules = []Rule{{frame.Match{Port: frame.Ports{First: 1, Last: 2}}, "main"}, {Link: "main"}}
	e.targets = []int{0, 0}
	e.ways[link.Up].hits = make([]Count, 2)
	bytes := frametest.Of(frametest.QinQ7, frametest.VLAN5, frametest.Type6, frametest.IPv6(0, 17, "fd00::1", "fd00::2", frametest.Ports...))
	var log nothing
	if n := testing.AllocsPerRun(5000, func() { e.Arrive(link.Up, 0, 0, bytes, &log) }); n != 0 {
		t.Errorf("%v allocations per arrival", n)
	}
}

type nothing struct{}

func (nothing) Deliver(link.Packet)          {}
func (nothing) Lose(link.Packet, link.Cause) {}
func (nothing) Copy(link.Packet)             {}

// 300 ms · 20 Mbit/s / 8 = 750,000 B on the way, and 25 packets of 1514 B;
// without a rate the line's own: 300 ms · 1 Gbit/s / 8.
func TestBound(t *testing.T) {
	s, err := profiles.Lookup("geo/qirse-sat")
	if err != nil {
		t.Fatal(err)
	}
	if got := one(t, s.Profile, 0).Bound(link.Down); got != 750000+25*1514 {
		t.Errorf("bound %d, want %d", got, 750000+25*1514)
	}
	p := parse(t, "[down.path]\ndelay = \"300ms\"")
	e, err := New(Spec{Line: link.GigabitPerSecond, Links: []LinkSpec{{Name: "main", Profile: p}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Bound(link.Down); got != 37500000 {
		t.Errorf("bound %d, want 37500000", got)
	}
	// 400 ms at 20 Mbit/s / 8 = 1 MB, and a queue for 700 ms at the base's
	// 10 Mbit/s, or the 800 ms at 20 Mbit/s that the timeline makes of it.
	p = parse(t, "[down.queue]\nrate = \"10Mbit/s\"\n[down.path]\ndelay = \"300ms\"\n[up.path]\ndelay = \"400ms\"\n"+
		"[[timeline]]\nset = {\"down.queue.rate\" = \"20Mbit/s\", \"down.path.delay\" = \"400ms\"}")
	if got := one(t, p, 0).Bound(link.Down); got != 1000000+2000000 {
		t.Errorf("bound over a timeline %d, want 3000000", got)
	}
	if down, up := e.Promise(link.Down, 0), e.Promise(link.Up, 0); down != 300*link.Millisecond || up != 0 {
		t.Errorf("promises %v and %v", down, up)
	}
}

func TestFigures(t *testing.T) {
	s, err := profiles.Lookup("geo/qirse-sat")
	if err != nil {
		t.Fatal(err)
	}
	e := one(t, s.Profile, 0)
	c, ok := e.Capacity(link.Down, 0, 0)
	if !ok || c.Rate != 20*link.MegabitPerSecond || c.RTT != 600*link.Millisecond {
		t.Errorf("capacity %+v, %v", c, ok)
	}
	seen := map[string]bool{}
	e.Figures(link.Down, 0, func(p link.Probe) { seen[p.Name] = true })
	if !seen["queue_bytes"] || !seen["rate_bps"] {
		t.Errorf("probes %v", seen)
	}
	if got := strings.Join(e.Stages(link.Up, 0), " "); !strings.HasPrefix(got, "gate queue loss") {
		t.Errorf("stages %s", got)
	}
}
