package appliance

import (
	"time"
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
