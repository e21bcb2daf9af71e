package link

import "math"

// Time is an instant of a run: nanoseconds since the run began. It may be
// negative only for instants before the run.
type Time int64

// Never is later than every instant of a run: "nothing is due".
const Never Time = math.MaxInt64

// Add returns the instant d after t, and Never when t is Never.
func (t Time) Add(d Duration) Time {
	if t == Never {
		return Never
	}
	return t + Time(d)
}

// Sub returns the duration from u to t.
func (t Time) Sub(u Time) Duration { return Duration(t - u) }

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / 1e9 }

// Span is the time from Start up to, and without, End.
type Span struct{ Start, End Time }

// Holds reports whether t lies in s.
func (s Span) Holds(t Time) bool { return s.Start <= t && t < s.End }

// Way is a direction through the box.
type Way uint8

const (
	// Down is towards the device: from port B to port A; DVB's forward
	// link, 3GPP's downlink.
	Down Way = iota
	// Up is from the device: from port A to port B; DVB's return link,
	// 3GPP's uplink.
	Up
)

// Ways lists both ways, for loops that treat them alike.
var Ways = [2]Way{Down, Up}

// Other returns the opposite way.
func (w Way) Other() Way { return w ^ 1 }

// String returns "down" or "up".
func (w Way) String() string {
	if w == Down {
		return "down"
	}
	return "up"
}
