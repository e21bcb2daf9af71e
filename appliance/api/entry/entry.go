// Package entry is the part of the API about the box's door, not its links: who
// may come in (sessions, tokens), who drives (the lease), who did what (the
// audit log), and where the API is served (settings).
package entry

import "farlink/appliance/api/gate"

// Entry answers those operations. What they change is what the gate asks.
type Entry struct{ *gate.Gate }
