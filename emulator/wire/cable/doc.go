// Package cable is two short cables in a network namespace without a name,
// to send frames through whatever joins them and to see, from outside of it,
// how long they took.
//
//	near ──veth── port A │ the caller's │ port B ──veth── far
//	sender, tap          │    wire      │                 tap
//
// The namespace belongs to one thread and goes with it, and with it the
// cables: nothing is left behind, also after a kill.
package cable
