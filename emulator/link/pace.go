package link

// Pace is what a way promises of the rate at which frames leave it, so that
// a driver can hold what really leaves against it. The zero Pace promises
// nothing.
type Pace struct {
	Least Rate // while frames wait; 0 promises no least
	Most  Rate // at any time; 0 promises nothing at all
	Since Time // departures from then on count: earlier ones stem from what was before
	// Slack is by how much frames may be bunched behind what serves them:
	// spans are to be long against it.
	Slack Duration
	Busy  Time // from then on frames that leave by now followed each other without a pause; Never: none waits now
}
