// Package ledger is the book of a link emulated in real time, from which
// follows whether its run may be trusted: how late frames left, whether every
// frame that came in is accounted for, and what the engine itself (not the
// model) lost.
//
// The types are plain words of 8 bytes without pointers, so that they can lie
// in memory shared between processes. Times are nanoseconds.
package ledger
