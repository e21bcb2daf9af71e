package box

import (
	"context"
	"time"

	"farlink/appliance"
	"farlink/emulator/link"
	"farlink/pep"
)

// Ports makes interfaces test ports and gives them back.
type Ports interface {
	// Prepare takes both ports of the pair. An error that will not mend
	// itself is a Refused.
	Prepare(ctx context.Context, p appliance.PairConfig) (Held, error)
	// Watch calls changed when a port of the pair comes or goes, or its
	// carrier, speed or far end does, until ctx ends. It begins with both as they
	// are.
	Watch(ctx context.Context, p appliance.PairConfig, changed func(PortChange)) error
}

// PortChange is how a port is now.
type PortChange struct {
	Port    string
	There   bool // false: it has vanished
	Carrier bool // false: its cable is unplugged, or what is at its end is off
	// Speed of the port, in bits per second; 0 when it is not known.
	Speed link.Rate
	// Unfinished says why frames come in without their checksums, and what to
	// do about it; "" when none will.
	Unfinished string
}

// Held are the ports of a pair while they are test ports.
type Held interface {
	// Release gives the ports back as they were; one that has vanished needs
	// nothing.
	Release() error
}

// Engines starts the processes that move frames.
type Engines interface {
	// Start starts an engine and waits until frames pass it; ctx bounds the
	// start.
	Start(ctx context.Context, c EngineConfig) (Engine, error)
	// Remove takes off the pair's ports what an engine, running or dead,
	// has put there.
	Remove(box string, p appliance.PairConfig) error
}

// EngineConfig is what an engine is started with.
type EngineConfig struct {
	// Box is the name of the box; with that of the pair it is unique on the
	// machine.
	Box  string
	Pair appliance.PairConfig
	// Document says what the links are; Mode what to do with frames.
	Document []byte
	Mode     appliance.Mode
	// PEP says which proxies stand in the path and what they do.
	PEP appliance.PEP
}

// Engine moves the frames of one pair.
type Engine interface {
	// Apply swaps the links for those of the document between two frames.
	// An error means that nothing has changed.
	Apply(ctx context.Context, document []byte) error
	// Run begins a new run with the document: what is inside is dropped,
	// time, packet numbers and counters begin at 0.
	Run(ctx context.Context, document []byte) error
	// SetMode changes what happens to frames.
	SetMode(ctx context.Context, m appliance.Mode) error
	// Snapshot says how it goes. It does not disturb the engine.
	Snapshot() Snapshot
	// Done is closed when the engine has ended by itself; Err says why.
	Done() <-chan struct{}
	Err() error
	// Close ends the engine. What it put on the ports stays and makes the
	// pair fall back.
	Close() error
	// PID is the engine's process.
	PID() int
}

// Snapshot is how an engine is at an instant.
type Snapshot struct {
	Figures  appliance.Figures
	Readings []appliance.Reading
	Verdict  appliance.Verdict
	// Driver says how frames are moved ("native XDP, copy").
	Driver string
	// DriverWhy says why frames are not moved the faster way, "" when they are.
	DriverWhy string
	// Floor is what the engine measured before it took the ports.
	Floor appliance.Floor
	// Checks are what the links promise, held against the frames since the
	// last change.
	Checks []appliance.Check
	// NotEffective says why the links are not as asked, "" when they are.
	NotEffective string
	// Fallen is set while the program on the ports finds that the engine
	// hangs and has taken its fallback.
	Fallen bool
	// Silent is how long the engine has published nothing.
	Silent time.Duration
	// Unshaped counts the frames that met the fallback since the program
	// stands on the ports, whichever engine there was.
	Unshaped uint64
}

// Proxied is an engine with proxies beside it.
type Proxied interface {
	// Configure changes what the proxies do; which there are stays.
	Configure(c pep.Config) error
	// Proxies returns the state of each.
	Proxies() ([]appliance.Proxy, error)
	// Splits lists split connections of a side: most of them from offset on,
	// and how many there are.
	Splits(side string, offset, most int) ([]appliance.Split, int, error)
}
