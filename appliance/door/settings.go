package door

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"farlink/appliance"
	"farlink/appliance/access"
)

// Settings say where and how the API is served.
type Settings struct {
	Listen       string   `json:"listen" doc:"Address and port of API and panel; an empty address is every one of the machine." example:"192.0.2.2:8443"`
	AllowedHosts []string `json:"allowed_hosts" doc:"Names by which the box may be called, besides addresses, localhost and the machine's own name."`
	Open         string   `json:"open" enum:"none,read,drive" doc:"What a caller without a token or login may do."`
	TLS          string   `json:"tls" enum:"off,self,own" doc:"off is plain HTTP, self TLS with a certificate that the box makes for itself, own with one that was uploaded or that the configuration names."`
}

// Configured are the settings of a configuration.
func Configured(a appliance.APIConfig) Settings {
	return Settings{a.Listen, slices.Clone(a.AllowedHosts), a.Open, a.TLS}
}

// hostForm is that of a name in DNS.
var hostForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*[.]?$`)

// check lists everything wrong with the settings; an address that stays as
// the configuration has it is its matter.
func (s Settings) check(config Settings) (bad appliance.Problems) {
	say := func(path, got, want string) {
		bad = append(bad, appliance.Problem{Path: path, Got: fmt.Sprintf("%q", got), Want: want})
	}
	host, port, err := net.SplitHostPort(s.Listen)
	n, wrong := strconv.ParseUint(port, 10, 16)
	if good := err == nil && wrong == nil && n > 0 && (host == "" || host == "localhost" || net.ParseIP(host) != nil); !good && s.Listen != config.Listen {
		say("listen", s.Listen, `an IP address of the machine and a port, such as "192.0.2.2:8443", or ":8443" for all addresses`)
	}
	for i, name := range s.AllowedHosts {
		if len(name) > 253 || !hostForm.MatchString(name) {
			say(fmt.Sprintf("allowed_hosts[%d]", i), name, `a name without scheme and port, such as "bench-3.lab.example"`)
		}
	}
	if !slices.Contains([]string{"none", "read", "drive"}, s.Open) {
		say("open", s.Open, "none, read or drive")
	}
	if !slices.Contains([]string{"off", "self", "own"}, s.TLS) {
		say("tls", s.TLS, "off, self or own")
	}
	return bad
}

// settingsFile is the state file of settings that are not the
// configuration's.
const settingsFile = "settings.json"

// load reads the settings that were made while the box ran; false when there
// are none.
func load(dir string, config Settings) (s Settings, ok bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, settingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err == nil && len(s.check(config)) > 0 {
		err = s.check(config)
	}
	if err != nil {
		return s, false, fmt.Errorf("%s: %w; mend it or remove it", filepath.Join(dir, settingsFile), err)
	}
	return s, true, nil
}

// keep writes the settings down, or removes them when they are the
// configuration's.
func (d *Door) keep(s Settings) error {
	file := filepath.Join(d.dir, settingsFile)
	if reflect.DeepEqual(s, d.config) {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return access.Replace(file, append(b, '\n'))
}

// Certificate is what is known of the one in use.
type Certificate struct {
	Fingerprint string    `json:"fingerprint_sha256" doc:"As browsers show it."`
	Names       []string  `json:"names" doc:"Names and addresses that it is for."`
	Issuer      string    `json:"issuer"`
	Until       time.Time `json:"until" doc:"When it ends."`
}

func about(c tls.Certificate) *Certificate {
	if c.Leaf == nil {
		return nil
	}
	names := slices.Clone(c.Leaf.DNSNames)
	for _, ip := range c.Leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return &Certificate{access.Fingerprint(c), names, c.Leaf.Issuer.String(), c.Leaf.NotAfter}
}

// certificate finds the one that settings ask for; none with TLS off.
func (d *Door) certificate(s Settings) (c tls.Certificate, err error) {
	switch s.TLS {
	case "self":
		names := access.OwnNames(s.AllowedHosts)
		if host, _, _ := net.SplitHostPort(s.Listen); net.ParseIP(host) != nil && !net.ParseIP(host).IsUnspecified() {
			names = append(names, host)
		}
		c, _, err = access.SelfMade(d.dir, names, time.Now())
	case "own":
		if c, err = access.Uploaded(d.dir); errors.Is(err, fs.ErrNotExist) && d.files[0] != "" {
			c, err = tls.LoadX509KeyPair(d.files[0], d.files[1])
		}
		if errors.Is(err, fs.ErrNotExist) && d.files[0] == "" {
			err = errors.New("there is no certificate yet; upload one first")
		}
	}
	return c, err
}
