package emulator

import (
	"fmt"
	"testing"

	"farlink/emulator/frame"
	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/profiles"
)

// pair returns an emulator whose links a and b take the ports 1 and 2 to 9.
func pair(t *testing.T, doc string, seeds [2]uint64) *Emulator {
	t.Helper()
	return pairOf(t, [2]string{doc, doc}, seeds)
}

func pairOf(t *testing.T, docs [2]string, seeds [2]uint64) *Emulator {
	t.Helper()
	e, err := New(Spec{
		Links: []LinkSpec{{Name: "a", Profile: parse(t, docs[0]), Seed: seeds[0]}, {Name: "b", Profile: parse(t, docs[1]), Seed: seeds[1]}},
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
	return floodFrom(e, w, 0, gap, length)
}

// floodFrom is flood, beginning at an instant.
func floodFrom(e *Emulator, w link.Way, from link.Time, gap, length link.Duration) (through [2]int) {
	var log linktest.Log
	udp := func(port byte) []byte {
		return frametest.Of(frametest.Type4, frametest.IPv4(0, 17, 0, "10.0.0.1", "10.0.0.2", append([]byte{0x20, 0, 0, port, 0, 8, 0, 0}, make([]byte, 958)...)...))
	}
	frames := [2][]byte{udp(1), udp(2)}
	for now := from; now < from.Add(length); now = now.Add(gap) {
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

// What the timeline of the second link of a medium sets of the medium holds
// as if the first link's had set it: a cell of half the blocks carries half,
// a carrier without spare slots only what was agreed.
func TestTimelineOfSecondLink(t *testing.T) {
	for _, c := range []struct {
		doc, set string
		way      link.Way
	}{
		{"medium = \"m\"\n[lte]\nprb = 50\n[lte.down]\nsinr_db = 10.0\n[lte.harq]\nbler = -1.0\n", "lte.prb = 25", link.Down},
		{"medium = \"m\"\n[dama]\nfca_slots = 4\n[dama.station]\ncra = \"200kbit/s\"\nfca = true\n[up.path]\ndelay = \"250ms\"\n", "dama.fca_slots = 1", link.Up},
	} {
		rates := func(timelines ...bool) (before, behind int) {
			docs := [2]string{c.doc, c.doc}
			for i, has := range timelines {
				if has {
					docs[i] += "[[timeline]]\nat = \"10s\"\n[timeline.set]\n" + c.set + "\n"
				}
			}
			e := pairOf(t, docs, [2]uint64{1, 2})
			first := flood(e, c.way, 2*link.Millisecond, 10*link.Second)
			all := floodFrom(e, c.way, link.Time(10*link.Second), 2*link.Millisecond, 10*link.Second)
			return first[0] + first[1], all[0] + all[1]
		}
		before, behind := rates(false, true)
		_, want := rates(true, false)
		_, plain := rates(false, false)
		near(t, c.set+", the second link's against the first's", behind, want, 0.01)
		if float64(behind) > 0.9*float64(plain) {
			t.Errorf("%s: %d packets before it, %d behind it, %d without it", c.set, before, behind, plain)
		}
	}
}

// Links that describe the medium they share each otherwise are a problem.
func TestMediumOfTwoMinds(t *testing.T) {
	const cell = "medium = \"m\"\n[lte]\nprb = "
	for _, c := range []struct {
		a, b, path string
	}{
		{cell + "50\n", cell + "25\n", "links[1].profile.lte"},
		{cell + "50\n", cell + "50\n[lte.mobility]\nforwarding = \"seamless\"\n", ""},
		{"medium = \"m\"\n[dama]\nwaveform = 14\n[dama.station]\ncra = \"100kbit/s\"\n", "medium = \"m\"\n[dama]\nwaveform = 3\n[dama.station]\ncra = \"100kbit/s\"\n", "links[1].profile.dama"},
		{"medium = \"m\"\n[dama.station]\ncra = \"100kbit/s\"\n", "medium = \"m\"\n[dama.station]\ncra = \"200kbit/s\"\n", ""},
		{cell + "50\n", "[lte]\nprb = 25\n", ""},
	} {
		got := ""
		for _, p := range (Spec{Links: []LinkSpec{{Name: "a", Profile: parse(t, c.a)}, {Name: "b", Profile: parse(t, c.b)}}}).Check() {
			if p.Level == profiles.Error {
				got += p.Path
			}
		}
		if got != c.path {
			t.Errorf("%s and %s: problem at %q, want %q", c.a, c.b, got, c.path)
		}
	}
}
