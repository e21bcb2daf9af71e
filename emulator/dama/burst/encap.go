package burst

// Encapsulation is how IP packets are put into bursts. Two families: flat
// ones, where a packet is a number of bytes in a train of cells (ATM/AAL5,
// MPE and ULE over MPEG packets), and those that fragment at the burst's
// edge, with a header per fragment (GSE, RLE).
type Encapsulation struct {
	Name string
	// fixed is added to each packet: section or PDU header, trailer,
	// protocol type and label.
	fixed int
	// A cell of unit bytes carries useful bytes; 0: no cells. If padded,
	// a packet ends with its cell.
	unit, useful int
	padded       bool
	// Header bytes of a packet that is whole, of its first fragment, of
	// each further one; and the protection added if it is fragmented.
	whole, start, more, tail int
}

// encapsulations: formats of EN 301 790 (AAL5, MPE), RFC 4326 (ULE)
// and TS 102 606, EN 301 545-2 (GSE, RLE). RLE stands with a 2-byte type
// field and a 1-byte sequence number, or the CRC-32, as protection.
var encapsulations = [...]Encapsulation{
	{Name: "rle", fixed: 2, whole: 2, start: 4, more: 2, tail: 1},
	{Name: "rle-crc", fixed: 2, whole: 2, start: 4, more: 2, tail: 4},
	{Name: "rle-suppressed", fixed: 0, whole: 2, start: 4, more: 2, tail: 1},
	{Name: "gse", fixed: 2, whole: 2, start: 5, more: 3, tail: 4},
	{Name: "gse-label3", fixed: 5, whole: 2, start: 5, more: 3, tail: 4},
	{Name: "gse-label6", fixed: 8, whole: 2, start: 5, more: 3, tail: 4},
	{Name: "aal5", fixed: 8, unit: Cell, useful: 48, padded: true},
	{Name: "aal5-snap", fixed: 16, unit: Cell, useful: 48, padded: true},
	{Name: "mpe", fixed: 16, unit: TSPacket, useful: 184, padded: true},
	{Name: "mpe-packed", fixed: 16, unit: TSPacket, useful: 184},
	{Name: "ule", fixed: 14, unit: TSPacket, useful: 184},
}

// Encapsulate returns the encapsulation called name.
func Encapsulate(name string) (Encapsulation, bool) {
	for _, e := range encapsulations {
		if e.Name == name {
			return e, true
		}
	}
	return Encapsulation{}, false
}

// Cell returns the size of a cell and how much of it a packet can use, bytes;
// 0 where there are none.
func (e *Encapsulation) Cell() (size, useful int) { return e.unit, e.useful }

// Size returns the bytes that a packet of l bytes of IP counts for before
// fragment headers: of cell payload if there are cells, else of burst.
func (e *Encapsulation) Size(l int) int {
	n := l + e.fixed
	if e.padded {
		n = (n + e.useful - 1) / e.useful * e.useful
	}
	return n
}

// Room returns the counted bytes of a burst with the given payload.
func (e *Encapsulation) Room(payload int) int {
	if e.unit == 0 {
		return payload
	}
	return payload / e.unit * e.useful
}

// Cost returns the counted bytes of a packet of l bytes of IP, with the
// headers of its fragments when it begins with a burst of its own.
func (e *Encapsulation) Cost(l, room int) int {
	n := e.Size(l)
	if e.start == 0 || n+e.whole <= room {
		return n + e.whole
	}
	rest := n + e.tail - (room - e.start)
	further := (rest + room - e.more - 1) / (room - e.more)
	return n + e.tail + e.start + further*e.more
}

// Air returns the bytes that a packet of l bytes of IP takes on the air,
// unfragmented; a broken number where packets share cells.
func (e *Encapsulation) Air(l int) float64 {
	n := float64(e.Size(l) + e.whole)
	if e.unit != 0 {
		n *= float64(e.unit) / float64(e.useful)
	}
	return n
}

// Bursts returns how many bursts of the given payload a packet of l bytes of
// IP takes alone.
func (e *Encapsulation) Bursts(l, payload int) int {
	room := e.Room(payload)
	return (e.Cost(l, room) + room - 1) / room
}

// Piece is what is left of a packet on its way into bursts: counted bytes
// without fragment headers.
type Piece struct {
	Left  int
	Begun bool
}

// Fill puts as much of the piece as fits into space bytes of a burst. It
// returns the bytes used, padding included where nothing fits, and whether
// the packet is now complete.
func (e *Encapsulation) Fill(p *Piece, space int) (used int, done bool) {
	header := e.more
	if !p.Begun {
		if p.Left+e.whole <= space {
			return p.Left + e.whole, true
		}
		if space <= e.start {
			return space, false
		}
		p.Begun = true
		p.Left += e.tail
		header = e.start
	} else if p.Left+e.more <= space {
		return p.Left + e.more, true
	} else if space <= e.more {
		return space, false
	}
	p.Left -= space - header
	return space, false
}
