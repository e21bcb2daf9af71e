package air

import "farlink/emulator/link"

// CorruptConfig lets damaged frames through: a bit of each is flipped, as by
// a modem that does not check what it forwards.
type CorruptConfig struct {
	// Probability with which a packet is damaged, whatever its size.
	Probability float64 `toml:"probability,omitempty"`
	// BER damages each bit with this probability, so long frames more
	// often than short ones.
	BER float64 `toml:"ber,omitempty"`
}

// Check reports what is wrong with c.
func (c CorruptConfig) Check(report link.Report) {
	report.Probability("probability", c.Probability)
	report.Probability("ber", c.BER)
}

// Corrupt marks the packets that are to be damaged; the driver damages them.
type Corrupt struct {
	random link.Draw
	config CorruptConfig
	bits   bitErrors
	count  int
}

// NewCorrupt returns the corruption that c describes.
func NewCorrupt(c CorruptConfig, draw link.Draw) *Corrupt {
	return &Corrupt{random: draw, config: c, bits: newBitErrors(c.BER, 0, draw.Sub("ber"))}
}

// Put marks p or does not, and passes it on.
func (c *Corrupt) Put(p link.Packet, out link.Sink) {
	if c.random.Chance(p.Seq, c.config.Probability) || c.bits.loses(p) != link.None {
		c.count++
		p.Mark |= link.Corrupted
	}
	out.Deliver(p)
}

// Next returns Never: nothing is held.
func (c *Corrupt) Next() link.Time { return link.Never }

// Run does nothing.
func (c *Corrupt) Run(link.Time, link.Sink) {}

// Probes yields how many packets were damaged.
func (c *Corrupt) Probes(_ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "corrupted_packets", Value: float64(c.count)})
}
