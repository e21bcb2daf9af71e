package wire

import (
	"fmt"
	"time"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/wire/steer"
)

// Config of an engine. Zero values stand for the defaults named.
type Config struct {
	Pair  string // name of the pair, and of its pin directory
	A, B  string // the ports: device side and network side
	Netns string // named namespace of the ports; "" is the caller's

	Attach   steer.Attach  // Auto
	Fallback steer.Mode    // what holds without an engine: Bypass (default) or Cut
	Patience time.Duration // without a beat the engine counts as hanging: 250 ms

	Frames   uint32        // chunks of 2 KiB in the UMEM, both ways: 32768
	Ring     uint32        // entries of each AF_XDP ring: 4096
	Memory   link.Size     // to hold frames beyond the UMEM, both ways: 256 MiB
	Spin     link.Duration // look again and again this long before a departure: 150 us
	Coalesce link.Duration // look this often while flooded with frames: 50 us; negative never
	Priority int           // of SCHED_FIFO, 1 to 99: 20; negative leaves the scheduler alone

	Limits ledger.Limits // where the verdict turns
	Doc    []byte        // the first document; empty is the bare wire
	Feed   string        // where to tell what links grant, as OpenFeed knows it; "" is nowhere
	Before *Report       // what an engine of the pair found before this one; nil: it is the first

	unpinned bool // nothing is to outlive the process
}

// filled returns c with the defaults in place, or what is wrong with it.
func (c Config) filled() (Config, error) {
	def(&c.Attach, steer.Auto)
	def(&c.Fallback, steer.Bypass)
	def(&c.Patience, 250*time.Millisecond)
	def(&c.Frames, 32768)
	def(&c.Ring, 4096)
	def(&c.Memory, 256<<20)
	def(&c.Spin, 150*link.Microsecond)
	def(&c.Coalesce, 50*link.Microsecond)
	def(&c.Priority, 20)
	def(&c.Limits, ledger.DefaultLimits())
	switch {
	case c.Pair == "" || c.A == "" || c.B == "":
		return c, fmt.Errorf("wire: pair %q, ports %q and %q: want a name for each", c.Pair, c.A, c.B)
	case c.A == c.B:
		return c, fmt.Errorf("wire: both ports are %q: want two", c.A)
	case c.Fallback != steer.Bypass && c.Fallback != steer.Cut:
		return c, fmt.Errorf("wire: fallback %v: want bypass or cut", c.Fallback)
	case c.Ring&(c.Ring-1) != 0:
		return c, fmt.Errorf("wire: ring of %d entries: want a power of two", c.Ring)
	case c.Frames < 4*c.Ring:
		return c, fmt.Errorf("wire: %d frames: want at least 4 for each of the %d ring entries", c.Frames, c.Ring)
	case c.Patience < 50*time.Millisecond:
		return c, fmt.Errorf("wire: patience %v: want at least 50ms, or a short hiccup of the machine is taken for a hang", c.Patience)
	}
	return c, nil
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
