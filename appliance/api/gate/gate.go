// Package gate is what every request to the API passes: is the box called by a
// name of its own, is the page that calls one of its own, who calls, how far
// does that caller's scope reach, and does another's lease stand against it.
// What changed something goes into the audit log.
package gate

import (
	"log/slog"
	"time"

	"farlink/appliance/access"
	"farlink/appliance/door"
)

// Base is the path under which the versioned operations stand.
const Base = "/api/v1"

// Limits of a request. A profile of some hundred lines is some tens of kB.
const (
	BodyMost   = 1 << 20
	BodyTime   = 15 * time.Second
	AnswerTime = 30 * time.Second
	PollMost   = 60 * time.Second // the longest that a long poll may wait
)

// Gate is what is asked on the way in.
type Gate struct {
	Keys  *access.Keyring
	Desk  *access.Desk
	Audit *access.Audit
	Door  *door.Door
	Log   *slog.Logger
	Now   func() time.Time
	// Count counts a request that was answered, Wrote is called after each
	// that changed something.
	Count func(operation string, status int)
	Wrote func()
}
