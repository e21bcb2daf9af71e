// Package queue holds waiting rooms: where packets wait for a server, with a
// limit, a framing and a discipline. Who serves is another's matter: a
// constant rate, a satellite carrier, a scheduler of grants. A server calls
//
//	Join(p)  ──▶ [ room: FIFO, limit, discipline ] ──▶ Take(now)
//	                │ no room: queue_full, head_dropped
//	                └ RED, CoDel, PIE: early_dropped, or CE
//
// and says by ServeAt how fast it serves now, which a limit in time and the
// delay that PIE reckons with depend on.
package queue
