// Package wire is the driver in real time: it takes frames from the two ports
// of a pair, tells them to an Emulator and puts them out when their time has
// come.
//
//	          ┌─────────────── engine (a process of its own) ───────────────┐
//	port A ──▶│ steer stamps ─ AF_XDP ─ loop Up ── Emulator ── AF_XDP ────▶ │──▶ port B
//	       ◀──│ ◀──── AF_XDP ── Emulator ── loop Down ─ AF_XDP ─ stamps ◀── │◀──
//	          └──▲───────────────────────────────────────────────│─────────┘
//	             │ socket: documents          shared memory: book, probes
//	          ┌──┴───────────────────────────────────────────────▼─────────┐
//	          │                Engine, in the daemon                       │
//	          └─────────────────────────────────────────────────────────────┘
//
// The engine is the same binary run again: main calls Main when IsEngine. It
// has its own heap, never collects garbage while frames flow, and runs with
// real-time priority where that is allowed. Each way has one loop on one
// thread that owns its rings, its frames and its half of the Emulator.
//
// Time: link.Time 0 is the start of the run on CLOCK_MONOTONIC; an arrival is
// the stamp that the XDP program left in front of the frame.
package wire
