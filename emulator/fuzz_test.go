package emulator

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/profiles"
)

// Whatever document has no problem makes a link, and every packet put into
// it meets one fate.
func FuzzLink(f *testing.F) {
	for _, name := range profiles.Names() {
		s, err := profiles.Lookup(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Text)
	}
	f.Add([]byte("[lte]\nprb = 50\n" + steps("lte.prb = 25", "lte.carriers = 3", "lte.down.shadowing_db = 3.0", "lte.access.grants = \"prescheduled\"", "weight = 3")))
	f.Add([]byte("[dama.station]\ncra = \"64kbit/s\"\nrbdc_max = \"128kbit/s\"\nes_n0_db = 5.0\n[up.path]\ndelay = \"250ms\"\n" + steps("dama.station.cra = \"32kbit/s\"", "dama.station.es_n0_db = 2.0", "dama.sharing = \"fair\"")))
	f.Add([]byte("[leo]\ndown = \"12Mbit/s\"\nup = \"6Mbit/s\"\n" + steps("leo.up = \"9Mbit/s\"", "leo.gateway = 500.0")))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, _ := profiles.Parse(doc)
		if p == nil || costly(p) {
			return
		}
		e, err := New(Spec{Links: []LinkSpec{{Name: "main", Profile: p, Seed: 1}}})
		if err != nil {
			t.Fatalf("a profile without a problem: %v", err)
		}
		for _, w := range link.Ways {
			var log linktest.Log
			s := &wayStage{e, w}
			arrivals := linktest.Arrivals(1, 40, 5*link.Millisecond)
			for _, p := range arrivals {
				s.Run(p.When, &log)
				s.Put(p, &log)
			}
			for i := range link.Time(20) {
				s.Run(i*link.Time(100*link.Millisecond), &log)
			}
			linktest.Conserved(t, &log, len(arrivals), s)
			e.Probes(w, link.Time(2*link.Second), func(int, link.Probe) {})
			e.Capacity(w, 0, link.Time(2*link.Second))
			if e.Bound(w) < 0 || e.Promise(w, 0) < 0 {
				t.Errorf("bound %v, promise %v", e.Bound(w), e.Promise(w, 0))
			}
		}
	})
}

// costly reports what is allowed but takes long: crowds, changes each
// microsecond.
func costly(p *profiles.Profile) bool {
	for i := range p.Timeline {
		if e := &p.Timeline[i]; e.Every > 0 && e.Every < link.Millisecond || e.Step > 0 && e.Step < link.Millisecond {
			return true
		}
	}
	return p.LTE != nil && p.LTE.Background.UEs > 50 || p.DAMA != nil && p.DAMA.Complete().Superframe < 5*link.Millisecond
}
