// Package modcod is what a DVB-S2 or S2X carrier can be modulated and coded as
// (EN 302 307-1 and -2): the lists, what a frame of each carries and how long it
// is, and the ladder of those that some Es/N0 makes the best choice.
//
//	efficiency        ┌── 16APSK 2/3
//	           ┌──────┘   8PSK 3/5      Best: the highest rung that needs
//	     ──────┘          QPSK 2/5      no more than the Es/N0 there is
//	─────────────────────────▶ Es/N0
//
// Units: symbols, bits, dB.
package modcod

import (
	"math"
	"slices"
)

// Modcod is a modulation with a code rate.
type Modcod struct {
	Name string
	Bits int     // per symbol: 2 QPSK … 8 256APSK
	BCH  int     // bits that a normal FECFRAME carries, BBHEADER included
	EsN0 float64 // dB, least for quasi-error-free reception, ideal, AWGN
	// Short is BCH of a short FECFRAME, 0 where there is none.
	Short int
}

// S2 lists the MODCODs of EN 302 307-1 in the order of their numbers 1..28.
// Es/N0 is that of Table 13: PER 1e-7 of 188-byte packets, normal FECFRAME,
// no pilots.
var S2 = []Modcod{
	{"QPSK 1/4", 2, 16008, -2.35, 3072},
	{"QPSK 1/3", 2, 21408, -1.24, 5232},
	{"QPSK 2/5", 2, 25728, -0.30, 6312},
	{"QPSK 1/2", 2, 32208, 1.00, 7032},
	{"QPSK 3/5", 2, 38688, 2.23, 9552},
	{"QPSK 2/3", 2, 43040, 3.10, 10632},
	{"QPSK 3/4", 2, 48408, 4.03, 11712},
	{"QPSK 4/5", 2, 51648, 4.68, 12432},
	{"QPSK 5/6", 2, 53840, 5.18, 13152},
	{"QPSK 8/9", 2, 57472, 6.20, 14232},
	{"QPSK 9/10", 2, 58192, 6.42, 0},
	{"8PSK 3/5", 3, 38688, 5.50, 9552},
	{"8PSK 2/3", 3, 43040, 6.62, 10632},
	{"8PSK 3/4", 3, 48408, 7.91, 11712},
	{"8PSK 5/6", 3, 53840, 9.35, 13152},
	{"8PSK 8/9", 3, 57472, 10.69, 14232},
	{"8PSK 9/10", 3, 58192, 10.98, 0},
	{"16APSK 2/3", 4, 43040, 8.97, 10632},
	{"16APSK 3/4", 4, 48408, 10.21, 11712},
	{"16APSK 4/5", 4, 51648, 11.03, 12432},
	{"16APSK 5/6", 4, 53840, 11.61, 13152},
	{"16APSK 8/9", 4, 57472, 12.89, 14232},
	{"16APSK 9/10", 4, 58192, 13.13, 0},
	{"32APSK 3/4", 5, 48408, 12.73, 11712},
	{"32APSK 4/5", 5, 51648, 13.64, 12432},
	{"32APSK 5/6", 5, 53840, 14.28, 13152},
	{"32APSK 8/9", 5, 57472, 15.69, 14232},
	{"32APSK 9/10", 5, 58192, 16.05, 0},
}

// S2X lists MODCODs that EN 302 307-2 adds, normal frames, linear channel
// (Table 20a). Their Es/N0 is for FER 1e-5, not for S2's PER 1e-7, which is
// why the two lists are not mixed.
var S2X = []Modcod{
	{"QPSK 2/9", 2, 14208, -2.85, 0},
	{"QPSK 13/45", 2, 18528, -2.03, 0},
	{"QPSK 9/20", 2, 28968, 0.22, 0},
	{"QPSK 11/20", 2, 35448, 1.45, 0},
	{"8APSK 5/9-L", 3, 35808, 4.73, 0},
	{"8APSK 26/45-L", 3, 37248, 5.13, 0},
	{"8PSK 23/36", 3, 41208, 6.12, 0},
	{"8PSK 25/36", 3, 44808, 7.02, 0},
	{"8PSK 13/18", 3, 46608, 7.49, 0},
	{"16APSK 1/2-L", 4, 32208, 5.97, 0},
	{"16APSK 8/15-L", 4, 34368, 6.55, 0},
	{"16APSK 5/9-L", 4, 35808, 6.84, 0},
	{"16APSK 26/45", 4, 37248, 7.51, 0},
	{"16APSK 3/5", 4, 38688, 7.80, 0},
	{"16APSK 3/5-L", 4, 38688, 7.41, 0},
	{"16APSK 28/45", 4, 40128, 8.10, 0},
	{"16APSK 23/36", 4, 41208, 8.38, 0},
	{"16APSK 2/3-L", 4, 43008, 8.43, 0},
	{"16APSK 25/36", 4, 44808, 9.27, 0},
	{"16APSK 13/18", 4, 46608, 9.71, 0},
	{"16APSK 7/9", 4, 50208, 10.65, 0},
	{"16APSK 77/90", 4, 55248, 11.99, 0},
	{"32APSK 2/3-L", 5, 43008, 11.10, 0},
	{"32APSK 32/45", 5, 45888, 11.75, 0},
	{"32APSK 11/15", 5, 47328, 12.17, 0},
	{"32APSK 7/9", 5, 50208, 13.05, 0},
	{"64APSK 32/45-L", 6, 45888, 13.98, 0},
	{"64APSK 11/15", 6, 47328, 14.81, 0},
	{"64APSK 7/9", 6, 50208, 15.47, 0},
	{"64APSK 4/5", 6, 51648, 15.87, 0},
	{"64APSK 5/6", 6, 53840, 16.55, 0},
	{"128APSK 3/4", 7, 48408, 17.73, 0},
	{"128APSK 7/9", 7, 50208, 18.53, 0},
	{"256APSK 29/45-L", 8, 41568, 16.98, 0},
	{"256APSK 2/3-L", 8, 43008, 17.24, 0},
	{"256APSK 31/45-L", 8, 44448, 18.10, 0},
	{"256APSK 32/45", 8, 45888, 18.59, 0},
	{"256APSK 11/15-L", 8, 47328, 18.84, 0},
	{"256APSK 3/4", 8, 48408, 19.57, 0},
}

