package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"farlink/emulator"
	"farlink/emulator/dama"
	"farlink/emulator/link"
	"farlink/emulator/lte"
	"farlink/emulator/lte/radio"
	"farlink/emulator/netlab"
	"farlink/profiles"
)

// Media that many share and that carry 50 Mbit/s of the one that is plugged
// in: a return carrier of 256 stations, two carriers of 25 MBd, and a cell of
// 100 UEs of which ten are active at a time, two carriers of two layers.
const (
	carrierOf256 = `name = "bench/carrier-256"
[dama]
symbol_rate_bd = 25_000_000
carriers = 2
waveform = 22
sharing = "fair"
[dama.station]
cra = "40Mbit/s"
rbdc_max = "16Mbit/s"
[[dama.background]]
count = 255
traffic = "on_off"
rate = "256kbit/s"
[dama.background.station]
cra = "16kbit/s"
rbdc_max = "300kbit/s"
`
	cellOf100 = `name = "bench/cell-100"
weight = 8
[lte]
layers = 2
carriers = 2
[lte.down]
sinr_db = 25
[lte.background]
ues = 99
activity = 0.1
`
)

// mediaSpeed is how much faster than real time media are simulated whose
// stations all send, on one core.
func mediaSpeed(_ context.Context, b *Bench) error {
	var carrier, cell []float64
	for range b.Rounds {
		x, err := carrierSpeed(20)
		if err != nil {
			return err
		}
		carrier, cell = append(carrier, x), append(cell, cellSpeed(10))
	}
	b.atLeast("DAMA carrier of 256 stations", "× real time", carrier, 100)
	b.atLeast("LTE cell of 100 UEs, ten saturated", "× real time", cell, 100)
	return nil
}

// carrierSpeed runs a carrier of one station and 255 terminals for so many
// seconds; the station sends nothing.
func carrierSpeed(seconds int) (float64, error) {
	c := dama.Config{
		Carriers: 40, Sharing: "fair", FCA: 1, Access: dama.Access{Slots: 100, Copies: 2, Window: 64},
		Station: dama.StationConfig{RBDC: 300 * link.KilobitPerSecond, VBDC: 100_000, FCA: true, Piggy: true, Period: 38},
		Background: []dama.Background{
			{Count: 100, Traffic: "on_off", Rate: 256 * link.KilobitPerSecond},
			{Count: 100, Traffic: "self_similar", Rate: 256 * link.KilobitPerSecond},
			{Count: 55, Traffic: "poisson", Rate: 64 * link.KilobitPerSecond},
		},
	}
	carrier, err := dama.NewCarrier(c, link.NewDraw(1, "return"))
	if err != nil {
		return 0, err
	}
	s := carrier.Station(c.Station, link.NewDraw(1, "terminal"))
	var out sink
	took := spent(func() {
		for now := link.Time(0); now < link.Time(seconds)*1e9; now = now.Add(100 * link.Millisecond) {
			s.Run(now, &out)
		}
	})
	return float64(seconds) / took.Seconds(), nil
}

// cellSpeed runs a cell of 100 UEs, ten of which always have frames waiting.
func cellSpeed(seconds int) float64 {
	cell := lte.NewCell(lte.Config{Scheduler: "proportional_fair", Down: radio.Config{SINR: 15, Shadowing: 6}}, link.NewDraw(1, "cell"))
	var bearers []*lte.Bearer
	for range 100 {
		bearers = append(bearers, cell.UE(1).Bearer(link.Down))
	}
	var out sink
	seq := 0
	took := spent(func() {
		for now := link.Time(0); now < link.Time(seconds)*1e9; now = now.Add(link.Millisecond) {
			for i := range 4 {
				seq++
				bearers[(seq*10+i)%100].Put(link.Packet{When: now, Seq: uint64(seq), Body: link.Body{Size: 1514}}, &out)
			}
			if now%link.Time(100*link.Millisecond) == 0 {
				for _, x := range bearers {
					x.Run(now, &out)
				}
			}
		}
	})
	return float64(seconds) / took.Seconds()
}

