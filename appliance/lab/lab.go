// Package lab keeps laboratories: a box on virtual cables between two
// namespaces of this machine, its daemon in the background. Several stand at
// once; each leaves nothing behind when it is taken down, whatever happened
// to its processes.
//
//	NAME-a ── a0═a1 ── [ box in NAME-box ] ── b1═b0 ── NAME-b
//	10.77.0.1/24                                       10.77.0.2/24
//	fd77::1/64                                         fd77::2/64
//
// With several carriers there is more on either side: package carriers draws
// it (Ground).
//
// What is known of a lab stands in /run/farlink/labs/NAME: lab.json, the
// daemon's config.toml, its log, its state directory.
package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"farlink/appliance/carriers"
	"farlink/appliance/store"
	"farlink/emulator/link"
	"farlink/pep/bundle"
	"farlink/profiles"
	"farlink/profiles/document"
)

// Root is where labs are kept.
const Root = "/run/farlink/labs"

// Lab is one laboratory, as `farlink lab up --json` prints it.
type Lab struct {
	Name  string `json:"name"`
	API   string `json:"api"`   // "http://127.0.0.1:41234"
	Token string `json:"token"` // for the API, scope admin
	NsA   string `json:"ns_a"`  // namespace of the device side
	NsB   string `json:"ns_b"`  // namespace of the network side
	PID   int    `json:"pid"`   // of the daemon
	// Of a lab of several carriers: a plain device behind the one that has
	// them all, and the server.
	NsDevice string `json:"ns_device,omitempty"`
	NsServer string `json:"ns_server,omitempty"`
}

// Options say what lab to make.
type Options struct {
	Name    string // 1 to 11 of a to z, 0 to 9, and "-"
	Profile string // to boot with
	Seed    uint64
	API     string    // address to listen on; port 0 takes a free one
	MTU     int       // of all interfaces, in bytes; 0 is 1500
	PEP     bool      // with a proxy at either side, its window following the link
	Memory  link.Size // for frames in the links; 0 is the box's default
	// Carriers are the profiles of several carriers side by side; Profile is
	// not heeded then.
	Carriers []string
}

