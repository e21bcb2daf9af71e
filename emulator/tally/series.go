package tally

import (
	"math"
	"strconv"

	"farlink/emulator/link"
)

// Value is a figure that may be missing: not a number is null in JSON.
type Value float64

// MarshalJSON writes the shortest text that reads back as the same number.
func (v Value) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(v), 'g', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Value) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	*v = Value(f)
	return err
}

// Column is one figure over time, a value per bucket. Its name ends in the
// unit: "down.delivered_bps", "up.queue_bytes".
type Column struct {
	Name   string  `json:"name"`
	Values []Value `json:"values"`
}

// Series is a run over time: bucket i covers [i, i+1) times Step.
type Series struct {
	Step    link.Duration `json:"step"`
	Columns []Column      `json:"columns"`
}

// Column returns the column of that name, nil if there is none.
func (s *Series) Column(name string) *Column {
	for i := range s.Columns {
		if s.Columns[i].Name == name {
			return &s.Columns[i]
		}
	}
	return nil
}

// bucket is what a way counts in one step.
type bucket struct {
	offered, delivered, lost int64 // bytes, bytes, packets
	met                      int64 // packets delivered
	delay                    int64 // ns, their sum
}

// Recorder makes a Series.
type Recorder struct {
	step    link.Duration
	ways    [2][]bucket
	base    [2]link.Duration // least delay seen
	seen    [2]bool
	probes  []Column
	index   map[string]int // into probes; looked up, never ranged over
	sampled int            // buckets sampled so far
}

// NewRecorder returns a recorder of buckets of so long.
func NewRecorder(step link.Duration) *Recorder {
	return &Recorder{step: step, index: map[string]int{}}
}

func (r *Recorder) at(w link.Way, t link.Time) *bucket {
	i := int(max(t, 0) / link.Time(r.step))
	for len(r.ways[w]) <= i {
		r.ways[w] = append(r.ways[w], bucket{})
	}
	return &r.ways[w][i]
}

// Arrive counts a packet that came.
func (r *Recorder) Arrive(w link.Way, t link.Time, size int) { r.at(w, t).offered += int64(size) }

// Meet counts a fate; sent is when the packet came.
func (r *Recorder) Meet(w link.Way, f link.Fate, sent link.Time) {
	b := r.at(w, f.Packet.When)
	if f.Lost() {
		b.lost++
		return
	}
	delay := f.Packet.When.Sub(sent)
	b.delivered += int64(f.Packet.Size)
	b.met++
	b.delay += int64(delay)
	if !r.seen[w] || delay < r.base[w] {
		r.base[w], r.seen[w] = delay, true
	}
}

// Sample notes a live figure at the end of the bucket being sampled; prefix is
// put before its name.
func (r *Recorder) Sample(prefix string, p link.Probe) {
	name := prefix + p.Name
	i, ok := r.index[name]
	for n := 2; ok && len(r.probes[i].Values) > r.sampled; n++ {
		// A second stage with a figure of the same name.
		name = prefix + p.Name + "#" + strconv.Itoa(n)
		i, ok = r.index[name]
	}
	if !ok {
		i = len(r.probes)
		r.index[name] = i
		r.probes = append(r.probes, Column{Name: name})
	}
	c := &r.probes[i]
	for len(c.Values) < r.sampled {
		c.Values = append(c.Values, Value(math.NaN()))
	}
	c.Values = append(c.Values, Value(p.Value))
}

// Sampled ends the sampling of a bucket.
func (r *Recorder) Sampled() { r.sampled++ }

// Series completes the run with n buckets.
func (r *Recorder) Series(n int) *Series {
	s := &Series{Step: r.step}
	for _, w := range link.Ways {
		r.at(w, link.Time(n-1)*link.Time(r.step))
		s.Columns = append(s.Columns, r.columns(w, n)...)
	}
	for _, c := range r.probes {
		for len(c.Values) < n {
			c.Values = append(c.Values, Value(math.NaN()))
		}
		c.Values = c.Values[:n]
		s.Columns = append(s.Columns, c)
	}
	return s
}

// columns returns the counts of a way as figures: what was offered and what
// left, the mean delay of what left and by how much that is above the least of
// the run, and how many packets were lost.
func (r *Recorder) columns(w link.Way, n int) []Column {
	names := []string{".offered_bps", ".delivered_bps", ".one_way_ms", ".one_way_extra_ms", ".loss_packets"}
	out := make([]Column, len(names))
	for i, name := range names {
		out[i] = Column{Name: w.String() + name, Values: make([]Value, n)}
	}
	perSecond := 8 / r.step.Seconds()
	for i, b := range r.ways[w][:n] {
		delay := math.NaN()
		if b.met > 0 {
			delay = float64(b.delay) / float64(b.met) / 1e6
		}
		out[0].Values[i] = Value(float64(b.offered) * perSecond)
		out[1].Values[i] = Value(float64(b.delivered) * perSecond)
		out[2].Values[i] = Value(delay)
		out[3].Values[i] = Value(delay - r.base[w].Milliseconds())
		out[4].Values[i] = Value(float64(b.lost))
	}
	return out
}
