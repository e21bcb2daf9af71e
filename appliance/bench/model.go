package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator"
	"farlink/emulator/link"
	"farlink/emulator/stage"
	"farlink/profiles"
)

// Models lists the cases of the models, in virtual time.
func Models() []Case {
	return []Case{{"pipeline", pipeline}, {"held-cost", heldCost}, {"building", building},
		{"media-speed", mediaSpeed}, {"timeline", timelineDrift}}
}

// sink counts and forgets.
type sink struct{ delivered, lost int }

func (s *sink) Deliver(link.Packet)          { s.delivered++ }
func (s *sink) Lose(link.Packet, link.Cause) { s.lost++ }
func (s *sink) Copy(link.Packet)             {}

// cost drives n frames of 1000 bytes, gap apart, up through an emulator and
// returns ns and allocations per frame.
func cost(doc []byte, n int, gap link.Duration) (ns, allocations float64, err error) {
	spec, problems := emulator.ParseSpec(doc)
	for _, p := range problems {
		if p.Level == profiles.Error {
			return 0, 0, fmt.Errorf("document of the bench: %v", p)
		}
	}
	e, err := emulator.New(spec)
	if err != nil {
		return 0, 0, err
	}
	var out sink
	frame := make([]byte, 1000)
	copy(frame[12:], "\x08\x00\x45")
	now := link.Time(0)
	drive := func(n int) {
		for range n {
			now = now.Add(gap)
			e.Arrive(link.Up, now, 1, frame, &out)
			if e.Next(link.Up) <= now {
				e.Run(link.Up, now, &out)
			}
		}
	}
	drive(n / 4)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took := spent(func() { drive(n) })
	runtime.ReadMemStats(&after)
	return float64(took) / float64(n), float64(after.Mallocs-before.Mallocs) / float64(n), nil
}

// spent is the processor time that f takes: what else runs on the machine is
// not in it.
func spent(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u unix.Rusage
		unix.Getrusage(unix.RUSAGE_THREAD, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}

// geoPipeline has every part of a plain GEO link.
const geoPipeline = `name = "bench/geo"
[up.queue]
rate = "20Mbit/s"
[up.loss]
probability = 0.001
[up.path]
delay = "250ms"
[up.path.jitter]
distribution = "normal"
spread = "2ms"
`

// pipeline is the cost of a frame in whole links, classifier and all.
func pipeline(_ context.Context, b *Bench) error {
	// Gaps load each link to about three quarters.
	for _, c := range []struct {
		name  string
		doc   func() ([]byte, error)
		gap   link.Duration
		bound float64
	}{
		{"GEO pipeline", func() ([]byte, error) { return written(geoPipeline) }, 500 * link.Microsecond, 150},
		{"DAMA return link", func() ([]byte, error) { return shipped("dvbrcs/clear-sky") }, 5 * link.Millisecond, 300},
		{"LTE carrier", func() ([]byte, error) { return shipped("lte/skt") }, 650 * link.Microsecond, 300},
	} {
		doc, err := c.doc()
		if err != nil {
			b.add(Figure{Name: "cost of a frame, " + c.name, Verdict: Fail, Note: err.Error()})
			continue
		}
		var took, allocated []float64
		for range b.Rounds + 2 {
			ns, n, err := cost(doc, 200_000, c.gap)
			if err != nil {
				return err
			}
			took, allocated = append(took, ns), append(allocated, n)
		}
		b.atMost("cost of a frame, "+c.name, "ns", took, c.bound)
		b.atMost("allocations of a frame, "+c.name, "", allocated, 0.001)
	}
	return nil
}

// heldCost fills a delay line with frames and measures what one costs in
// time, against a line with one, and in memory.
func heldCost(_ context.Context, b *Bench) error {
	const many = 4_500_000
	var few, full, bytes []float64
	for range b.Rounds {
		few = append(few, lineCost(link.Microsecond))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		full = append(full, lineCost(link.Duration(many)*link.Microsecond))
		runtime.ReadMemStats(&after)
		bytes = append(bytes, float64(after.TotalAlloc-before.TotalAlloc)/many)
	}
	f := Figure{Name: "cost of a frame beside 4,500,000 held", Unit: "ns", Value: Median(full), Samples: full,
		Peer: "one held", PeerAt: Median(few), PeerAll: few, Target: "≤ 1.5 × one held", Verdict: Pass}
	f.Ratio = f.Value / f.PeerAt
	if f.Ratio > 1.5 {
		f.Verdict = Fail
	}
	b.add(f)
	// The packed ring of the wire needs 8 bytes more; the heads of the
	// queue's blocks a hundredth of a byte.
	b.atMost("memory of a held frame beside its bytes", "B", plus(bytes, 8), 32.1)
	return nil
}

// plus adds what the packed ring of the wire needs for each frame.
func plus(v []float64, more float64) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = v[i] + more
	}
	return out
}

// lineCost is ns per packet through a constant delay, packets 1 us apart,
// once the line is full.
func lineCost(d link.Duration) float64 {
	path := stage.NewPath(stage.PathConfig{Delay: d}, link.NewDraw(1, "path"))
	var out sink
	p := link.Packet{Body: link.Body{Size: 1000}}
	drive := func(n int) {
		for range n {
			p.When = p.When.Add(link.Microsecond)
			p.Seq++
			path.Put(p, &out)
		}
	}
	drive(int(d/link.Microsecond) + 1000)
	const n = 2_000_000
	return float64(spent(func() { drive(n) })) / n
}

// building is how long any shipped profile takes to become a link.
func building(_ context.Context, b *Bench) error {
	all, err := profiles.Shipped()
	if err != nil {
		return err
	}
	worst, which := 0.0, ""
	for _, s := range all {
		doc, err := document(s.Profile, 1)
		if err != nil {
			return err
		}
		start := time.Now()
		spec, _ := emulator.ParseSpec(doc)
		if _, err := emulator.New(spec); err != nil {
			return fmt.Errorf("%s: %w", s.Profile.Name, err)
		}
		if ms := time.Since(start).Seconds() * 1e3; ms > worst {
			worst, which = ms, s.Profile.Name
		}
	}
	b.atMost("building the slowest of "+fmt.Sprint(len(all))+" shipped profiles ("+which+")", "ms", []float64{worst}, 50)
	return nil
}
