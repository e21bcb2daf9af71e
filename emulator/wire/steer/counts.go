package steer

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Kinds of a Count, numbered as in steer.bpf.c.
const (
	emulated = iota
	bypassed
	dropped
	fellBack
	kinds
)

// Count is frames and their bytes.
type Count struct{ Frames, Bytes uint64 }

// Counts is what the program did with the frames that came to one port.
type Counts struct {
	Emulated Count // sent to the engine
	Bypassed Count // sent to the other port
	Cut      Count // dropped
	FellBack Count // of Bypassed and Cut: because the engine was gone or hung
}

// readCounts reads the counters of port 0 or 1, summed over the CPUs.
func readCounts(m *ebpf.Map, port int) (Counts, error) {
	var c Counts
	for kind, to := range []*Count{emulated: &c.Emulated, bypassed: &c.Bypassed, dropped: &c.Cut, fellBack: &c.FellBack} {
		var perCPU []programCount
		if err := m.Lookup(uint32(port*kinds+kind), &perCPU); err != nil {
			return c, fmt.Errorf("read counts of steer: %w", err)
		}
		for _, x := range perCPU {
			to.Frames += x.Frames
			to.Bytes += x.Bytes
		}
	}
	return c, nil
}