var labName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,10}$`)

// CheckName says what is wrong with the name of a lab.
func CheckName(name string) error {
	if !labName.MatchString(name) {
		return fmt.Errorf("lab name %q: want 1 to 11 of a to z, 0 to 9 and -", name)
	}
	return nil
}

// Check says what is wrong with what can be known before anything is made.
func (o Options) Check() error {
	if err := CheckName(o.Name); err != nil {
		return err
	}
	if o.MTU != 0 && (o.MTU < 1280 || o.MTU > 9202) {
		return fmt.Errorf("mtu %d: want 1280 (the least of IPv6) to 9202 (frames of 9216)", o.MTU)
	}
	if o.PEP && len(o.Carriers) > 0 {
		return errPEP
	}
	return nil
}

// find looks whether the profiles are there: the daemon would only say so in
// its log.
func (o Options) find() (err error) {
	for _, name := range o.profiles() {
		_, missing := profiles.Lookup(name)
		err = errors.Join(err, missing)
	}
	return err
}

func (o Options) profiles() []string {
	if len(o.Carriers) > 0 {
		return o.Carriers
	}
	return []string{o.Profile}
}

func dir(name string) string           { return filepath.Join(Root, name) }
func namespace(name, of string) string { return name + "-" + of }
func namespaces(name string) []string {
	return carriers.Namespaces(name)
}

// Find returns the lab called name.
func Find(name string) (Lab, error) {
	var l Lab
	b, err := os.ReadFile(filepath.Join(dir(name), "lab.json"))
	if errors.Is(err, fs.ErrNotExist) || !labName.MatchString(name) {
		return l, missing(name)
	}
	if err != nil {
		return l, fmt.Errorf("lab %s: %w", name, err)
	}
	if err := document.Unmarshal(b, &l); err != nil {
		return l, fmt.Errorf("lab %s: %w", name, err)
	}
	// A daemon that was started again may be elsewhere.
	if d := running(name); d.API != "" && isDaemon(d.PID, name) {
		l.API, l.PID = d.API, d.PID
	}
	return l, nil
}

// missing says which labs there are instead.
func missing(name string) error {
	labs, err := List()
	if err != nil || len(labs) == 0 {
		return fmt.Errorf("no lab %q; `farlink lab up --name %s` makes it", name, name)
	}
	var names []string
	for _, l := range labs {
		names = append(names, l.Name)
	}
	return fmt.Errorf("no lab %q; there is %s", name, strings.Join(names, ", "))
}

// List returns all labs by name.
func List() ([]Lab, error) {
	entries, err := os.ReadDir(Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list labs: %w", err)
	}
	var labs []Lab
	for _, e := range entries {
		if l, err := Find(e.Name()); err == nil {
			labs = append(labs, l)
		}
	}
	slices.SortFunc(labs, func(a, b Lab) int { return strings.Compare(a.Name, b.Name) })
	return labs, nil
}

// Side is a namespace of a lab by the word that Exec takes.
type Side struct {
	Word  string // "a"
	Netns string
	What  string // "device"
}

// Sides lists the sides, from the device to the server.
func (l Lab) Sides() []Side {
	if l.NsDevice == "" {
		return []Side{{"a", l.NsA, "device side"}, {"b", l.NsB, "network side"}}
	}
	return []Side{{"d", l.NsDevice, "plain device"}, {"a", l.NsA, "device with all carriers"},
		{"b", l.NsB, "proxy"}, {"s", l.NsServer, "server"}}
}

// Alive reports whether the lab's daemon runs.
func (l Lab) Alive() bool { return l.PID != 0 && isDaemon(l.PID, l.Name) }

// isDaemon reports whether the process is the daemon of the lab, and not
// another that has got its number.
func isDaemon(pid int, name string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && slices.Contains(strings.Split(string(b), "\x00"), configFile(name))
}

func configFile(name string) string { return filepath.Join(dir(name), "config.toml") }

// config writes the daemon's configuration.
func config(o Options, site bundle.Site, token string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name = %q\nstate = %q\n\n", "lab-"+o.Name, filepath.Join(dir(o.Name), "state"))
	fmt.Fprintf(&b, "[api]\nlisten = %q\n\n", o.API)
	fmt.Fprintf(&b, "[[api.tokens]]\nname = \"lab\"\nscope = \"admin\"\nsecret = %q\n\n", token)
	fmt.Fprintf(&b, "[[pairs]]\nname = \"main\"\na = \"a1\"\nb = \"b1\"\nnetns = %q\n", namespace(o.Name, "box"))
	if o.Memory != 0 {
		fmt.Fprintf(&b, "memory = %q\n", o.Memory)
	}
	for _, h := range o.hosts() {
		fmt.Fprintf(&b, "\n[pairs.hosts.%s]\naddress = %q\nnetns = %q\n", h.side, h.address, namespace(o.Name, h.of))
	}
	if len(o.Carriers) > 0 {
		o.boot(&b, site)
		bundleConfig(&b, site)
		return b.String()
	}
	fmt.Fprintf(&b, "\n[pairs.boot]\nprofile = %q\nseed = %d\n", o.Profile, o.Seed)
	if o.PEP {
		fmt.Fprint(&b, "\n[pairs.pep]\nnear = true\nfar = true\nenabled = true\nhandshake = \"deferred\"\n\n[pairs.pep.wan]\ncongestion = \"xlayer\"\n")
	}
	return b.String()
}

// host is where traffic of an experiment begins or ends.
type host struct{ side, of, address string }

// hosts are those of a lab.
func (o Options) hosts() []host {
	if len(o.Carriers) > 0 {
		return []host{{"a", "d", "10.78.0.2"}, {"b", "s", "10.79.0.2"}}
	}
	return []host{{"a", "a", "10.77.0.1"}, {"b", "b", "10.77.0.2"}}
}

// save writes lab.json, readable by root alone: it holds the token.
func (l Lab) save() error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	store, err := store.Open(dir(l.Name))
	if err != nil {
		return err
	}
	return store.SaveSecret("lab.json", append(b, '\n'))
}
