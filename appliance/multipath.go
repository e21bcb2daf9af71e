package appliance

import (
	"errors"

	"farlink/pep/bundle"
	"farlink/profiles"
)

// MultipathConfig is the bundle of paths of a box: where it stands, and what
// it does when nothing else was asked.
type MultipathConfig struct {
	Site bundle.Site     `toml:"site"`
	Boot bundle.Carriage `toml:"boot"`
}

// check lists everything wrong with it.
func (c *MultipathConfig) check(say func(path, got, want string)) {
	c.Site.Check(func(path, got, want string) { say("multipath.site."+path, got, want) })
	c.Boot.Check(&c.Site, func(path, got, want string) { say("multipath.boot."+path, got, want) })
}

// MultipathState is the state of a box's bundle of paths.
type MultipathState struct {
	Want      bundle.Carriage `json:"want" doc:"What was asked."`
	ETag      string          `json:"etag" doc:"Version of the want, for If-Match."`
	Note      string          `json:"note" doc:"What the mode is, in plain words."`
	Effective bool            `json:"effective" doc:"Whether it is as asked; why says why not."`
	Why       string          `json:"why,omitempty" doc:"Why it is not as asked."`
	PID       int             `json:"pid,omitempty" doc:"Process of the relays, 0 while it does not run."`
	Restarts  int             `json:"restarts" doc:"How often it had to be started again."`
	bundle.Status
}

// ErrNoMultipath is returned by a box without a bundle of paths.
var ErrNoMultipath = errors.New("this box has no bundle of paths: no [multipath] in its configuration")

// ParseMultipath reads the want of a bundle as JSON.
func ParseMultipath(doc []byte) (w bundle.Carriage, bad Problems) {
	for _, p := range profiles.ReadJSON(doc, &w) {
		if p.Level == profiles.Error {
			bad = append(bad, p)
		}
	}
	return w, bad
}
