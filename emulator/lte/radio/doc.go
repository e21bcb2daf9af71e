// Package radio is the air of an LTE carrier: how good the channel of one user
// equipment is at an instant, and what fits into a block at that.
//
//	distance, shadowing, fading ──▶ SINR ──▶ CQI ──▶ MCS ──▶ TBS index ──▶ bits
//	                                 │       as last reported    × resource blocks
//	                                 └──▶ block error rate
//
// The channel is a function of seed and time alone: shadowing by 100 ms slot,
// fading by coherence block.
//
// Sources: 3GPP TS 36.213 (CQI, MCS, transport block size), 36.942 and 36.814
// (propagation). Units: SINR in dB, time in TTIs of 1 ms, blocks in bits.
package radio
