package plot

import (
	"math"
	"strconv"
)

// scale maps values of an axis to px.
type scale struct {
	from, to float64 // values
	low, px  float64 // px of from; px per unit
	step     float64 // between ticks
}

// nice returns 1, 2 or 5 times a power of ten, not below span/parts.
func nice(span float64, parts int) float64 {
	raw := span / float64(parts)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range [...]float64{1, 2, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// values chooses the axis of a panel: from zero unless it is free of it, and
// ending with a tick.
func (p Panel) values(top, bottom float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range p.Lines {
		for _, v := range l.Values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low > high {
		low, high = 0, 1 // nothing to show
	}
	if !p.Free {
		low, high = min(low, 0), max(high, 0)
	}
	if low == high {
		switch {
		case p.Whole:
			low, high = low-1, high+1
		case low == 0:
			high = 1
		default:
			pad := math.Abs(low) / 2
			low, high = low-pad, high+pad
		}
	}
	s := scale{step: nice(high-low, 4)}
	if p.Whole {
		s.step = max(s.step, 1)
		high += s.step / 2 // room, so that no stair lies on the frame
		if low > 0 {
			low -= s.step / 2
		}
	}
	s.from, s.to = math.Floor(low/s.step+1e-9)*s.step, math.Ceil(high/s.step-1e-9)*s.step
	s.low = bottom
	s.px = (top - bottom) / (s.to - s.from)
	return s
}

// at returns the px of a value. The conversion keeps machines with a fused
// multiply-add from rounding otherwise.
func (s scale) at(v float64) float64 { return s.low + float64((v-s.from)*s.px) }

// ticks calls yield for each tick of the axis with its label.
func (s scale) ticks(yield func(v float64, label string)) {
	decimals := max(0, -int(math.Floor(math.Log10(s.step)+1e-9)))
	first := math.Ceil(s.from/s.step - 1e-9)
	for i := 0.0; i < 20; i++ { // where the axis is finer than a float64, not for ever
		v := float64((first + i) * s.step)
		if v > s.to+s.step*1e-9 {
			return
		}
		if math.Abs(v) < s.step*1e-9 {
			v = 0
		}
		yield(v, strconv.FormatFloat(v, 'f', decimals, 64))
	}
}

// time is the axis of time.
func (c *canvas) time() scale {
	s := scale{from: c.from, to: c.to, low: c.left, step: nice(c.to-c.from, 10)}
	s.px = (c.right - c.left) / (c.to - c.from)
	return s
}

// axes draws grid, ticks and labels of a panel; only the last has a time axis
// with labels.
func (c *canvas) axes(y scale, top, bottom float64, last bool) {
	c.put(`<path class="grid" d="`)
	t := c.time()
	t.ticks(func(v float64, _ string) { c.put("M", px(t.at(v)), " ", px(top), "V", px(bottom)) })
	y.ticks(func(v float64, _ string) { c.put("M", px(c.left), " ", px(y.at(v)), "H", px(c.right)) })
	c.put("\"/>\n")
	y.ticks(func(v float64, label string) { c.text(c.left-6, y.at(v)+4, "dim", "end", label) })
	c.put(`<path class="axis" d="M`, px(c.left), " ", px(top), "V", px(bottom), "H", px(c.right), "\"/>\n")
	if !last {
		return
	}
	t.ticks(func(v float64, label string) { c.text(t.at(v), bottom+15, "dim", "middle", label) })
	c.text((c.left+c.right)/2, bottom+31, "", "middle", "time, s")
}
