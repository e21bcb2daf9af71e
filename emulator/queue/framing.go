package queue

import (
	"math"

	"farlink/emulator/link"
)

// FramingConfig says how many bytes a frame takes on the line, and so what a
// rate counts.
type FramingConfig struct {
	// Framing is the layer whose bytes count: "l2", the Ethernet frame
	// without FCS (default); "l1", with preamble 8, FCS 4 and gap 12 bytes;
	// "l3", without the 14 bytes of Ethernet header.
	Framing string `toml:"framing,omitempty"`
	// Overhead is added to every frame: PPP, GSE, tunnels.
	Overhead link.Size `toml:"overhead,omitempty"`
	// Minimum is the least a frame takes, overhead included.
	Minimum link.Size `toml:"minimum,omitempty"`
	// Cell, when not zero, cuts the frame into cells of so much payload,
	// the last padded; each takes CellOverhead more. ATM: 48B and 5B.
	Cell         link.Size `toml:"cell,omitempty"`
	CellOverhead link.Size `toml:"cell_overhead,omitempty"`
}

// ethernetHeader is what a frame has before its payload: two addresses and
// the type.
const ethernetHeader = 14

// layers says what each framing adds to a frame without FCS.
var layers = map[string]int{"": 0, "l2": 0, "l1": 8 + 4 + 12, "l3": -ethernetHeader}

// Check reports what is wrong with c.
func (c FramingConfig) Check(report link.Report) {
	if _, ok := layers[c.Framing]; !ok {
		report("framing", c.Framing, `"l1", "l2" or "l3"`)
	}
	if c.Overhead > 9216 {
		report("overhead", c.Overhead.String(), "at most 9216B")
	}
	if c.Minimum > 9216 {
		report("minimum", c.Minimum.String(), "at most 9216B")
	}
	if c.Cell > 9216 || c.Cell < 0 {
		report("cell", c.Cell.String(), "at most 9216B")
	}
	if c.CellOverhead > 0 && c.Cell == 0 {
		report("cell_overhead", c.CellOverhead.String(), `"cell" beside it, the payload of a cell (ATM: 48B)`)
	}
}

// framing is FramingConfig made ready to reckon with.
type framing struct {
	add, minimum     int
	cell, cellOnLine int
}

func newFraming(c FramingConfig) framing {
	return framing{layers[c.Framing] + int(c.Overhead), max(int(c.Minimum), 1), int(c.Cell), int(c.Cell + c.CellOverhead)}
}

// smallest and largest are the bytes of Ethernet frames: the header alone, and
// a jumbo frame with two tags.
const (
	smallest = ethernetHeader
	largest  = 9216 + 22
)

// Bounds returns between which rates Ethernet frames pass a line of a rate,
// whatever their sizes.
func (f *framing) Bounds(r link.Rate) (least, most link.Rate) {
	if f.add == 0 && f.minimum <= smallest && f.cell == 0 {
		return r, r
	}
	low, high := math.Inf(1), 0.0
	for size := smallest; size <= largest; size++ {
		share := float64(size) / float64(f.Line(uint16(size)))
		low, high = min(low, share), max(high, share)
	}
	return link.Rate(low * float64(r)), link.Rate(math.Ceil(high * float64(r)))
}

// Line returns the bytes that a frame of size bytes takes on the line.
func (f *framing) Line(size uint16) int64 {
	n := max(int(size)+f.add, f.minimum)
	if f.cell > 0 {
		n = (n + f.cell - 1) / f.cell * f.cellOnLine
	}
	return int64(n)
}
