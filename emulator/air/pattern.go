package air

import (
	"strconv"
	"strings"

	"farlink/emulator/link"
)

// PatternConfig names the packets to lose, by their number in this way of
// the link, from 0: those that something before the air lost count too. Give
// Packets or Bitmap.
type PatternConfig struct {
	// Packets are the numbers.
	Packets []uint64 `toml:"packets,omitempty"`
	// Bitmap has a character a packet: "1" is lost, "0" is not.
	Bitmap string `toml:"bitmap,omitempty"`
	// Repeat begins the pattern anew after so many packets; zero: never.
	Repeat uint64 `toml:"repeat,omitempty"`
}

// longestPattern bounds the memory of a pattern: 1.25 MB.
const longestPattern = 10_000_000

func (c PatternConfig) check(report link.Report) {
	if (len(c.Packets) > 0) == (c.Bitmap != "") {
		report("packets", strconv.Itoa(len(c.Packets))+" numbers", "either packets or bitmap")
	}
	if bad := strings.Trim(c.Bitmap, "01"); bad != "" {
		report("bitmap", c.Bitmap, `only "0" and "1"`)
	}
	most := uint64(len(c.Bitmap))
	for i, n := range c.Packets {
		if n >= longestPattern {
			report("packets."+strconv.Itoa(i), strconv.FormatUint(n, 10), "less than "+strconv.Itoa(longestPattern))
		}
		most = max(most, n+1)
	}
	if c.Repeat > 0 && c.Repeat < most {
		report("repeat", strconv.FormatUint(c.Repeat, 10), strconv.FormatUint(most, 10)+" or more, the length of the pattern, or 0")
	}
}

type pattern struct {
	lost   []uint64 // a bit a packet
	repeat uint64
}

func newPattern(c PatternConfig) *pattern {
	p := &pattern{repeat: c.Repeat}
	for _, n := range c.Packets {
		p.name(n)
	}
	for n, bit := range []byte(c.Bitmap) {
		if bit == '1' {
			p.name(uint64(n))
		}
	}
	return p
}

func (p *pattern) name(n uint64) {
	for n/64 >= uint64(len(p.lost)) {
		p.lost = append(p.lost, 0)
	}
	p.lost[n/64] |= 1 << (n % 64)
}

func (p *pattern) loses(packet link.Packet) link.Reason {
	n := packet.Seq
	if p.repeat > 0 {
		n %= p.repeat
	}
	if n/64 < uint64(len(p.lost)) && p.lost[n/64]>>(n%64)&1 == 1 {
		return link.Pattern
	}
	return link.None
}

func (*pattern) inherit(process) {}

// NOfMConfig loses exactly Lose of every Of packets that come to the air.
type NOfMConfig struct {
	Lose int `toml:"lose"`
	Of   int `toml:"of"`
	// Spread is "even" (default), as far apart as can be, or "random".
	Spread string `toml:"spread,omitempty"`
}

func (c NOfMConfig) check(report link.Report) {
	if c.Of < 1 || c.Of > 1e9 {
		report("of", strconv.Itoa(c.Of), "1..1000000000 packets")
	}
	if c.Lose < 0 || c.Lose > c.Of {
		report("lose", strconv.Itoa(c.Lose), "0.."+strconv.Itoa(c.Of))
	}
	if c.Spread != "" && c.Spread != "even" && c.Spread != "random" {
		report("spread", c.Spread, `"even" or "random"`)
	}
}

type nOfM struct {
	lose, of uint64
	random   bool
	draw     link.Draw
	count    uint64 // packets so far
	done     uint64 // lost of the present lot
}

func newNOfM(c NOfMConfig, draw link.Draw) *nOfM {
	return &nOfM{lose: uint64(c.Lose), of: uint64(c.Of), random: c.Spread == "random", draw: draw}
}

func (m *nOfM) loses(link.Packet) link.Reason {
	i := m.count % m.of
	if i == 0 {
		m.done = 0
	}
	lost := (i+1)*m.lose/m.of > i*m.lose/m.of
	if m.random {
		// Selection sampling: what is still to lose over what is still to
		// come makes every choice of lose out of of equally likely.
		lost = m.draw.Chance(m.count, float64(m.lose-m.done)/float64(m.of-i))
	}
	m.count++
	if !lost {
		return link.None
	}
	m.done++
	return link.Pattern
}

func (m *nOfM) inherit(old process) {
	if o, ok := old.(*nOfM); ok && o.lose == m.lose && o.of == m.of {
		m.count, m.done = o.count, o.done
	}
}
