package appliance

import (
	"context"

	"farlink/emulator/link"
)

// Ports makes interfaces test ports and gives them back.
type Ports interface {
	// Prepare takes both ports of the pair. An error that will not mend
	// itself is a Refused.
	Prepare(ctx context.Context, p PairConfig) (Held, error)
	// Watch calls changed when a port of the pair comes or goes, or its
	// carrier or speed does, until ctx ends. It begins with both as they
	// are.
	Watch(ctx context.Context, p PairConfig, changed func(PortChange)) error
}

// PortChange is how a port is now.
type PortChange struct {
	Port    string
	There   bool // false: it has vanished
	Carrier bool // false: its cable is unplugged, or what is at its end is off
	// Speed of the port, in bits per second; 0 when it is not known.
	Speed link.Rate
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
	Remove(box string, p PairConfig) error
}

// EngineConfig is what an engine is started with.
type EngineConfig struct {
	// Box is the name of the box; with that of the pair it is unique on the
	// machine.
	Box  string
	Pair PairConfig
	// Document says what the links are; Mode what to do with frames.
	Document []byte
	Mode     Mode
	// PEP says which proxies stand in the path and what they do.
	PEP PEP
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
	SetMode(ctx context.Context, m Mode) error
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
	Figures  Figures
	Readings []Reading
	Verdict  Verdict
	// Driver says how frames are moved ("native XDP, copy").
	Driver string
	// DriverWhy says why frames are not moved the faster way, "" when they are.
	DriverWhy string
	// Floor is what the engine measured before it took the ports.
	Floor Floor
	// Checks are what the links promise, held against the frames since the
	// last change.
	Checks []Check
	// NotEffective says why the links are not as asked, "" when they are.
	NotEffective string
	// Fallen is set while the program on the ports finds that the engine
	// hangs and has taken its fallback.
	Fallen bool
}

// PairConfig is a pair as the configuration has it.
type PairConfig struct {
	// Name of the pair, for documents and files: a to z, 0 to 9, and "-".
	Name string `toml:"name"`
	// A is the port on the device side, B the one on the network side.
	A string `toml:"a"`
	B string `toml:"b"`
	// Netns is the network namespace that holds the ports; "" is the
	// daemon's own.
	Netns string `toml:"netns"`
	// Fallback is what happens to frames when the engine dies or hangs:
	// bypass or cut.
	Fallback Mode `toml:"fallback"`
	// FailAfter is how long an engine may be silent before it counts as
	// hung.
	FailAfter link.Duration `toml:"fail_after"`
	// Memory bounds the frames held by the links of the pair.
	Memory link.Size `toml:"memory"`
	// MTU of both ports; 0 keeps the larger of what they have.
	MTU int `toml:"mtu"`
	// Boot is what the pair does when nothing else was asked, and after a
	// reset.
	Boot Want `toml:"boot"`
	// PEP is what the pair's proxies do when nothing else was asked.
	PEP PEP `toml:"pep"`
	// Hosts are the ends of the traffic that the box makes itself.
	Hosts HostsConfig `toml:"hosts"`
}

// HostsConfig says between what ends the box makes the traffic of its own
// experiments: addresses of this machine beyond the ports.
type HostsConfig struct {
	A HostConfig `toml:"a"` // device side
	B HostConfig `toml:"b"` // network side
}

// HostConfig is one end.
type HostConfig struct {
	Address string `toml:"address"` // an IP address
	Netns   string `toml:"netns"`   // namespace that has it
}
