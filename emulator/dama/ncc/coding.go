package ncc

// Coding is how a request is written: a value of limited range times one of
// some scales. What is asked for is what the coding can say.
type Coding struct {
	Name    string
	scales  []int64
	limit   int64 // largest value
	rate    int64 // unit of RBDC, bit/s
	volume  int64 // unit of VBDC, bytes; 0: the payload unit of the burst
	nearest bool  // rates round to the nearest, not up
}

// codings: DVB-RCS's SAC field with 8-bit values, DVB-RCS2's control PDU
// and "exact" for models and tests.
var codings = [...]Coding{
	{Name: "rcs2", scales: []int64{1, 4, 16, 64}, limit: 256, rate: 1000, volume: 1},
	{Name: "rcs", scales: []int64{1, 16}, limit: 255, rate: 2000, nearest: true},
	{Name: "exact"},
}

// volumeScales are DVB-RCS2's scales of volumes, which differ from those of
// rates.
var volumeScales = []int64{1, 8, 64, 512}

// Code returns the coding called name.
func Code(name string) (Coding, bool) {
	for _, c := range codings {
		if c.Name == name {
			return c, true
		}
	}
	return Coding{}, false
}

// Rate returns the rate (bit/s) that the coding says for r.
func (c *Coding) Rate(r int64) int64 {
	if c.scales == nil {
		return r
	}
	return quantise(r, c.rate, c.limit, c.scales, c.nearest)
}

// Volume returns the volume (bytes) that the coding says for v, rounded up;
// unit is the burst's payload unit in bytes (DVB-RCS counts cells).
func (c *Coding) Volume(v, unit int64) int64 {
	switch {
	case c.scales == nil:
		return v
	case c.volume == 0:
		return quantise(v, unit, c.limit, c.scales, false)
	}
	return quantise(v, c.volume, c.limit, volumeScales, false)
}

// quantise writes v in the finest scale that holds it.
func quantise(v, unit, limit int64, scales []int64, nearest bool) int64 {
	for i, s := range scales {
		step := unit * s
		n := (v + step - 1) / step
		if nearest {
			n = (v + step/2) / step
		}
		if n <= limit {
			return n * step
		}
		if i == len(scales)-1 {
			return limit * step
		}
	}
	return v
}
