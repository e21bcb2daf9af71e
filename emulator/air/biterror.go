package air

import (
	"math"

	"farlink/emulator/link"
)

// bitErrors loses a frame of L bytes with probability 1-(1-BER)^(8L). L is
// the Ethernet frame without FCS, the size that every other figure here
// counts; with FCS it would be 0.3 % more at 1514 bytes.
type bitErrors struct {
	draw  link.Draw
	perBy float64 // 8·ln(1-BER); log1p keeps the digits of 1e-9
	fixed uint16  // every frame taken as of this size; 0: as of its own
	size  uint16  // the size that chance is for
	lost  float64
}

func newBitErrors(ber float64, fixed uint16, draw link.Draw) bitErrors {
	return bitErrors{draw: draw, perBy: 8 * math.Log1p(-ber), fixed: fixed}
}

func (b *bitErrors) loses(p link.Packet) link.Reason {
	size := p.Size
	if b.fixed > 0 {
		size = b.fixed
	}
	if size != b.size {
		b.size, b.lost = size, -math.Expm1(b.perBy*float64(size))
	}
	if b.draw.Chance(p.Seq, b.lost) {
		return link.BitError
	}
	return link.None
}

func (*bitErrors) inherit(process) {}
