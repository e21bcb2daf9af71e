// Package opportunity holds the servers that follow a recording of when a
// link could send: Delivery has so many bytes at certain instants (Mahimahi,
// ATC 2015); Train has, before it, a way of its own for light load
// (CellReplay, NSDI 2025).
//
//	                      0 ms   3 ms   7 ms 7 ms        round begins anew
//	opportunities     ────┴──────┴──────┴┴───────────────┴──────▶ t
//	packets  ──▶ room ──▶ so many bytes leave at each; what finds nothing
//	                      waiting is gone
//
// Both are stages with a Config (what stands in a profile) and a Check, as
// those of package stage. Units: ns, in files ms; bytes as framing counts.
package opportunity

import "farlink/emulator/queue"

// QueueConfig is what waits for the opportunities.
type QueueConfig = queue.Config
