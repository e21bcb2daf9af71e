package nr

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
	radio := func() Radio {
		return Radio{Layers: int(float(1, 5)), Table: []string{"", "64qam", "256qam"}[int(float(0, 3))], SINR: float(-6, 30),
			Shadowing: float(0, 8), ShadowingTime: link.Duration(float(1e8, 5e9)), BLER: float(0, 0.5), Overhead: float(0, 0.2)}
	}
	c := Config{Numerology: int(float(0, 4)), PRB: int(float(6, 60)), Pattern: []string{"", "DDDSU", "DSUUU", "DU"}[int(float(0, 4))],
		Share: float(0.05, 1), Down: radio(), Up: radio(), Request: link.Duration(float(-5e6, 10e6))}
	c.Request = max(c.Request, 0)
	if float(0, 1) < 0.5 {
		c.HandoverEvery, c.Interruption = link.Duration(float(5e8, 3e9)), link.Duration(float(0, 3e8))
	}
	return c
}

// Whatever the carrier: no problems, fates of arrivals and seed alone, none
// missing, none overtaking; and so through swaps for another carrier.
func FuzzServer(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		d := link.NewDraw(seed, "nr")
		c := random(d)
		c.Check(func(path, got, want string) { t.Fatalf("%s: got %s, want %s", path, got, want) })
		q := queue.Config{Discipline: []string{"", "drophead", "red", "codel", "pie"}[seed%5], Limit: queue.Limit{Bytes: 30000}}
		w, arrivals := link.Way(seed/5%2), linktest.Arrivals(seed, 500, 5*link.Millisecond)
		build := func() link.Stage { return NewServer(c, q, w, d) }
		linktest.Ordered(t, linktest.Independent(t, build, arrivals, 40*second))

		s, log := NewServer(c, q, w, d), &linktest.Log{}
		for i, p := range arrivals {
			s.Put(p, log)
			if d.Chance(uint64(i+1000), 0.03) {
				next := NewServer(random(d.Sub("next")), q, w, d)
				next.Inherit(p.When, s)
				s.Drain(func(held link.Packet) { next.Adopt(p.When, held) })
				s = next
			}
		}
		s.Run(40*second, log)
		linktest.Conserved(t, log, len(arrivals), s)
		linktest.Ordered(t, log)
	})
}
