package sat

import (
	"testing"

	"farlink/emulator/link"
)

func TestFade(t *testing.T) {
	f := Fade{Depth: 6, Slope: 2, Hold: 10 * link.Second, At: 5 * link.Second}
	for _, v := range []struct{ s, want float64 }{
		{0, 0}, {5, 0}, {6, 2}, {8, 6}, {18, 6}, {19.5, 3}, {21, 0}, {100, 0},
	} {
		near(t, "fade", f.Attenuation(link.Time(v.s*1e9)), v.want, 1e-9)
	}
	f.Every = 60 * link.Second
	near(t, "repeated", f.Attenuation(link.Time(66e9)), 2, 1e-9)
	f.Depth = 0
	near(t, "no fade", f.Attenuation(link.Time(66e9)), 0, 0)
	near(t, "default slope 0.5 dB/s", Fade{Depth: 3}.Attenuation(link.Time(1e9)), 0.5, 1e-9)
}
