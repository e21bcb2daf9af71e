// Package stage holds the stages that links without a MAC are made of: gate,
// queue with rate and discipline, loss, corruption, path (propagation delay
// and jitter), reordering, duplication; and the servers that follow a trace.
//
//	        wait, then serve      on the air           travel, in order
//	gate ──▶ queue ──▶ server ──▶ loss ─▶ corrupt ──▶ path ──▶ reorder ──▶ duplicate
//	  │        │                    │
//	too big  no room, AQM         random, bit error, pattern
//
// Every stage has a Config (what stands in a profile), a Check that reports
// all that is wrong with it, and a constructor, which expects a config that
// passed Check. Units: ns, bytes of Ethernet frame without FCS, bit/s;
// probabilities 0..1.
package stage
