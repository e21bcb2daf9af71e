// Package box is the box: it turns what its users want of each pair of
// test ports into a state, and says at any time what is, since when, and why
// not.
//
//	Want ──Apply──▶ checked ──▶ engine (one a pair) ──▶ State
//	                   │                                  │
//	                   └──▶ state directory    Event ◀────┘
//
// A pair is two test ports with the emulated links between them. The box owns
// one engine per pair: a process of its own that moves the frames. It starts
// it, starts it again when it dies, and tells it what to do; it never touches
// a frame. The engine, the ports and the clock hide behind small interfaces,
// so that the box itself is tested in a bubble of virtual time.
//
// Units: times are RFC 3339, measurements are numbers whose name ends in the
// unit, quantities in documents are text ("250ms", "8Mbit/s").
//
// The methods a face (API, panel, command) drives the box by:
//
//	State() State                                              everything, now
//	Want(pair) (Want, etag string, error)                      pair "" is the only one
//	Apply(ctx, pair, Want, Options) (Applied, error)           PUT: the whole want
//	Patch(ctx, pair, patch []byte, Options) (Applied, error)   PATCH: RFC 7396 over the want
//	Disrupt(ctx, pair, Disruption, by) (Disruption, error)     POST link/events
//	Reset(ctx, by) error                                       back to the boot state, a new run
//	Reload(ctx, pairs) error                                   another configuration
//	Subscribe(after uint64) *Subscription                      events after an id, then live
//	Profiles() ([]ProfileInfo, error), Profile(name) ([]byte, error)
//	PutProfile(…), DeleteProfile(…)                            the user's own
//	Ready() error                                              for /readyz
//
// Errors they return are words of package appliance: Problems (422), Stale (412), NoPair (404), ErrBusy
// (409), NotReady (503).
package box
