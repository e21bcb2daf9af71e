package link

import "strconv"

// Report is told of one problem of a configuration: where it stands (a path
// relative to the configuration, "loss.probability"), what stands there, and
// what was wanted.
type Report func(path, got, want string)

// Under returns a Report for what stands in the table name.
func (r Report) Under(name string) Report {
	return func(path, got, want string) { r(name+"."+path, got, want) }
}

// Figure reports a plain number.
func (r Report) Figure(path string, got float64, want string) {
	r(path, strconv.FormatFloat(got, 'g', -1, 64), want)
}

// Probability reports p unless it is one.
func (r Report) Probability(path string, p float64) {
	if !(p >= 0 && p <= 1) {
		r.Figure(path, p, "a probability, 0..1 (1% is 0.01)")
	}
}

// MaxDelay is the longest delay of anything in a link.
const MaxDelay = 3600 * Second

// Delay reports d unless it is from 0 to MaxDelay.
func (r Report) Delay(path string, d Duration) {
	if d < 0 || d > MaxDelay {
		r(path, d.String(), "0..1h")
	}
}
