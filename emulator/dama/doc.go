// Package dama models the return link of DVB-RCS (EN 301 790) and DVB-RCS2
// (EN 301 545-2): terminals that ask for capacity, a network control centre
// (NCC) that hands out the slots of an MF-TDMA superframe, and half a second
// of satellite between question and answer.
//
//	 frame n        frame n+1                          frame n+N
//	┌──────────────┬──────────────┐                  ┌──────────────┐
//	│ queue, agent │              │                  │ bursts leave │
//	└──────┬───────┴──────────────┘                  └──────▲───────┘
//	request│ hop                                 TBTP, hop  │
//	       └────────▶ NCC tick n+U: requests, allocation ───┘  for n+N
//
// A Carrier is the medium: a superframe of slots on some carriers, the NCC,
// simulated background terminals. A Station is one real terminal on it, and
// a link.Stage: a packet put into it waits for slots and leaves at the end of
// the burst that carries its last byte. Propagation of the data is not in
// here (a delay stage follows); that of the signalling is.
//
// The carrier advances lazily: whichever station is told the time brings the
// whole carrier there, superframe by superframe; what other stations' bursts
// carried meanwhile waits in them with its instant. So stations of a carrier
// must be driven by one loop.
//
// Units: nanoseconds, bits per second, and bytes of burst payload: with
// encapsulation, without cell headers. "Frame" in the picture is the superframe,
// the period of allocation.
package dama
