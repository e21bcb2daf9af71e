package appliance

import (
	"fmt"
	"time"

	"farlink/emulator/link"
)

// DisruptionKind is what happens to a link for a time.
type DisruptionKind string

// The disruptions.
const (
	CutFor DisruptionKind = "cut"  // no frame passes for Duration
	Flap   DisruptionKind = "flap" // cut for Down, through for Up, Count times
	// Fade takes DB from every carrier of the main link for Duration, there
	// and back within Ramp.
	Fade DisruptionKind = "fade"
	// HandOver interrupts the main link for Duration, both ways: packets
	// wait and go on behind it; in a cell it is a handover to a neighbour.
	HandOver DisruptionKind = "handover"
)

// Disruption is a link event: something that happens to a pair for a time
// and ends by itself.
type Disruption struct {
	Kind     DisruptionKind `json:"kind" doc:"cut, flap, fade or handover" example:"cut"`
	Duration link.Duration  `json:"duration,omitempty" doc:"How long a cut, a fade or the interruption of a handover lasts." example:"5s"`
	Down     link.Duration  `json:"down,omitempty" doc:"How long each cut of a flap lasts." example:"500ms"`
	Up       link.Duration  `json:"up,omitempty" doc:"How long frames pass between the cuts of a flap." example:"2s"`
	Count    int            `json:"count,omitempty" doc:"How many cuts a flap has." example:"5"`
	DB       float64        `json:"db,omitempty" doc:"How deep a fade is, up to 60 dB; the main link must have a carrier." example:"6"`
	Ramp     link.Duration  `json:"ramp,omitempty" doc:"How long a fade takes to come, and to go." example:"2s"`

	// Begins and Ends are set by the box.
	Begins time.Time `json:"begins,omitzero" readOnly:"true"`
	Ends   time.Time `json:"ends,omitzero" readOnly:"true"`
}

// longest bounds a link event; whoever wants more sets the mode.
const longest = 24 * link.Duration(time.Hour)

// Check lists what is wrong with a link event.
func (d Disruption) Check() (all Problems) {
	say := func(path, got, want string) { all = append(all, Problem{Path: path, Got: got, Want: want}) }
	length := func(path string, v link.Duration, needed bool) {
		switch {
		case needed && (v <= 0 || v > longest):
			say(path, v.String(), `a duration above 0 and up to 24h, such as "5s"`)
		case !needed && v != 0:
			say(path, v.String(), "nothing: a "+string(d.Kind)+" has no "+path)
		}
	}
	if d.Kind != Fade && (d.DB != 0 || d.Ramp != 0) {
		say("db", fmt.Sprint(d.DB), "nothing: only a fade has db and ramp")
	}
	if (d.Kind == Fade || d.Kind == HandOver) && (d.Down != 0 || d.Up != 0 || d.Count != 0) {
		say("count", fmt.Sprint(d.Count), "nothing: only a flap has down, up and count")
	}
	switch d.Kind {
	case Fade:
		length("duration", d.Duration, true)
		if !(d.DB > 0 && d.DB <= 60) {
			say("db", fmt.Sprint(d.DB), "above 0 to 60 dB")
		}
		if d.Ramp < 0 || 2*d.Ramp > d.Duration {
			say("ramp", d.Ramp.String(), "at most half the duration")
		}
	case HandOver:
		length("duration", d.Duration, true)
		if d.Duration > 10*link.Second {
			say("duration", d.Duration.String(), "up to 10s")
		}
	case CutFor:
		length("duration", d.Duration, true)
		length("down", d.Down, false)
		length("up", d.Up, false)
		if d.Count != 0 {
			say("count", fmt.Sprint(d.Count), "nothing: a cut is one")
		}
	case Flap:
		length("duration", d.Duration, false)
		length("down", d.Down, true)
		length("up", d.Up, true)
		if d.Count < 1 || d.Count > 100_000 {
			say("count", fmt.Sprint(d.Count), "1 to 100000")
		}
	default:
		say("kind", fmt.Sprintf("%q", d.Kind), `"cut", "flap", "fade" or "handover"`)
	}
	if d.Kind == Flap && len(all) == 0 && (d.Down+d.Up) > longest/link.Duration(d.Count) {
		say("count", fmt.Sprint(d.Count), "a flap of no more than 24h altogether")
	}
	return all
}

// Total is how long the event lasts: a flap ends with its last cut.
func (d Disruption) Total() time.Duration {
	if d.Kind != Flap {
		return time.Duration(d.Duration)
	}
	return time.Duration(d.Down)*time.Duration(d.Count) + time.Duration(d.Up)*time.Duration(d.Count-1)
}
