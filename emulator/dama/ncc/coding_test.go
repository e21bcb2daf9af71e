package ncc

import "testing"

// RCS-9, RCS-10 and the limits of the reference sheet, 2.3.
func TestCoding(t *testing.T) {
	rcs, _ := Code("rcs")
	rcs2, _ := Code("rcs2")
	for _, v := range []struct {
		name      string
		got, want int64
	}{
		{"rcs 1000 kbit/s: 31 × 32", rcs.Rate(1_000_000), 992_000},
		{"rcs 510 kbit/s: 255 × 2", rcs.Rate(510_000), 510_000},
		{"rcs limit", rcs.Rate(10_000_000), 8_160_000},
		{"rcs2 1000 kbit/s: 250 × 4", rcs2.Rate(1_000_000), 1_000_000},
		{"rcs2 257 kbit/s: 65 × 4", rcs2.Rate(257_000), 260_000},
		{"rcs2 5000 kbit/s: 79 × 64", rcs2.Rate(5_000_000), 5_056_000},
		{"rcs2 limit", rcs2.Rate(99_000_000), 16_384_000},
		{"rcs2 1500 B: 188 × 8", rcs2.Volume(1500, 1), 1504},
		{"rcs2 20000 B: 40 × 512", rcs2.Volume(20000, 1), 20480},
		{"rcs2 volume limit", rcs2.Volume(1e6, 1), 131_072},
		{"rcs 32 cells", rcs.Volume(32*48, 48), 32 * 48},
		{"rcs 300 cells: 19 × 16", rcs.Volume(300*48, 48), 304 * 48},
		{"rcs volume limit", rcs.Volume(1e9, 48), 4080 * 48},
	} {
		if v.got != v.want {
			t.Errorf("%s: %d, want %d", v.name, v.got, v.want)
		}
	}
}
