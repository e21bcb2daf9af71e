package appliance

import "farlink/emulator/link"

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
