// Package recording keeps what became of the packets of a run, and lets it come
// about again.
//
//	run ──▶ Recorder ──▶ file ──▶ Read ──▶ Replay: the same fates, bit for bit
//	box ──▶ capture with Notes ──▶ ReadTape ──▶ a recording, and the packets
//	                                            as they came
//
// Replay is a stage. Units: ns since the run began, bytes of Ethernet frame
// without FCS.
package recording
