package sat

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/queue"
)

// chance makes values of a seed.
type chance struct {
	draw link.Draw
	n    uint64
}

func (c *chance) float(least, most float64) float64 {
	c.n++
	return least + c.draw.Float(c.n)*(most-least)
}

func (c *chance) one(n int) bool { return int(c.float(0, float64(n))) == 0 }

func pick[T any](c *chance, of ...T) T { return of[int(c.float(0, float64(len(of))))] }

func (c *chance) leg() *LegConfig {
	l := &LegConfig{EsN0: c.float(-3, 20), Frequency: c.float(10, 30), Noise: pick(c, 0, 0, 150.0), PowerControl: pick(c, 0, 5.0), Attenuation: pick(c, 0, 0, 3.0)}
	if c.one(2) {
		l.Rain = &Rain{Rate: c.float(10, 100), Lat: c.float(-60, 60), Elevation: c.float(10, 80), Tilt: 45, Bias: c.float(0, 2.5)}
	}
	if c.one(2) {
		l.Fade = &Fade{Depth: c.float(1, 25), Slope: c.float(0.5, 50), At: link.Duration(c.float(0, 3e9)), Hold: link.Duration(c.float(0, 4e9))}
	}
	return l
}

func (c *chance) carrier() (CarrierConfig, queue.Config) {
	k := CarrierConfig{SymbolRate: pick(c, 200e3, 1e6, 5e6, 30e6), Standard: pick(c, "s2", "s2x"), Pilots: c.one(2), Share: pick(c, 0, 0, 0.3, 0.9),
		Slot: pick(c, 0, 0, 10*link.Millisecond, link.Second), Downlink: c.leg()}
	if k.Standard == "s2" {
		k.Frame = pick(c, "", "short")
	}
	if c.one(3) {
		k.Uplink, k.Interference = c.leg(), c.float(10, 30)
		k.Uplink.Noise = 0
	}
	if c.one(4) {
		k.Modcod = k.list()[0].Name
	}
	k.ACM = ACMConfig{MarginDown: c.float(0, 1), MarginUp: c.float(1, 2), HoldUp: pick(c, 0, 10*link.Millisecond),
		Period: pick(c, 0, 50*link.Millisecond, 300*link.Millisecond), Delay: pick(c, 0, link.Millisecond, 600*link.Millisecond)}
	q := queue.Config{Discipline: pick(c, "droptail", "drophead", "red", "codel", "pie"),
		Limit: pick(c, queue.Limit{}, queue.Limit{Bytes: 20000}, queue.Limit{Packets: 15}, queue.Limit{Time: 200 * link.Millisecond})}
	return k, q
}

// Whatever the carrier: it has no problems, its fates are those of arrivals
// and seed, none is missing, none overtakes; and so through swaps for another
// carrier.
func FuzzCarrier(f *testing.F) {
	for seed := range uint64(30) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		c := &chance{draw: link.NewDraw(seed, "carrier")}
		k, q := c.carrier()
		if p := problems(k.Check); p != "" {
			t.Fatalf("problems at %s of %+v", p, k)
		}
		w, arrivals := pick(c, link.Down, link.Up), linktest.Arrivals(seed, 400, pick(c, link.Millisecond, 10*link.Millisecond))
		build := func() link.Stage { return NewCarrier(k, q, w, link.NewDraw(seed, "sky")) }

		linktest.Ordered(t, linktest.Independent(t, build, arrivals, 60*second))

		var s link.Holder = build().(link.Holder)
		log := &linktest.Log{}
		for _, p := range arrivals {
			s.Put(p, log)
			if c.one(20) {
				other, room := c.carrier()
				next := NewCarrier(other, room, w, link.NewDraw(seed, "sky"))
				next.Inherit(p.When, s)
				s.Drain(func(held link.Packet) { next.Adopt(p.When, held) })
				s = next
			}
		}
		s.Run(200*second, log)
		linktest.Conserved(t, log, len(arrivals), s)
		linktest.Ordered(t, log)
	})
}
