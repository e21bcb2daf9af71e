// Package netlab makes laboratories of network namespaces and veth pairs on
// one machine: two endpoints and, between them, the ports of a box.
//
//	namespace NAME-a      namespace NAME-box       namespace NAME-b
//	     a0 ─────────────── a1          b1 ─────────────── b0
//	10.77.0.1 fd77::1     the box's ports         10.77.0.2 fd77::2
//
// It also holds what measures a wire from outside: Probe (one-way delay by
// the kernel's stamps), Flood (frames as fast as they go), TCP (bulk
// transfer). Transmit offloads of the endpoints are off, because a veth
// would hand over half-made frames (no checksum, 64 KB long) that no real
// cable carries.
package netlab
