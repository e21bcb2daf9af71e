package appliance

import (
	"time"

	"farlink/emulator/link"
)

// Kind is what an Event is about.
type Kind string

// The kinds of events.
const (
	KindApplied Kind = "applied" // a want took effect
	KindState   Kind = "state"   // a pair's word changed
	KindLink    Kind = "link"    // a link event begins or ends
	KindPEP     Kind = "pep"     // the wants of proxies changed
	// A path of the bundle came or went, or what it is to do has changed.
	KindMultipath Kind = "multipath"
	KindReset     Kind = "reset"    // the box went back to its boot state
	KindReload    Kind = "reload"   // the configuration was read again
	KindPort      Kind = "port"     // a port lost its carrier or got it back
	KindEngine    Kind = "engine"   // an engine started, died, was started again
	KindVerdict   Kind = "verdict"  // the ledger's verdict changed
	KindStorage   Kind = "storage"  // the disk takes samples or captures no more, or does again
	KindShutdown  Kind = "shutdown" // the daemon stops
)

// Event is one thing that happened, numbered from 1 without gaps.
type Event struct {
	ID   uint64    `json:"id"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	Pair string    `json:"pair,omitempty"`
	By   string    `json:"by,omitempty" doc:"Who caused it."`
	Text string    `json:"text" doc:"One line for people."`
	// Word is the pair's word after the event, on kinds state and verdict.
	Word string `json:"word,omitempty"`
}

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
