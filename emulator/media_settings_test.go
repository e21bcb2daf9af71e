package emulator

import (
	"fmt"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// saturated drives a link with 24 Mbit/s for 8 s and returns what it delivers,
// bit/s, from the second to the fourth second and from the sixth to the eighth.
func saturated(t *testing.T, doc string, w link.Way) (before, behind float64) {
	t.Helper()
	s := &wayStage{one(t, parse(t, doc), 1), w}
	var packets []link.Packet
	for at := link.Time(0); at < link.Time(8*link.Second); at = at.Add(500 * link.Microsecond) {
		packets = append(packets, link.Packet{When: at, Seq: uint64(len(packets)), Body: link.Body{Size: 1514}})
	}
	log := linktest.Drive(s, packets, linktest.EventByEvent(s), link.Time(60*link.Second))
	linktest.Ordered(t, log)
	if n, _ := s.Held(); len(log.Fates)+n < len(packets) {
		t.Errorf("%d fates and %d held of %d packets", len(log.Fates), n, len(packets))
	}
	for _, p := range log.Delivered() {
		switch at := p.When.Seconds(); {
		case at >= 2 && at < 4:
			before += 4 * float64(p.Size)
		case at >= 6 && at < 8:
			behind += 4 * float64(p.Size)
		}
	}
	return before, behind
}

// What a timeline sets of a cell, a carrier, orbits or a return link changes
// at its instant what the link carries, to what a link that has had it from
// the beginning carries; nothing is lost for it.
func TestTimelineSetsMedia(t *testing.T) {
	const (
		cell    = "[lte]\nprb = 50\n[lte.down]\nsinr_db = 15.0\n[lte.up]\nsinr_db = 15.0\n[lte.access]\ngrants = \"prescheduled\"\n"
		orbits  = "[leo]\ndown = \"12Mbit/s\"\nup = \"6Mbit/s\"\n"
		fiveG   = "[nr]\nprb = 51\nshare = 0.3\n[nr.down]\nsinr = 10.0\n[nr.up]\nsinr = 10.0\n"
		returns = "[dama]\nsymbol_rate_bd = 10000000\nfca_slots = 20\n[dama.station]\ncra = \"4Mbit/s\"\nrbdc_max = \"2Mbit/s\"\n[up.path]\ndelay = \"250ms\"\n"
	)
	for _, c := range []struct {
		doc, key, value string
		way             link.Way
	}{
		{cell, "lte.prb", "25", link.Down},
		{cell, "lte.down.sinr_db", "7.0", link.Down},
		{cell, "lte.background.down_share", "0.5", link.Down},
		{cell, "lte.layers", "2", link.Down},
		{cell, "lte.carriers", "2", link.Down},
		{orbits, "leo.down", `"6Mbit/s"`, link.Down},
		{fiveG, "nr.share", "0.1", link.Down},
		{fiveG, "nr.up.sinr", "0.0", link.Up},
		{returns, "dama.station.rbdc_max", `"3Mbit/s"`, link.Up},
		{returns, "dama.station.cra", `"1Mbit/s"`, link.Up},
		{returns, "dama.station.fca", "true", link.Up},
	} {
		t.Run(c.key, func(t *testing.T) {
			set := fmt.Sprintf("[[timeline]]\nat = \"4s\"\nset = {%q = %s}\n", c.key, c.value)
			before, behind := saturated(t, c.doc+set, c.way)
			was, _ := saturated(t, c.doc, c.way)
			// From the first instant on: set at 0.
			_, want := saturated(t, c.doc+fmt.Sprintf("[[timeline]]\nat = \"0\"\nset = {%q = %s}\n", c.key, c.value), c.way)
			if before < 0.99*was || before > 1.01*was {
				t.Errorf("before it %.0f bit/s, without it %.0f", before, was)
			}
			if behind < 0.97*want || behind > 1.03*want || behind > 0.95*was && behind < 1.05*was {
				t.Errorf("behind it %.0f bit/s, always so %.0f, never so %.0f", behind, want, was)
			}
		})
	}
}

// Settings change with packets inside, and the fates do not depend on when the
// driver looks; all packets arrive, in order.
func TestTimelineSetsMediaHitlessly(t *testing.T) {
	for name, doc := range map[string]string{
		"cell": "[lte]\nprb = 50\n[lte.down]\nsinr_db = 15.0\nshadowing_db = 6.0\n" + steps("lte.prb = 25", "lte.carriers = 3", "lte.down.sinr_db = 8.0",
			"lte.down.shadowing_db = 3.0", "lte.down.speed_kmh = 90.0", "lte.access.grants = \"prescheduled\"", "lte.harq.bler = 0.3",
			"lte.drx.long_cycle = \"40ms\"\nlte.drx.on_duration = \"10ms\"\nlte.drx.inactivity = \"10ms\"", "lte.access.grants = \"dynamic\"", "lte.background.ues = 3\nlte.background.activity = 0.5", "weight = 3"),
		"orbits": "[leo]\ndown = \"12Mbit/s\"\nup = \"6Mbit/s\"\n" + steps("leo.up = \"9Mbit/s\"", "leo.ground_least = \"30ms\"\nleo.ground_most = \"40ms\"", "leo.spread = 2.0"),
		"5G":     "[up.queue]\nlimit = \"10MB\"\n[nr]\nprb = 51\n[nr.down]\nsinr = 10.0\n[nr.up]\nsinr = 10.0\n" + steps("nr.share = 0.3", "nr.pattern = \"DDDSU\"", "nr.up.sinr = 3.0", "nr.request = \"10ms\""),
		"return": "[dama]\nsymbol_rate_bd = 10000000\n[dama.station]\ncra = \"4Mbit/s\"\nrbdc_max = \"2Mbit/s\"\nvbdc_max = \"500kB\"\n" +
			steps("dama.station.cra = \"2Mbit/s\"", "dama.station.agent = \"predict\"", "dama.station.vbdc_max = \"200kB\"", "dama.sharing = \"fair\"", "dama.station.period = 3"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range link.Ways {
				arrivals := linktest.Arrivals(4, 800, 4*link.Millisecond)
				log := linktest.Independent(t, func() link.Stage { return &wayStage{one(t, parse(t, doc), 3), w} }, arrivals, link.Time(40*link.Second))
				linktest.Ordered(t, log)
				if n := len(log.Delivered()); n != len(arrivals) {
					t.Errorf("%v: %d of %d delivered", w, n, len(arrivals))
				}
			}
		})
	}
}

// steps is a timeline that sets one thing after the other, 97 ms apart.
func steps(sets ...string) (doc string) {
	for i, s := range sets {
		doc += fmt.Sprintf("[[timeline]]\nat = \"%dms\"\n[timeline.set]\n%s\n", 300+97*i, s)
	}
	return doc
}
