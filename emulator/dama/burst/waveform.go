package burst

// Waveform is a burst type: so many symbols carry so many bytes when the
// receiver has at least the Es/N0.
type Waveform struct {
	ID      int
	Name    string
	Symbols int     // on the air, guard included
	Payload int     // bytes
	EsN0    float64 // dB for a packet error rate of 10^-5 (RCS: 10^-7)
}

// reference lists the linear-modulation waveforms 3..22 of EN 301 545-2
// annex A: payloads and lengths as in SNS3's data, thresholds as in OpenSAND,
// within 0.1 dB of SNS3's link results for 3, 8, 14 and 22.
var reference = [...]Waveform{
	{3, "QPSK 1/3", 536, 38, 0.22},
	{4, "QPSK 1/2", 536, 59, 2.34},
	{5, "QPSK 2/3", 536, 85, 4.29},
	{6, "QPSK 3/4", 536, 96, 5.36},
	{7, "QPSK 5/6", 536, 108, 6.68},
	{8, "8PSK 2/3", 536, 115, 8.08},
	{9, "8PSK 3/4", 536, 130, 9.31},
	{10, "8PSK 5/6", 536, 144, 10.82},
	{11, "16QAM 3/4", 536, 175, 11.17},
	{12, "16QAM 5/6", 536, 194, 12.56},
	{13, "QPSK 1/3", 1616, 123, -0.51},
	{14, "QPSK 1/2", 1616, 188, 1.71},
	{15, "QPSK 2/3", 1616, 264, 3.69},
	{16, "QPSK 3/4", 1616, 298, 4.73},
	{17, "QPSK 5/6", 1616, 333, 5.94},
	{18, "8PSK 2/3", 1616, 355, 7.49},
	{19, "8PSK 3/4", 1616, 400, 8.77},
	{20, "8PSK 5/6", 1616, 444, 10.23},
	{21, "16QAM 3/4", 1616, 539, 10.72},
	{22, "16QAM 5/6", 1616, 599, 12.04},
}

// Reference returns DVB-RCS2's reference waveform id, 3..22.
func Reference(id int) (Waveform, bool) {
	if id < 3 || id > 22 {
		return Waveform{}, false
	}
	return reference[id-3], true
}

// turbo lists the turbo-coded QPSK rates of DVB-RCS with the Es/N0 for a
// packet error rate of 10^-7 (OpenSAND).
var turbo = [...]struct {
	rate      string
	num, den  int
	atm, mpeg float64
}{
	{"1/3", 1, 3, 1.14, 0.74},
	{"2/5", 2, 5, 2.13, 1.73},
	{"1/2", 1, 2, 3.60, 3.20},
	{"2/3", 2, 3, 5.85, 5.25},
	{"3/4", 3, 4, 7.16, 6.36},
	{"4/5", 4, 5, 8.34, 7.34},
	{"6/7", 6, 7, 9.34, 8.34},
}

// Cell (ATM) and TSPacket (MPEG) are the payload units of DVB-RCS, bytes.
const (
	Cell     = 53
	TSPacket = 188
)

// Turbo returns the DVB-RCS burst of some ATM cells (unit 53) or MPEG packets
// (unit 188) at a code rate "1/3".."6/7". overhead is preamble and guard in
// symbols, which the standard leaves to the burst's parameters.
func Turbo(rate string, unit, units, overhead int) (Waveform, bool) {
	for i, t := range turbo {
		if t.rate != rate {
			continue
		}
		// QPSK: two bits a symbol.
		symbols := (unit*units*8*t.den + 2*t.num - 1) / (2 * t.num)
		w := Waveform{ID: i + 1, Name: "QPSK " + rate, Symbols: symbols + overhead, Payload: unit * units, EsN0: t.atm}
		if unit == TSPacket {
			w.EsN0 = t.mpeg
		}
		return w, true
	}
	return Waveform{}, false
}

// Best returns the reference waveform with most payload, among those of the
// given burst length, that esn0 (dB) bears.
func Best(symbols int, esn0 float64) (Waveform, bool) {
	var best Waveform
	for _, w := range reference {
		if w.Symbols == symbols && w.EsN0 <= esn0 && w.Payload > best.Payload {
			best = w
		}
	}
	return best, best.ID != 0
}