// mediaOnWire is the processor time of an engine with such a medium, with
// nothing to carry and carrying 50 Mbit/s.
func mediaOnWire(ctx context.Context, b *Bench) error {
	for _, c := range []struct {
		name, doc string
		way       link.Way
	}{{"carrier of 256", carrierOf256, link.Up}, {"cell of 100", cellOf100, link.Down}} {
		doc, err := written(c.doc)
		if err != nil {
			return err
		}
		r, err := newRig(ctx, doc)
		if err != nil {
			return err
		}
		err = r.shares(b, c.name, c.way)
		if err := r.Close(); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shares measures what the engine takes of a core, idle and once 50 Mbit/s
// have flowed for a second, and what then comes out.
func (r *rig) shares(b *Bench, name string, w link.Way) error {
	const d = 2 * time.Second
	from, to := r.B, r.A
	if w == link.Up {
		from, to = r.A, r.B
	}
	var idle, loaded, carried []float64
	for range b.Rounds {
		share, _, err := r.share(w, d)
		if err != nil {
			return err
		}
		idle = append(idle, share)
		done := make(chan error, 1)
		go func() {
			_, err := netlab.Flood(from, to, netlab.FloodOptions{Size: 1250, Rate: 5000, For: d + 1500*time.Millisecond, Wait: time.Second})
			done <- err
		}()
		time.Sleep(time.Second)
		share, rate, err := r.share(w, d)
		if err := errors.Join(err, <-done); err != nil {
			return err
		}
		loaded, carried = append(loaded, share), append(carried, rate/1e6)
	}
	b.atMost("engine CPU, "+name+", idle", "% of a core", idle, 10)
	b.atMost("engine CPU, "+name+", at 50 Mbit/s", "% of a core", loaded, 25)
	b.atLeast("carried by the "+name+" meanwhile", "Mbit/s", carried, 49)
	return nil
}

// share is how much of a core the engine takes over d, in percent, and the
// bits per second that leave it in a way, by its own book.
func (r *rig) share(w link.Way, d time.Duration) (percent, rate float64, err error) {
	before, err := cpu(r.Report().PID)
	if err != nil {
		return 0, 0, err
	}
	first := r.Stats()
	time.Sleep(d)
	last := r.Stats()
	after, err := cpu(r.Report().PID)
	bits := 8 * float64(last.Ways[w].Book.OutBytes-first.Ways[w].Book.OutBytes)
	return 100 * (after - before).Seconds() / d.Seconds(), bits / last.Now.Sub(first.Now).Seconds(), err
}

// timelineDrift lets a link of 3 ms steps go on for a million of them. In
// every other step it is cut, so a frame 1 ns before a change and one at it
// tell when it was.
func timelineDrift(_ context.Context, b *Bench) error {
	p, problems := profiles.Parse([]byte("name = \"bench/steps\"\n[[timeline]]\nat = \"3ms\"\nfor = \"3ms\"\nevery = \"6ms\"\ncut = \"up\"\n"))
	if profiles.Fatal(problems) {
		return fmt.Errorf("profile of the bench: %v", problems)
	}
	e, err := emulator.New(emulator.Spec{Links: []emulator.LinkSpec{{Name: "main", Seed: 1, Profile: p}}})
	if err != nil {
		return err
	}
	const steps, step = 1_000_000, link.Time(3 * link.Millisecond)
	var out sink
	frame := make([]byte, 64)
	wrong := 0
	for i := link.Time(1); i <= steps; i++ {
		for _, at := range []link.Time{i*step - 1, i * step} {
			lost := out.lost
			e.Arrive(link.Up, at, 0, frame, &out)
			e.Run(link.Up, at, &out)
			if cut := (at/step)%2 == 1; cut != (out.lost > lost) {
				wrong++
			}
		}
	}
	b.atMost("steps of a timeline of 10^6 not at their nanosecond", "steps", []float64{float64(wrong)}, 0)
	return nil
}
