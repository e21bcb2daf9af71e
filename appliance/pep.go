package appliance

import (
	"farlink/pep"
	"farlink/profiles"
)

// PEP is what a user wants of the proxies of a pair: which there are, and
// what they do. With neither, the pair has none.
type PEP struct {
	Near bool `json:"near" toml:"near" doc:"A proxy at the device's side."`
	Far  bool `json:"far" toml:"far" doc:"A proxy at the network's side."`
	pep.Config
}

// On reports whether there is a proxy.
func (w PEP) On() bool { return w.Near || w.Far }

// Problems lists everything wrong with the want.
func (w PEP) Problems() (bad Problems) {
	w.Check(func(path, got, want string) { bad = append(bad, Problem{Path: path, Got: got, Want: want}) })
	if w.Enabled && !w.On() {
		bad = append(bad, Problem{Path: "enabled", Got: "true", Want: "near or far, or both: without a proxy there is nothing to enable"})
	}
	return bad
}

// ParsePEP reads the want of proxies as JSON.
func ParsePEP(doc []byte) (w PEP, bad Problems) {
	for _, p := range profiles.ReadJSON(doc, &w) {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return w, bad
}

// Proxy is the state of one proxy.
type Proxy struct {
	Side string `json:"side" enum:"near,far"`
	PID  int    `json:"pid"`
	// Silent says why there are no figures: a proxy that has ended, or hangs.
	Silent string `json:"silent,omitempty" doc:"Why there are no figures of this proxy: it does not answer."`
	pep.Status
}

// PEPState is the state of the proxies of a pair.
type PEPState struct {
	Want    PEP     `json:"want"`
	ETag    string  `json:"etag"`
	Proxies []Proxy `json:"proxies"`
}

// Split is a split connection as one of the proxies sees it.
type Split struct {
	Side string `json:"side" enum:"near,far"`
	pep.Flow
}

// String is one line for people.
func (w PEP) String() string {
	word := "on"
	if !w.Enabled {
		word = "passing"
	}
	switch {
	case w.Near && w.Far:
		return "proxies near and far, " + word
	case w.Near:
		return "proxy near, " + word
	case w.Far:
		return "proxy far, " + word
	}
	return "no proxies"
}
