package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/profiles"
)

// liar says of an emulator's rate what is not so.
type liar struct {
	modelled
	times float64
}

func (l liar) Pace(w link.Way, i int) link.Pace {
	p := l.modelled.Pace(w, i)
	p.Least, p.Most = link.Rate(float64(p.Least)*l.times), link.Rate(float64(p.Most)*l.times)
	return p
}

// exit is a Sink that counts what leaves.
type exit struct {
	checker
	seen []checkView // of link 0, by emulator that has been succeeded
}

func (e *exit) Deliver(p link.Packet)            { e.left(p) }
func (e *exit) Lose(p link.Packet, c link.Cause) { e.lost(p, c.Reason) }
func (e *exit) Copy(p link.Packet)               { e.copied(p) }
func (e *exit) turn(em Emulator, w link.Way, v *wayView) {
	if len(e.v) > 0 {
		e.seen = append(e.seen, e.v[0])
	}
	e.begin(em, w, v)
}

// sum adds up what was seen of all emulators.
func (e *exit) sum() *checkView {
	s := e.v[0]
	for _, v := range e.seen {
		s.Paced, s.Slow, s.Fast = s.Paced+v.Paced, s.Slow+v.Slow, s.Fast+v.Fast
		s.Balanced, s.Uneven, s.Out = s.Balanced+v.Balanced, s.Uneven+v.Uneven, s.Out+v.Out
	}
	return &s
}

func profileOf(t *testing.T, text string) []byte {
	t.Helper()
	p, problems := profiles.Parse([]byte("name = \"test\"\n" + text))
	if profiles.Fatal(problems) {
		t.Fatal(problems)
	}
	return documentOf(p)
}

// drive offers frames of changing sizes for 8 s of virtual time, at a rate of
// bit/s that pauses for 1 s in every 3, publishes each 100 ms and changes to
// the next of the documents each 2.3 s.
func drive(t *testing.T, w link.Way, times, rate float64, docs ...[]byte) *checkView {
	t.Helper()
	make1 := func(i int) Emulator {
		em, err := buildAny(docs[i%len(docs)])
		if err != nil {
			t.Fatal(err)
		}
		if times != 1 {
			return liar{em.(modelled), times}
		}
		return em
	}
	var v wayView
	var out exit
	em, frame, changes := make1(0), make([]byte, maxFrame), 0
	out.turn(em, w, &v)
	sizes := []int{1514, 60, 590, 1514, 9000, 200}
	at, n := 0.0, 0
	for now := link.Time(0); now < 8e9; now += link.Time(100 * link.Microsecond) {
		for ; at <= float64(now); n++ {
			size := sizes[n*n%len(sizes)]
			if now/1e9%3 != 2 {
				em.Arrive(w, link.Time(at), 0, frame[:size], &out)
			}
			at += float64(size) * 8e9 / rate
		}
		em.Run(w, now, &out)
		if now%100e6 == 0 {
			out.judge(now, true)
		}
		if len(docs) > 1 && now > link.Time(changes+1)*2.3e9 {
			changes++
			next := make1(changes)
			next.Succeed(em, w, now)
			em = next
			out.turn(em, w, &v)
		}
	}
	return out.sum()
}

func TestRateKept(t *testing.T) {
	for name, docs := range map[string][]string{
		"rate":           {"[up.queue]\nrate = \"8Mbit/s\"\n"},
		"slow":           {"[up.queue]\nrate = \"64kbit/s\"\nlimit = \"64kB\"\n"},
		"delay":          {"[up.queue]\nrate = \"8Mbit/s\"\n[up.path]\ndelay = \"250ms\"\n"},
		"loss":           {"[up.queue]\nrate = \"8Mbit/s\"\n[up.loss]\nprobability = 0.1\n"},
		"codel":          {"[up.queue]\nrate = \"8Mbit/s\"\ndiscipline = \"codel\"\nlimit = \"1MB\"\n"},
		"layer 1":        {"[up.queue]\nrate = \"8Mbit/s\"\nframing = \"l1\"\n"},
		"ATM":            {"[up.queue]\nrate = \"8Mbit/s\"\ncell = \"48B\"\ncell_overhead = \"5B\"\n"},
		"slower":         {"[up.queue]\nrate = \"8Mbit/s\"\n[up.path]\ndelay = \"250ms\"\n", "[up.queue]\nrate = \"2Mbit/s\"\n"},
		"from jitter":    {"[up.path]\ndelay = \"100ms\"\n[up.path.jitter]\ndistribution = \"normal\"\nspread = \"10ms\"\n", "[up.queue]\nrate = \"4Mbit/s\"\n"},
		"loss, then not": {"[up.queue]\nrate = \"4Mbit/s\"\n[up.loss]\nprobability = 0.3\n[up.path]\ndelay = \"200ms\"\n", "[up.queue]\nrate = \"4Mbit/s\"\n[up.path]\ndelay = \"200ms\"\n"},
		"duplicates":     {"[up.queue]\nrate = \"8Mbit/s\"\n[up.duplicate]\nprobability = 0.2\ndelay = \"3ms\"\n"},
		"jitter":         {"[up.queue]\nrate = \"8Mbit/s\"\n[up.path]\ndelay = \"20ms\"\n[up.path.jitter]\ndistribution = \"uniform\"\nspread = \"5ms\"\n"},
		"reorder":        {"[up.queue]\nrate = \"8Mbit/s\"\n[up.reorder]\nprobability = 0.1\ndelay = \"5ms\"\n"},
		"timeline":       {"[up.queue]\nrate = \"8Mbit/s\"\n[up.path]\ndelay = \"50ms\"\n[[timeline]]\nat = \"3s\"\n[timeline.set.up.queue]\nrate = \"1Mbit/s\"\n[timeline.set.up.path]\ndelay = \"10ms\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var written [][]byte
			for _, text := range docs {
				written = append(written, profileOf(t, text))
			}
			v := drive(t, link.Up, 1, 12e6, written...)
			if v.Slow+v.Fast+v.Uneven > 0 || v.Paced < 10 || v.Balanced < 60 {
				t.Errorf("%d intervals, %d slow, %d fast, uneven %d of %d, the last %v, asked %v", v.Paced, v.Slow, v.Fast, v.Uneven, v.Balanced, link.Rate(v.MissBps), link.Rate(v.AskedBps))
			}
		})
	}
}

