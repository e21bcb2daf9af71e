package wire

import (
	"fmt"
	"math"
	"slices"
	"time"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/wire/cable"
	"farlink/emulator/wire/steer"
)

// The pass-through floor is measured with frames far enough apart that each
// finds the loop asleep, as most do on a link that is not full.
const (
	floorFrames = 100
	floorSize   = 100 // bytes
	floorEvery  = 250 * time.Microsecond
)

// Floor is what a frame costs that no model delays: the box's own latency, on
// this machine, by the same program and loop that carry the pair. It was
// measured, before the ports were opened, on cables in a network namespace of
// the engine's own.
type Floor struct {
	Attached steer.Attach  // how the program sat on the cables
	Frames   int           // how many passed
	P50, P99 link.Duration // stamp of the arrival to departure, as the ledger has it
	// The same frames as the kernel's stamps outside of the engine have
	// them; 0 where it made none.
	WitnessP50, WitnessP99 link.Duration
	Took                   link.Duration // measuring
	// Why nothing was measured; "" when it was.
	Why string `json:",omitempty"`
}

// floorOf returns the floor of a pair whose program is to sit so: what is
// known of a measurement before, or a new one.
func floorOf(c Config, how steer.Attach) Floor {
	if b := c.Before; b != nil && b.Floor.Attached == how && b.Floor.Why == "" {
		return b.Floor
	}
	begun := nanotime()
	measured := make(chan Floor, 2)
	go func() {
		f := Floor{Attached: how}
		err := cable.Do(func(cables *cable.Cables) error {
			return f.measure(c, cables, func() { measured <- f })
		})
		if err != nil {
			measured <- Floor{Attached: how, Why: fmt.Sprintf("not measured: %v", err)}
		}
	}()
	// The kernel takes some 80 ms to detach programs and sockets, which
	// nobody has to wait for.
	f := <-measured
	f.Took = link.Duration(nanotime() - begun)
	return f
}

// measure joins the cables by a small engine with nothing in it, which
// pins nothing, and says when it knows.
func (f *Floor) measure(c Config, cables *cable.Cables, known func()) error {
	small := Config{
		Pair: "floor", A: cable.Ports[0], B: cable.Ports[1], Attach: f.Attached,
		Fallback: steer.Cut, Patience: c.Patience, Frames: 1024, Ring: 256, Memory: 1 << 20,
		Spin: c.Spin, Coalesce: c.Coalesce, Priority: c.Priority, Limits: c.Limits, unpinned: true,
	}
	shared, err := newShared()
	if err != nil {
		return err
	}
	defer shared.Close()
	p, err := mapShared(shared)
	if err != nil {
		return err
	}
	defer p.unmap()
	m, err := newMachine(small, p, nil, nil)
	if err != nil {
		return err
	}
	defer m.close()
	if err := m.start(); err != nil {
		return err
	}
	came, witness, err := cables.Probe(floorFrames, floorSize, floorEvery)
	m.stop()
	if err != nil {
		return err
	}
	f.Attached = m.wire.Attached(0)
	if err := f.take(&p.Ways[link.Up].Book, came, witness); err != nil {
		return err
	}
	known()
	return nil
}

// take reads off the book what the frames took.
func (f *Floor) take(b *ledger.Book, came int, witness []int64) error {
	if b.Lateness.Count == 0 || came < floorFrames/2 {
		return fmt.Errorf("%d of %d frames came through: %v", came, floorFrames, b.Engine)
	}
	f.Frames = int(b.Lateness.Count)
	f.P50, f.P99 = link.Duration(b.Lateness.Quantile(0.5)), link.Duration(b.Lateness.Quantile(0.99))
	if n := len(witness); n > 0 {
		slices.Sort(witness)
		f.WitnessP50 = link.Duration(witness[n/2])
		f.WitnessP99 = link.Duration(witness[min(n-1, int(math.Ceil(0.99*float64(n)))-1)])
	}
	return nil
}
