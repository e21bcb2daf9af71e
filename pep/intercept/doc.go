// Package intercept takes chosen TCP connections out of a layer-2 path and
// into local sockets, and puts what those send back, so that neither end sees
// anything but the other.
//
//	         lan ┌───────────── a network namespace ─────────────┐ wan
//	client ──────┤ tcx in ─ rule? ─▶ sk_lookup ─▶ listener (server's address)
//	             │    │no                          dialer (client's address) ─ tcx out ├────── server
//	             │    └──────────── crosses as it came ──────────────▶ │
//	             └───────────────────────────────────────────────────┘
//
// The namespace has no IP address; its two ports have ARP off. What the stack
// sends is routed by mark to the port, and the program on the way out makes
// it look like the frames of the end it speaks for: MAC addresses, VLAN tags,
// DSCP, hop limit. Connections older than the programs, fragments, IPv4
// options, IPv6 extension headers, signed segments, SYNs with data or a Fast
// Open option, and everything that is not TCP cross unsplit. Without a
// listener, or with one that does not beat, the namespace is a wire, since
// programs, maps and attachments are pinned and outlive their process.
package intercept