// Every shipped profile keeps what it promises of rates and balances, in both
// ways, with as much offered as its model ever carries, and half as much again.
func TestEveryProfileKeepsItsRate(t *testing.T) {
	all, err := profiles.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, d := range all {
		for _, w := range link.Ways {
			peak, _ := d.Profile.Peak(w)
			if peak == 0 || peak > 100e6 {
				peak = 60e6
			}
			v := drive(t, w, 1, 1.5*float64(peak), documentOf(d.Profile))
			if v.Slow+v.Fast+v.Uneven > 0 || v.Balanced < 60 {
				t.Errorf("%s %v: %d spans, %d slow, %d fast, uneven %d of %d; the last %v, asked %v", d.Name, w, v.Paced, v.Slow, v.Fast, v.Uneven, v.Balanced,
					link.Rate(v.MissBps), link.Rate(v.AskedBps))
			}
			if v.Paced > 0 {
				held++
			}
		}
	}
	if held < len(all) {
		t.Errorf("of %d profiles %d ways had a rate to hold against a promise", len(all), held)
	}
	t.Logf("%d of %d ways had a rate to hold against a promise", held, 2*len(all))
}

// What is claimed 1 % above or below what is so is found out; an idle link is
// never called slow.
func TestRateNotKept(t *testing.T) {
	doc := profileOf(t, "[up.queue]\nrate = \"8Mbit/s\"\n[up.path]\ndelay = \"100ms\"\n")
	if v := drive(t, link.Up, 1.01, 12e6, doc); v.Slow < 30 || v.Fast > 0 || v.AskedBps != 8_080_000 || v.MissBps/1000 != 8000 {
		t.Errorf("claimed faster: %d slow, %d fast of %d, %d asked %d", v.Slow, v.Fast, v.Paced, v.MissBps, v.AskedBps)
	}
	if v := drive(t, link.Up, 0.99, 12e6, doc); v.Fast < 30 || v.Slow > 0 {
		t.Errorf("claimed slower: %d slow, %d fast of %d", v.Slow, v.Fast, v.Paced)
	}
	if v := drive(t, link.Up, 1.01, 4e6, doc); v.Slow > 0 {
		t.Errorf("not loaded: %d slow of %d", v.Slow, v.Paced)
	}
}

// A server that stands still with frames waiting is found out as well.
func TestStandingStill(t *testing.T) {
	var v checkView
	var p pacer
	for now := link.Time(0); now <= 1e9; now += 1e8 {
		p.judge(&v, link.Pace{Least: 1e6, Most: 1e6, Busy: 5e8}, now)
	}
	// maxFrame takes 74 ms at 1 Mbit/s, so 0.6 s is the first.
	if v.Slow != 5 || v.MissBps != 0 {
		t.Errorf("%d slow at %d bit/s, want 5 at 0", v.Slow, v.MissBps)
	}
}

// On the wire: an emulator that serves at another rate than it says makes
// Stats say so, and one that keeps it does not.
func TestNotEffectiveRate(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{})
	for _, c := range []struct {
		serves, says link.Rate
		want         string
	}{
		{4e6, 4e6, ""},
		{4e6, 8e6, "way up: 4Mbit/s in "},
		{8e6, 4e6, "way up: 8Mbit/s in "},
	} {
		doc := fmt.Appendf(nil, `{"Rate":%q,"Says":%q}`, c.serves, c.says)
		if _, err := r.Apply(doc); err != nil {
			t.Fatal(err)
		}
		netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 1000, Rate: 1200, For: 600 * time.Millisecond})
		time.Sleep(150 * time.Millisecond)
		s := r.Stats()
		if got := s.NotEffective; (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) || s.Ways[link.Up].Checks[0].Paced == 0 {
			t.Errorf("serves %v, says %v: %q of %d intervals, want %q…", c.serves, c.says, got, s.Ways[link.Up].Checks[0].Paced, c.want)
		}
		time.Sleep(700 * time.Millisecond) // until what waits is out
	}
}
