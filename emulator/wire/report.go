package wire

import (
	"time"

	"farlink/emulator/link"
	"farlink/emulator/wire/steer"
)

// Report is how the engine found the ports and the machine when it started.
type Report struct {
	Attached  [2]steer.Attach // native or generic, port A and B
	Why       string          // why generic, where it was not asked for; of the first port that is
	ZeroCopy  bool
	TakenOver bool // from an engine that ran before
	Priority  int  // of SCHED_FIFO; 0 where it is not allowed
	Floor     Floor
	PID       int
}

// Applied is how a document took effect.
type Applied struct {
	At     time.Time     // when the last way had switched
	Time   link.Time     // the same, in the run's time
	Switch link.Duration // from the first look to the last way's switch
	Build  link.Duration // building the emulator, aside from the frames

	// NotEffective says why frames do not meet the document all the same;
	// "" when they do. What the first frames show later is in Stats.
	NotEffective string `json:",omitempty"`
}

// Memory is what the engine's own runtime did since it began.
type Memory struct {
	Allocations uint64
	HeapBytes   uint64
	Collections uint32
}
