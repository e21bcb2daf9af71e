// Package sat models a satellite link from its causes: where the stations
// stand gives the delay; rain on a path gives the carrier-to-noise ratio;
// that gives the MODCOD (DVB-S2, DVB-S2X); the MODCOD gives the rate; and the
// rate serves the queue.
//
//	            ○ satellite
//	   d_t   ╱     ╲   d_g         rain ─▶ Es/N0 ─▶ MODCOD ─▶ rate ─▶ queue
//	       ╱         ╲                       │  report, a hop later ▲
//	terminal          gateway                └──────────────────────┘
//
// Units: angles in degrees (longitude East positive), distances in km,
// frequencies in GHz, symbol rates in baud, ratios and attenuations in dB.
// Sources: ITU-R P.838-3, P.618-13, P.839, P.1853; EN 302 307-1 and -2.
package sat
