// Package air holds what happens to packets between two antennas: they are
// lost, one by one, in bursts, by their length, by a pattern; or they arrive
// damaged.
//
//	served ──▶ [ loss ] ──▶ [ corrupt ] ──▶ on their way
//	              │ random, bit error, pattern
//
// Whether a packet is lost is a function of the seed and of its number or its
// time. Probabilities are 0..1; sizes are bytes of Ethernet frame without FCS.
package air
