// Package xsk speaks AF_XDP (Linux Documentation/networking/af_xdp.rst): a
// user memory of equal chunks (UMEM) that several sockets share, and the four
// rings of each socket.
//
//	Fill ──▶ ┌────────┐ ──▶ Rx         addresses in, descriptors out
//	         │ socket │
//	  Tx ──▶ └────────┘ ──▶ Complete   descriptors in, addresses out
//
// A ring has one producer and one consumer, so a thread that owns {A.Fill,
// A.Rx, B.Tx, B.Complete} of two sockets on one UMEM forwards from A to B
// with no lock and no copy. Nothing here allocates after Open.
package xsk