// Sizes of EN 302 307-1.
const (
	normalFrame  = 64800 // bits of a FECFRAME
	shortFrame   = 16200
	slotSymbols  = 90 // symbols of a slot, and of the PL header
	pilotSymbols = 36 // of a pilot block
	pilotSlots   = 16 // slots between pilot blocks
	baseHeader   = 80 // bits of a BBHEADER
)

// DummySymbols is the length of a dummy PLFRAME.
const DummySymbols = 37 * slotSymbols

// shortLoss is what a short FECFRAME needs more, dB: 0.2..0.3 (from memory
// of EN 302 307-1's simulations).
const shortLoss = 0.25

// Framing is how a carrier is framed: the length of FECFRAMEs, and whether
// pilots are sent.
type Framing struct {
	Short, Pilots bool
}

// Symbols returns the length of a PLFRAME of m.
func (f Framing) Symbols(m Modcod) int {
	bits := normalFrame
	if f.Short {
		bits = shortFrame
	}
	slots := (bits + slotSymbols*m.Bits - 1) / (slotSymbols * m.Bits)
	n := slotSymbols * (slots + 1)
	if f.Pilots {
		n += pilotSymbols * ((slots - 1) / pilotSlots)
	}
	return n
}

// DataBits returns what a BBFRAME of m carries behind its header, 0 where
// the framing does not know m.
func (f Framing) DataBits(m Modcod) int {
	if f.Short {
		return max(0, m.Short-baseHeader)
	}
	return m.BCH - baseHeader
}

// Efficiency returns the bits per symbol of m: DataBits over Symbols.
func (f Framing) Efficiency(m Modcod) float64 {
	return float64(f.DataBits(m)) / float64(f.Symbols(m))
}

// Threshold returns the Es/N0 that m needs, dB.
func (f Framing) Threshold(m Modcod) float64 {
	if f.Short {
		return m.EsN0 + shortLoss
	}
	return m.EsN0
}

// Rung is a MODCOD of a ladder made ready: what a frame of it carries, how
// long it lasts, what it needs.
type Rung struct {
	Modcod     Modcod
	Number     int     // place in its list, from 1
	Need       float64 // Es/N0, dB
	Efficiency float64 // bits per symbol
}

// Ladder returns those of list that some Es/N0 makes the best choice, by
// rising efficiency and so by rising need: what needs no less than another
// and carries no more is left out. loss is added to what each needs.
func Ladder(list []Modcod, f Framing, loss float64) []Rung {
	var all []Rung
	for i, m := range list {
		if f.DataBits(m) > 0 {
			all = append(all, Rung{m, i + 1, f.Threshold(m) + loss, f.Efficiency(m)})
		}
	}
	slices.SortStableFunc(all, func(a, b Rung) int {
		switch {
		case a.Efficiency != b.Efficiency:
			return sign(a.Efficiency - b.Efficiency)
		default: // the one that needs more first, so that it falls out
			return sign(b.Need - a.Need)
		}
	})
	var ladder []Rung
	least := math.Inf(1)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Need < least {
			least = all[i].Need
			ladder = append(ladder, all[i])
		}
	}
	slices.Reverse(ladder)
	return ladder
}

func sign(f float64) int {
	if f < 0 {
		return -1
	}
	return 1
}

// None is the place in a ladder of "no MODCOD fits".
const None = -1

// Best returns the place of the most efficient rung that needs no more than
// esN0, or None.
func Best(ladder []Rung, esN0 float64) int {
	for i := len(ladder) - 1; i >= 0; i-- {
		if ladder[i].Need <= esN0 {
			return i
		}
	}
	return None
}
