package leo

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/queue"
)

// random returns a configuration without problems.
func random(d link.Draw) Config {
	n := uint64(0)
	float := func(least, most float64) float64 {
		n++
		return least + d.Float(n)*(most-least)
	}
	span := func(most link.Duration) link.Duration { return link.Duration(float(0, float64(most))) }
	c := Config{Altitude: float(300, 2000), Elevation: float(10, 60), Gateway: float(0, 1500),
		Period: link.Second + span(3*link.Second), GroundLeast: span(20 * link.Millisecond),
		Down: link.Rate(float(500e3, 20e6)), Up: link.Rate(float(500e3, 20e6)), Spread: float(1, 4),
		Lead: span(200 * link.Millisecond), Tail: span(100 * link.Millisecond), Gap: span(300 * link.Millisecond),
		Burst: float(0, 1), BurstMost: 1 + span(400*link.Millisecond), BurstLossLeast: float(0, 1), Loss: float(0, 0.05)}
	c.Phase = 1 + span(c.Period-1)
	c.GroundMost = c.GroundLeast + span(50*link.Millisecond)
	c.SpikeMost = span(100 * link.Millisecond)
	return c
}

// Whatever the network: no problems, fates of arrivals and seed alone, none
// missing, none overtaking; and so through swaps for another network.
func FuzzLink(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		d := link.NewDraw(seed, "leo")
		c := random(d)
		c.Check(func(path, got, want string) { t.Fatalf("%s: got %s, want %s", path, got, want) })
		q := queue.Config{Discipline: []string{"", "drophead", "red", "codel", "pie"}[seed%5], Limit: queue.Limit{Bytes: 30000}}
		w, arrivals := link.Way(seed/5%2), linktest.Arrivals(seed, 500, 8*link.Millisecond)
		linktest.Ordered(t, linktest.Independent(t, func() link.Stage { return chain(c, q, w, seed) }, arrivals, 15*second))

		s, log := chain(c, q, w, seed), &linktest.Log{}
		for i, p := range arrivals {
			s.Put(p, log)
			if d.Chance(uint64(i+1000), 0.02) {
				next := chain(random(d.Sub(w.String())), q, w, seed)
				for k := len(s.Stages()) - 1; k >= 0; k-- {
					swap(p.When, s.Stages()[k], next.Stages()[k])
				}
				s = next
			}
		}
		s.Run(15*second, log)
		linktest.Conserved(t, log, len(arrivals), s)
		linktest.Ordered(t, log)
	})
}

func swap(now link.Time, old, next link.Stage) {
	if h, ok := next.(link.Heir); ok {
		h.Inherit(now, old)
	}
	if from, ok := old.(link.Holder); ok {
		from.Drain(func(p link.Packet) { next.(link.Holder).Adopt(now, p) })
	}
}
