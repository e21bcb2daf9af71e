package main

import (
	"errors"
	"fmt"
	"math"

	"farlink/emulator/link"
	"farlink/emulator/tally"
	"farlink/profiles/document"
)

// recorded is a series as a box answers it (GET /api/v1/series): time stamps
// at the end of each sample, in uneven steps, and columns a way.
type recorded struct {
	Time []float64                `json:"time_s"`
	Down map[string][]tally.Value `json:"down"`
	Up   map[string][]tally.Value `json:"up"`
}

// recordedColumns are those that are drawn, and what a run calls them. What
// counts stands in the last step of its sample, what is measured in all.
var recordedColumns = []struct {
	name, as string
	counts   bool
}{
	{"offered_bps", "offered_bps", false}, {"delivered_bps", "delivered_bps", false}, {"granted_bps", "rate_bps", false},
	{"delay_ms", "one_way_ms", false}, {"queue_ms", "queueing_ms", false}, {"lost_packets", "loss_packets", true},
}

// recordedMost is how many steps a series may have: 12 h in tenths of a second.
const recordedMost = 432_000

// readSeriesJSON reads a series of a run, or of a box.
func readSeriesJSON(s *tally.Series, text []byte) error {
	var r recorded
	if err := document.Unmarshal(text, &r); err != nil {
		return err
	}
	if r.Time == nil {
		return document.Unmarshal(text, s)
	}
	return r.even(s)
}

// even brings a box's series to even steps, those of its finest part.
func (r *recorded) even(s *tally.Series) error {
	if len(r.Time) < 2 {
		return errors.New("less than two samples, want more")
	}
	step := math.Inf(1)
	for i := range r.Time[1:] {
		gap := r.Time[i+1] - r.Time[i]
		if !(gap > 0) {
			return fmt.Errorf("time_s %v after %v: want later", r.Time[i+1], r.Time[i])
		}
		step = min(step, gap)
	}
	step = max(math.Round(step*100)/100, 0.01) // stamps tremble by a millisecond or so
	count := (r.Time[len(r.Time)-1] - r.Time[0]) / step
	if count > recordedMost {
		return fmt.Errorf("%.0f steps of %v s, want at most %d", count, step, recordedMost)
	}
	s.Step = link.Duration(math.Round(step * 1e9))
	for _, way := range []struct {
		name    string
		columns map[string][]tally.Value
	}{{"down.", r.Down}, {"up.", r.Up}} {
		for _, c := range recordedColumns {
			values := way.columns[c.name]
			if values == nil {
				continue
			}
			if len(values) != len(r.Time) {
				return fmt.Errorf("%s%s: %d values, want %d", way.name, c.name, len(values), len(r.Time))
			}
			s.Columns = append(s.Columns, tally.Column{Name: way.name + c.as, Values: r.spread(values, step, int(count)+1, c.counts)})
		}
	}
	return nil
}

// spread puts the values of samples, but for the first, whose length is not
// known, into even steps.
func (r *recorded) spread(values []tally.Value, step float64, count int, counts bool) []tally.Value {
	out := make([]tally.Value, count)
	at := 0
	for i := 1; i < len(values); i++ {
		end := min(int(math.Round((r.Time[i]-r.Time[0])/step)), count)
		for ; at < end; at++ {
			if !counts || at == end-1 {
				out[at] = values[i]
			}
		}
	}
	return out[:at]
}
