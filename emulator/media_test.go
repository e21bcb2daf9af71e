package emulator

import (
	"fmt"
	"testing"

	"farlink/emulator/frame"
	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// pair returns an emulator whose links a and b take the ports 1 and 2 to 9.
func pair(t *testing.T, doc string, seeds [2]uint64) *Emulator {
	t.Helper()
	p := parse(t, doc)
	e, err := New(Spec{
		Links: []LinkSpec{{Name: "a", Profile: p, Seed: seeds[0]}, {Name: "b", Profile: p, Seed: seeds[1]}},
		Rules: []Rule{{frame.Match{Port: frame.Ports{First: 1, Last: 1}}, "a"}, {Link: "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// flood offers 1000-byte frames to both links alike and returns how many of
// each get through way w in the time.
func flood(e *Emulator, w link.Way, gap, length link.Duration) (through [2]int) {
	var log linktest.Log
	udp := func(port byte) []byte {
		return frametest.Of(frametest.Type4, frametest.IPv4(0, 17, 0, "10.0.0.1", "10.0.0.2", append([]byte{0x20, 0, 0, port, 0, 8, 0, 0}, make([]byte, 958)...)...))
	}
	frames := [2][]byte{udp(1), udp(2)}
	for now := link.Time(0); now < link.Time(length); now = now.Add(gap) {
		for i := range frames {
			e.Arrive(w, now, 0, frames[i], &log)
		}
		e.Run(w, now, &log)
	}
	for _, p := range log.Delivered() {
		through[p.Mark.Link()]++
	}
	return through
}

// Two links in one cell share it: together they carry what one carries
// alone, each a half. Two cells carry twice as much.
func TestCellShared(t *testing.T) {
	const cell = "[lte]\nprb = 25\n[lte.down]\nsinr_db = 10.0\n[lte.harq]\nbler = -1.0\n"
	apart := flood(pair(t, cell, [2]uint64{1, 2}), link.Down, link.Millisecond/2, 4*link.Second)
	shared := flood(pair(t, "medium = \"cell\"\n"+cell, [2]uint64{1, 2}), link.Down, link.Millisecond/2, 4*link.Second)
	if !pair(t, cell, [2]uint64{1, 2}).Coupled() {
		t.Error("the ways of a cell are not coupled")
	}
	near(t, "the shared cell's total", shared[0]+shared[1], apart[0], 0.02)
	near(t, "the halves", shared[0], shared[1], 0.02)
	near(t, "the two cells", apart[0], apart[1], 0.02)
}

// Two stations on a return carrier whose slots are fewer than they ask for.
func TestReturnCarrierShared(t *testing.T) {
	const doc = "[dama.station]\nrbdc_max = \"900kbit/s\"\nperiod = 1\n[up.path]\ndelay = \"250ms\"\n"
	apart := flood(pair(t, doc, [2]uint64{1, 2}), link.Up, 2*link.Millisecond, 20*link.Second)
	shared := flood(pair(t, "medium = \"carrier\"\n"+doc, [2]uint64{1, 2}), link.Up, 2*link.Millisecond, 20*link.Second)
	near(t, "the shared carrier's total", shared[0]+shared[1], apart[0], 0.05)
	near(t, "the halves", shared[0], shared[1], 0.05)
}

func near(t *testing.T, what string, got, want int, tolerance float64) {
	t.Helper()
	if d := float64(got - want); want < 100 || d > tolerance*float64(want) || -d > tolerance*float64(want) {
		t.Errorf("%s: %d, want %d ± %g %%", what, got, want, tolerance*100)
	}
}

// One seed, or one medium, is one sky: what rain does to one carrier it does
// to the other.
func TestSkyShared(t *testing.T) {
	doc := "[down.carrier]\nsymbol_rate = 1e6\n[down.carrier.downlink]\nes_n0 = 9.0\nfrequency = 20.0\n" +
		"[down.carrier.downlink.rain]\nrate = 60.0\nrainy = 5.0\nelevation = 40.0\nlat = 37.0\nrain_height = 4.3\nbias = 2.5\n"
	rain := func(e *Emulator, at link.Time) (db [2]float64) {
		e.Probes(link.Down, at, func(i int, p link.Probe) {
			if p.Name == "rain_db" {
				db[i] = p.Value
			}
		})
		return db
	}
	differ := 0
	for at := link.Time(0); at < link.Time(20000*link.Second); at += link.Time(1000 * link.Second) {
		together := rain(pair(t, "medium = \"m\"\n"+doc, [2]uint64{1, 2}), at)
		if together[0] != together[1] {
			t.Fatalf("at %v: %v dB under one sky", at, together)
		}
		if apart := rain(pair(t, doc, [2]uint64{1, 2}), at); apart[0] != apart[1] {
			differ++
		}
	}
	if differ == 0 {
		t.Error("two skies never differ")
	}
}

// Change a link of any kind into one of any other: nothing is lost.
func TestSucceedAcrossKinds(t *testing.T) {
	docs := []string{
		"[up.queue]\nrate = \"5Mbit/s\"\nlimit = \"5MB\"\n[up.path]\ndelay = \"100ms\"\n",
		"[lte.up]\nsinr_db = 15.0\n[lte.rlc]\nbuffer = \"5MB\"\n",
		"[dama.station]\ncra = \"800kbit/s\"\n[dama.station.queue]\nlimit = \"5MB\"\n[up.path]\ndelay = \"250ms\"\n",
		"[up.carrier]\nsymbol_rate = 2e6\n[up.carrier.downlink]\nes_n0 = 9.0\n[up.queue]\nlimit = \"5MB\"\n[up.path]\ndelay = \"250ms\"\n",
		"[leo]\nup = \"10Mbit/s\"\n[up.queue]\nlimit = \"5MB\"\n",
		"[up.wlan]\nrate = \"4Mbit/s\"\nlimit = \"5MB\"\n",
		"[up.delivery]\ntimes_ms = [1, 2, 3, 7]\nlimit = \"5MB\"\n",
		"[up.train]\nline = [{at = \"0\", delay = \"20ms\", offsets = [\"0\"]}, {at = \"1s\", delay = \"30ms\", offsets = [\"0\", \"1ms\"]}, {at = \"2s\", delay = \"20ms\", offsets = [\"0\"]}]\n" +
			"[up.train.heavy]\ntimes_ms = [1, 2, 3, 7]\nlimit = \"5MB\"\n",
	}
	for i := range docs {
		for j := range docs {
			t.Run(fmt.Sprint(i, " to ", j), func(t *testing.T) { change(t, docs[i], docs[j]) })
		}
	}
}

// change runs packets through a link that becomes another, twice.
func change(t *testing.T, before, after string) {
	s := &wayStage{one(t, parse(t, before), 1), link.Up}
	var log linktest.Log
	arrivals := linktest.Arrivals(9, 600, link.Millisecond)
	for k, p := range arrivals {
		s.Run(p.When, &log)
		s.Put(p, &log)
		if k == 200 || k == 400 {
			next := one(t, parse(t, after), 1)
			next.Succeed(s.e, link.Up, p.When)
			s.e = next
		}
	}
	s.Run(link.Time(60*link.Second), &log)
	linktest.Conserved(t, &log, len(arrivals), s)
	linktest.Ordered(t, &log)
	if n, _ := s.Held(); n > 0 || len(log.Delivered()) != len(arrivals) {
		t.Errorf("%d delivered, %d held of %d", len(log.Delivered()), n, len(arrivals))
	}
}
