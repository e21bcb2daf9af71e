// Package link holds the words that every part of the emulator speaks: the
// time of a run, the two ways of a link, a packet, its fate, a stage, a chain
// of stages, and the counter-based draw.
//
//	      arrival                                     departure
//	Put(p) ──▶ [ stage ] ──Deliver──▶ [ stage ] ──Deliver──▶ Sink
//	              └────────Lose────────────┴────────────────▶ Sink
//
// Nothing here reads a clock, draws from a stream, takes a lock or performs
// I/O. Time comes in as an argument, randomness is a function of (seed, name,
// number). So the fates of packets depend on arrivals and seed alone, not on
// how often a driver looks.
//
// Units: time and durations in integer nanoseconds, sizes in bytes, rates in
// bits per second. A packet's size is the Ethernet frame without FCS.
package link
