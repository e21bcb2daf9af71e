package appliance

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"farlink/emulator/link"
	"farlink/profiles/document"
)

// Config is the configuration file of `farlink serve`. What each key means
// stands in docs/config.toml, which a test reads.
type Config struct {
	Name  string       `toml:"name"`
	State string       `toml:"state"`
	API   APIConfig    `toml:"api"`
	Pairs []PairConfig `toml:"pairs"`
	// Multipath is several paths held together; none when not given.
	Multipath *MultipathConfig `toml:"multipath"`
}

// APIConfig is how the box is driven.
type APIConfig struct {
	Listen       string        `toml:"listen"`
	AllowedHosts []string      `toml:"allowed_hosts"`
	Open         string        `toml:"open"`
	TLS          string        `toml:"tls"`
	Certificate  string        `toml:"certificate"`
	Key          string        `toml:"key"`
	Tokens       []TokenConfig `toml:"tokens"`
}

// TokenConfig is a bearer token that stands in the configuration.
type TokenConfig struct {
	Name   string `toml:"name"`
	Scope  string `toml:"scope"`
	Secret string `toml:"secret"`
}

// Defaults of what a configuration does not say.
const (
	DefaultListen    = "127.0.0.1:8080"
	DefaultState     = "/var/lib/farlink"
	DefaultFailAfter = 250 * link.Millisecond
	DefaultMemory    = 256 * link.Size(1e6)
	DefaultProfile   = "clear"
)

// ReadConfig reads the configuration file. The problems name the file, and
// are the error that err is when there are any.
func ReadConfig(path string) (Config, error) {
	text, err := readSmall(path)
	if err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	c, problems := ParseConfig(text)
	if len(problems) == 0 {
		return c, nil
	}
	for i := range problems {
		problems[i] = problems[i].In(path)
	}
	return c, problems
}

// configMost bounds a configuration: /dev/zero is none.
const configMost = 1 << 20

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, configMost+1))
	if err == nil && len(text) > configMost {
		err = fmt.Errorf("%s: more than %d bytes; want the configuration of a box", path, configMost)
	}
	return text, err
}

// ParseConfig reads a configuration and fills in what it does not say.
func ParseConfig(text []byte) (c Config, bad Problems) {
	r := &document.Reader{}
	t := r.TOML(text)
	if t == nil {
		return c, r.Sorted()
	}
	r.Table("", t, reflect.ValueOf(&c).Elem())
	c.fill()
	checked := document.Reader{Places: r.Places}
	c.check(checked.Report)
	unread := r.Problems
	for _, p := range checked.Problems {
		if !slices.ContainsFunc(unread, func(u Problem) bool { return follows(p, u) }) {
			r.Problems = append(r.Problems, p)
		}
	}
	return c, r.Sorted()
}

// follows reports whether a problem of a value may only follow from what could
// not be read: it is about that, depends on it, or misses what a misspelt key
// was to say.
func follows(p, unread Problem) bool {
	beside := document.Parent(unread.Path)
	switch {
	case document.UnknownKey(unread):
		missing := slices.Contains([]string{"nothing", "none", `""`, "0 characters"}, p.Got)
		return missing && document.Parent(p.Path) == beside
	case document.Within(p.Path, unread.Path):
		return true
	case unread.Path == "api.tls":
		return p.Path == "api.certificate" || p.Path == "api.key"
	case beside != "" && unread.Path == beside+".netns": // ports of one name may be in two namespaces
		return strings.Contains(p.Got, ", which is pairs[")
	}
	return document.Within(p.Path, "multipath") && document.Within(unread.Path, "multipath")
}

func (c *Config) fill() {
	if c.Name == "" {
		c.Name, _ = os.Hostname()
	}
	set(&c.State, DefaultState)
	set(&c.API.Listen, DefaultListen)
	set(&c.API.Open, "none")
	set(&c.API.TLS, "off")
	for i := range c.API.Tokens {
		set(&c.API.Tokens[i].Scope, "drive")
	}
	for i := range c.Pairs {
		p := &c.Pairs[i]
		if len(c.Pairs) == 1 {
			set(&p.Name, "main")
		}
		set(&p.Fallback, Bypass)
		set(&p.FailAfter, DefaultFailAfter)
		set(&p.Memory, DefaultMemory)
		set(&p.Boot.Mode, Emulate)
		if p.Boot.Profile == "" && p.Boot.Inline == "" {
			p.Boot.Profile = DefaultProfile
		}
	}
}

// set gives a key that was not given its default.
func set[T comparable](key *T, value T) {
	var none T
	if *key == none {
		*key = value
	}
}

