// Package burst is the air interface of DVB-RCS (EN 301 790) and DVB-RCS2
// (EN 301 545-2) as pure functions: what a burst carries (waveforms), how
// packets are put into bursts (encapsulation), where bursts stand (the slots
// of a superframe).
//
// Units: bytes, symbols, decibels, nanoseconds. Counted bytes are bytes of a
// burst's payload without the headers of its cells, where it has any.
package burst
