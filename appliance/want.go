package appliance

import (
	"fmt"
	"maps"
	"slices"

	"farlink/emulator"
	"farlink/profiles"
)

// Mode is what a pair does with frames.
type Mode string

// The modes. The XDP program on the ports obeys them whether or not an
// engine runs.
const (
	Emulate Mode = "emulate" // frames pass through the emulated links
	Bypass  Mode = "bypass"  // frames go straight to the other port, in the kernel
	CutOff  Mode = "cut"     // no frame passes
)

// Modes lists the modes, for messages and completion.
var Modes = []Mode{Emulate, Bypass, CutOff}

// MainLink is the name of the link that stands in the Want itself.
const MainLink = "main"

// Pass, in place of a link's name, lets frames pass unharmed.
const Pass = emulator.Pass

// Link says what one emulated link is.
type Link struct {
	// Profile is the name of a profile of the box ("geo/qirse-sat").
	Profile string `json:"profile,omitempty" toml:"profile" doc:"Name of a profile of the box." example:"geo/qirse-sat"`
	// Inline is a whole profile as TOML text, in place of Profile.
	Inline string `json:"inline,omitempty" toml:"inline" doc:"A whole profile as TOML text, in place of a name."`
	// Seed makes the channel: the same seed is the same channel.
	Seed uint64 `json:"seed,omitempty" toml:"seed" doc:"Seed of the channel; the same seed is the same channel." example:"7"`
	// Overrides are laid over the profile key by key (as RFC 7396 does it):
	// {"down": {"loss": {"probability": 0.01}}}.
	Overrides map[string]any `json:"overrides,omitempty" toml:"overrides" doc:"Keys laid over the profile, as a merge patch."`
}

// Rule sends the frames that match all of its fields to a link. Fields not
// given match everything; a frame takes the first rule that matches. Address,
// prefix and port match either end, so that one rule takes both ways of a
// flow.
type Rule struct {
	From     string `json:"from,omitempty" toml:"from" doc:"Test port it came in at: a (device side) or b." example:"a"`
	VLAN     string `json:"vlan,omitempty" toml:"vlan" doc:"Outermost VLAN, 0 to 4094, or none for untagged." example:"100"`
	MAC      string `json:"mac,omitempty" toml:"mac" doc:"Source or destination MAC address." example:"02:00:00:00:00:01"`
	Prefix   string `json:"prefix,omitempty" toml:"prefix" doc:"Source or destination IPv4 or IPv6 prefix." example:"10.77.0.0/24"`
	DSCP     string `json:"dscp,omitempty" toml:"dscp" doc:"DSCP, 0 to 63." example:"46"`
	Protocol string `json:"protocol,omitempty" toml:"protocol" doc:"tcp, udp, icmp, … or a number." example:"udp"`
	Port     string `json:"port,omitempty" toml:"port" doc:"Source or destination transport port or range." example:"5000-5100"`
	Link     string `json:"link" toml:"link" doc:"Name of a link, main, or pass: past all links." example:"main"`
}

// Want is what a user wants of one pair. The commonest is a mode and one
// link, which stand in it directly; further links have a name and get the
// frames that the rules send them.
type Want struct {
	Mode Mode `json:"mode,omitempty" toml:"mode" doc:"What the pair does with frames: emulate (when not given), bypass or cut." example:"emulate"`
	Link
	Links   map[string]Link `json:"links,omitempty" toml:"links" doc:"Further links by name."`
	Rules   []Rule          `json:"rules,omitempty" toml:"rules" doc:"Which frames take which link; first match wins."`
	Default string          `json:"default,omitempty" toml:"default" doc:"Link of the frames no rule matches: a name, main (when not given) or pass."`
}

// Names returns the names of all links, main first, the others sorted.
func (w Want) Names() []string {
	return append([]string{MainLink}, slices.Sorted(maps.Keys(w.Links))...)
}

// Named returns the link called name.
func (w Want) Named(name string) (Link, bool) {
	if name == MainLink {
		return w.Link, true
	}
	l, ok := w.Links[name]
	return l, ok
}

// ParseWant reads a want as JSON. Unknown keys and wrong types are problems;
// whether the links can be built is found by Apply.
func ParseWant(doc []byte) (w Want, bad Problems) {
	for _, p := range profiles.ReadJSON(doc, &w) {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return w, bad
}

// ETag is how a version of a want is written.
func ETag(version uint64) string { return fmt.Sprintf("v%d", version) }