var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

var pairName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// check says everything that is wrong with the configuration.
func (c *Config) check(say link.Report) {
	if !tokenName.MatchString(c.Name) { // directories are named after it
		say("name", fmt.Sprintf("%q", c.Name), "1 to 64 letters, digits, dots, dashes or underscores")
	}
	if !strings.Contains(c.API.Listen, ":") {
		say("api.listen", fmt.Sprintf("%q", c.API.Listen), `an address with a port, such as "127.0.0.1:8080"`)
	}
	if len(c.Pairs) == 0 {
		say("pairs", "none", `at least one [[pairs]] with a = "eth1" and b = "eth2"`)
	}
	used := map[string]string{}
	names := map[string]bool{}
	for i, p := range c.Pairs {
		path := fmt.Sprintf("pairs[%d].", i)
		if !pairName.MatchString(p.Name) {
			say(path+"name", fmt.Sprintf("%q", p.Name), "1 to 32 of a to z, 0 to 9 and -")
		}
		if names[p.Name] {
			say(path+"name", fmt.Sprintf("%q once more", p.Name), "a name of its own")
		}
		names[p.Name] = true
		for _, port := range []struct{ key, name string }{{"a", p.A}, {"b", p.B}} {
			at := p.Netns + "/" + port.name
			switch {
			case port.name == "":
				say(path+port.key, "nothing", "the name of an interface")
			case used[at] != "":
				say(path+port.key, fmt.Sprintf("%q, which is %s", port.name, used[at]), "a port of its own")
			}
			used[at] = path + port.key
		}
		p.check(path, say)
	}
	c.API.check(say)
	if c.Multipath != nil {
		c.Multipath.check(say)
	}
	for i, t := range c.API.Tokens {
		path := fmt.Sprintf("api.tokens[%d].", i)
		if !tokenName.MatchString(t.Name) {
			say(path+"name", fmt.Sprintf("%q", t.Name), "1 to 64 letters, digits, dots, dashes or underscores")
		}
		if !slices.Contains([]string{"read", "drive", "admin"}, t.Scope) {
			say(path+"scope", fmt.Sprintf("%q", t.Scope), "read, drive or admin")
		}
		if len(t.Secret) < 16 {
			say(path+"secret", fmt.Sprintf("%d characters", len(t.Secret)), "at least 16")
		}
	}
}

func (a APIConfig) check(say link.Report) {
	if !slices.Contains([]string{"none", "read", "drive"}, a.Open) {
		say("api.open", fmt.Sprintf("%q", a.Open), "none, read or drive")
	}
	if !slices.Contains([]string{"off", "self", "own"}, a.TLS) {
		say("api.tls", fmt.Sprintf("%q", a.TLS), "off, self or own")
	}
	for _, file := range []struct{ key, path string }{{"api.certificate", a.Certificate}, {"api.key", a.Key}} {
		if a.TLS == "own" && file.path == "" {
			say(file.key, "nothing", `the path of a PEM file, as api.tls is "own"`)
		}
		if a.TLS != "own" && file.path != "" {
			say(file.key, fmt.Sprintf("%q", file.path), `nothing, or api.tls = "own"`)
		}
	}
}

func (p PairConfig) check(path string, say link.Report) {
	if p.Fallback != Bypass && p.Fallback != CutOff {
		say(path+"fallback", fmt.Sprintf("%q", p.Fallback), "bypass or cut")
	}
	if p.FailAfter < 100*link.Millisecond || p.FailAfter > 10*link.Second {
		say(path+"fail_after", p.FailAfter.String(), "100ms to 10s")
	}
	if p.Memory < 1e6 {
		say(path+"memory", p.Memory.String(), "at least 1MB")
	}
	if p.MTU != 0 && (p.MTU < 68 || p.MTU > 9202) {
		say(path+"mtu", fmt.Sprint(p.MTU), "68 to 9202, or 0 to keep what the ports have")
	}
	p.Hosts.check(path+"hosts.", say)
}

func (h HostsConfig) check(path string, say link.Report) {
	if h == (HostsConfig{}) {
		return
	}
	for _, end := range []struct {
		key string
		HostConfig
	}{{"a", h.A}, {"b", h.B}} {
		if _, err := netip.ParseAddr(end.Address); err != nil {
			say(path+end.key+".address", fmt.Sprintf("%q", end.Address), "an IP address: both ends, or neither")
		}
		if end.Netns == "" {
			say(path+end.key+".netns", "nothing", "the namespace that has the address: in the box's own one the traffic would not go over the ports")
		}
	}
}
