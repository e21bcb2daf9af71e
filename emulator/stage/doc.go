// Package stage holds the stages that links without a MAC are made of: gate,
// queue with rate and discipline, path (propagation delay and jitter),
// reordering, duplication. Servers that follow a recording of opportunities
// are in package opportunity.
//
//	        wait, then serve              travel, in order
//	gate ──▶ queue ──▶ server ──▶ air ──▶ path ──▶ reorder ──▶ duplicate
//	  │        │                   │
//	too big  no room, AQM         (package air)
//
// Every stage has a Config (what stands in a profile), a Check that reports
// all that is wrong with it, and a constructor, which expects a config that
// passed Check. Units: ns, bytes of Ethernet frame without FCS, bit/s;
// probabilities 0..1.
package stage
