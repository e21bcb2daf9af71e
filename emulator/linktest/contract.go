package linktest

import (
	"testing"

	"farlink/emulator/link"
)

// Subject is a stage under test: how it is made, and what it promises.
type Subject struct {
	Name    string
	Build   func() link.Stage // a fresh, equal stage at each call
	Ordered bool              // packets leave in the order of their numbers
}

// end is when all packets of a contract's arrivals have met their fate.
const end = link.Time(60 * link.Second)

// Contract holds stages to all that link.Stage, link.Holder and link.Prober
// ask of them.
func Contract(t *testing.T, subjects []Subject) {
	for _, s := range subjects {
		t.Run(s.Name, func(t *testing.T) {
			s.fates(t)
			s.late(t)
			s.swapped(t)
			s.probed(t)
			NoAllocs(t, s.Build(), link.Millisecond)
		})
	}
}

// fates checks that they are the driver's business in no way, that nothing
// vanishes, and that order is kept where it is promised.
func (s Subject) fates(t *testing.T) {
	arrivals := Arrivals(3, 4000, 700*link.Microsecond)
	log := Independent(t, s.Build, arrivals, end)
	if len(log.Fates) != len(arrivals)+log.Copies {
		t.Errorf("%d fates for %d packets and %d copies", len(log.Fates), len(arrivals), log.Copies)
	}
	if s.Ordered {
		Ordered(t, log)
	}
	if _, chain := s.Build().(*link.Chain); chain {
		return // which promises the order of what it delivers alone
	}
	for i, f := range log.Fates[1:] {
		if f.Packet.When < log.Fates[i].Packet.When {
			t.Fatalf("fate of packet %d at %d told after one at %d", f.Packet.Seq, f.Packet.When, log.Fates[i].Packet.When)
		}
	}
}

// late lets a driver look ahead before it hears of arrivals, as a live one
// does: nothing may be lost to that, or overtaken.
func (s Subject) late(t *testing.T) {
	arrivals := Arrivals(4, 2000, link.Millisecond)
	stage := s.Build()
	var log Log
	for _, p := range arrivals {
		stage.Run(p.When.Add(2*link.Millisecond), &log)
		stage.Put(p, &log)
	}
	stage.Run(end, &log)
	Conserved(t, &log, len(arrivals), stage)
	if s.Ordered {
		Ordered(t, &log)
	}
}

// swapped puts an equal stage in the place of one that is full, again and
// again: no packet is lost for that, doubled, or overtaken. A chain is swapped
// stage by stage.
func (s Subject) swapped(t *testing.T) {
	stage := s.Build()
	_, holds := stage.(link.Holder)
	if _, chain := stage.(*link.Chain); chain || !holds {
		return
	}
	arrivals := Arrivals(5, 3000, 700*link.Microsecond)
	var log Log
	for i, p := range arrivals {
		stage.Put(p, &log)
		if i%50 != 49 {
			continue
		}
		old := stage.(link.Holder)
		stage = s.Build()
		before, was := old.Held()
		Succeed(stage, old, p.When)
		if after, now := stage.(link.Holder).Held(); before != after || was != now {
			t.Fatalf("at packet %d: held %d (%d B) before the swap, %d (%d B) after", i, before, was, after, now)
		}
	}
	stage.Run(end, &log)
	Conserved(t, &log, len(arrivals), stage)
	if s.Ordered {
		Ordered(t, &log)
	}
}

// Succeed puts next, a Holder too, in the place of old, as the emulator does.
func Succeed(next link.Stage, old link.Holder, now link.Time) {
	if h, ok := next.(link.Heir); ok {
		h.Inherit(now, old)
	}
	old.Drain(func(p link.Packet) { next.(link.Holder).Adopt(now, p) })
}

// probed looks at every figure: named once, and a number.
func (s Subject) probed(t *testing.T) {
	stage, ok := s.Build().(link.Prober)
	if !ok {
		return
	}
	seen := map[string]bool{}
	stage.Probes(0, func(p link.Probe) {
		if seen[p.Name] {
			t.Errorf("probe %s twice", p.Name)
		}
		seen[p.Name] = true
		if p.Value != p.Value {
			t.Errorf("probe %s is not a number", p.Name)
		}
	})
	if len(seen) == 0 {
		t.Error("no probes")
	}
}
