// Package lte models an LTE carrier (3GPP Release 8 to 10 FDD) below the IP
// layer: a cell that schedules user equipments each millisecond, both ways.
//
//	          ┌──────────────── Cell, one TTI = 1 ms ───────────────┐
//	Put ─▶ RLC buffer ─▶ scheduler ─▶ CQI→MCS→TBS ─▶ HARQ ─▶ in-order ─▶ Deliver
//	          │  (uplink: SR ─▶ grant ─▶ BSR ─▶ grants)  │ RLC AM repairs
//	          └─ PDCP discard     DRX, RRC idle, handover └ what HARQ left
//
// The channel is a function of seed and time alone: shadowing by 100 ms slot,
// fading by coherence block, HARQ by TTI. TTIs in which no UE has anything to
// send cost nothing: the cell jumps over them.
//
// Sources: 3GPP TS 36.211 (timing), 36.213 (CQI, MCS, transport block size),
// 36.321 (HARQ, SR, BSR, DRX), 36.322 (RLC), 36.323 (PDCP), 36.331 (RRC),
// 36.881 (latency components), 36.942 and 36.814 (propagation). What each
// formula took from where stands with it.
//
// Units: times in nanoseconds (link.Time, link.Duration), sizes in bytes of
// Ethernet frames at the edges and in bits of transport blocks inside, SINR in
// dB.
package lte
