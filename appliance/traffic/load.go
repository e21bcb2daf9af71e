package traffic

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"farlink/emulator/link"
	"farlink/emulator/tally"
)

// Kinds are the kinds of traffic.
var Kinds = []string{"tcp", "udp", "ping", "page", "command"}

// Load says what traffic to make.
type Load struct {
	Name string `toml:"name" json:"name"` // of its figures: "bulk" gives "bulk.goodput_bps"
	Kind string `toml:"kind" json:"kind"` // one of Kinds
	// Way is where the bytes of tcp and udp go: down (to the device) or up.
	Way string `toml:"way" json:"way,omitempty"`
	// Start is how long after the others it begins.
	Start link.Duration `toml:"start" json:"start,omitempty"`
	// Duration is how long it goes on; a command, and the page that is under
	// way then, may take 30 s longer.
	Duration link.Duration `toml:"duration" json:"duration,omitempty"`
	// Skip leaves the first so long out of means: slow start, filling queues.
	Skip link.Duration `toml:"skip" json:"skip,omitempty"`

	// Streams is how many connections tcp has: 1.
	Streams int `toml:"streams" json:"streams,omitempty"`
	// Congestion is the sender's congestion control: the kernel's own when
	// not given.
	Congestion string `toml:"congestion" json:"congestion,omitempty"`
	// Bytes ends each connection of tcp after so many; Duration is then the
	// longest it may take.
	Bytes link.Size `toml:"bytes" json:"bytes,omitempty"`

	// Rate of udp, in bits per second of payload.
	Rate link.Rate `toml:"rate" json:"rate,omitempty"`
	// Size is the payload of a datagram (1200B), an echo (56B) or an object
	// of a page (20kB).
	Size link.Size `toml:"size" json:"size,omitempty"`
	// Every is the time between echoes (200ms) or between the end of a page
	// and the next (0).
	Every link.Duration `toml:"every" json:"every,omitempty"`

	// Objects of a page (30), each over a connection of its own, so many at
	// a time as Parallel says (6).
	Objects  int `toml:"objects" json:"objects,omitempty"`
	Parallel int `toml:"parallel" json:"parallel,omitempty"`

	// On is the side that runs the command or sends the echoes: a or b.
	On string `toml:"on" json:"on,omitempty"`
	// Command and its arguments; {a} and {b} stand for the addresses of the
	// sides, {duration} for Duration in whole seconds.
	Command []string `toml:"command" json:"command,omitempty"`
	// Serve is a command for the other side, there as long as Command runs.
	Serve []string `toml:"serve" json:"serve,omitempty"`
	// Pick takes numbers from what the command prints: the name of the
	// figure, and a regular expression with one group; the last match holds.
	Pick map[string]string `toml:"pick" json:"pick,omitempty"`
}

// WithDefaults fills in what was not given.
func (l Load) WithDefaults() Load {
	or(&l.Name, l.Kind)
	or(&l.Way, "down")
	or(&l.On, "a")
	or(&l.Duration, 10*link.Second)
	or(&l.Streams, 1)
	or(&l.Objects, 30)
	or(&l.Parallel, 6)
	or(&l.Size, map[string]link.Size{"udp": 1200, "ping": 56, "page": 20000}[l.Kind])
	if l.Kind == "ping" {
		or(&l.Every, 200*link.Millisecond)
	}
	return l
}

func or[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

var goodName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Check reports every problem of the load, defaults filled in.
func (l Load) Check(report link.Report) {
	if !slices.Contains(Kinds, l.Kind) {
		report("kind", fmt.Sprintf("%q", l.Kind), "one of "+strings.Join(Kinds, ", "))
		return
	}
	if !goodName.MatchString(l.Name) {
		report("name", fmt.Sprintf("%q", l.Name), "1 to 32 of a to z, 0 to 9, - and _")
	}
	if l.Way != "down" && l.Way != "up" {
		report("way", fmt.Sprintf("%q", l.Way), "down (to the device) or up")
	}
	if l.On != "a" && l.On != "b" {
		report("on", fmt.Sprintf("%q", l.On), "a (device side) or b (network side)")
	}
	within(report, "duration", l.Duration, 100*link.Millisecond, 3600*link.Second)
	within(report, "start", l.Start, 0, 3600*link.Second)
	within(report, "skip", l.Skip, 0, l.Duration-100*link.Millisecond)
	within(report, "every", l.Every, 0, 60*link.Second)
	count(report, "streams", l.Streams, 64)
	count(report, "objects", l.Objects, 1000)
	count(report, "parallel", l.Parallel, 64)
	l.checkKind(report)
}

func within(report link.Report, path string, d, least, most link.Duration) {
	if d < least || d > most {
		report(path, d.String(), fmt.Sprintf("%v to %v", least, most))
	}
}

func count(report link.Report, path string, n, most int) {
	if n < 1 || n > most {
		report(path, fmt.Sprint(n), fmt.Sprintf("1 to %d", most))
	}
}

// checkKind reports what is wrong for this kind of traffic.
func (l Load) checkKind(report link.Report) {
	switch l.Kind {
	case "udp":
		if l.Rate < 1000 || l.Rate > 1e9 {
			report("rate", l.Rate.String(), "1kbit/s to 1Gbit/s")
		}
		if l.Size < udpHead || l.Size > 8900 {
			report("size", l.Size.String(), fmt.Sprintf("%dB to 8900B", udpHead))
		}
	case "ping":
		if l.Every < 10*link.Millisecond {
			report("every", l.Every.String(), "10ms or more")
		}
		if l.Size < pingHead || l.Size > 8900 {
			report("size", l.Size.String(), fmt.Sprintf("%dB to 8900B", pingHead))
		}
	case "tcp":
		if l.Bytes < 0 || l.Bytes > 1<<40 {
			report("bytes", l.Bytes.String(), "up to 1TiB")
		}
	case "page":
		if l.Size < 1 || l.Size > 1<<30 {
			report("size", l.Size.String(), "1B to 1GiB")
		}
	case "command":
		l.checkCommand(report)
	}
}

func (l Load) checkCommand(report link.Report) {
	if len(l.Command) == 0 || l.Command[0] == "" {
		report("command", "nothing", `a command and its arguments: ["curl", "http://{b}/"]`)
	}
	for _, name := range sortedNames(l.Pick) {
		path := "pick." + name
		if !goodName.MatchString(name) {
			report(path, fmt.Sprintf("%q", name), "a name of a to z, 0 to 9, - and _ that ends in its unit")
		}
		if e, err := regexp.Compile(l.Pick[name]); err != nil {
			report(path, fmt.Sprintf("%q: %v", l.Pick[name], err), "a regular expression (RE2)")
		} else if e.NumSubexp() != 1 {
			report(path, fmt.Sprintf("%q", l.Pick[name]), "a regular expression with one group: the number")
		}
	}
}

// Host is a side of the box.
type Host struct {
	Address string   `toml:"address" json:"address"`       // IPv4 or IPv6
	Netns   string   `toml:"netns" json:"netns,omitempty"` // where to open sockets and run commands; "" is our own
	Via     []string `toml:"via" json:"via,omitempty"`     // before each command, to reach it: ["ssh", "root@dut"]
}

// Check reports every problem of the host.
func (h Host) Check(report link.Report) {
	if _, err := netip.ParseAddr(h.Address); err != nil {
		report("address", fmt.Sprintf("%q", h.Address), "an IPv4 or IPv6 address")
	}
	if h.Netns != "" && len(h.Via) > 0 {
		report("via", strings.Join(h.Via, " "), "netns (on this machine) or via (on another), not both")
	}
}

// Hosts are the two sides.
type Hosts struct {
	A Host `toml:"a" json:"a"` // device side
	B Host `toml:"b" json:"b"` // network side
}

// side returns the named side, and the other.
func (h Hosts) side(name string) (this, other Host) {
	if name == "b" {
		return h.B, h.A
	}
	return h.A, h.B
}

// Builtin reports whether the hosts can send the traffic of the load: what is
// no command needs sockets of our own at both sides.
func (h Hosts) Builtin(l Load) bool {
	return l.Kind == "command" || len(h.A.Via) == 0 && len(h.B.Via) == 0
}

// Step is the time between the values of a series.
const Step = 100 * time.Millisecond

// Column is a series: value i is of the time from i to i+1 Steps after the
// load began; what is not known is null.
type Column struct {
	Name   string        `json:"name"`
	Values []tally.Value `json:"values"`
}

// Result is what was measured.
type Result struct {
	Figures map[string]float64 `json:"figures"`
	Series  []Column           `json:"series,omitempty"`
	Output  string             `json:"output,omitempty"` // the end of what a command printed
}

// Run makes the traffic of the load between the hosts. With an error, the
// result holds what was measured all the same.
func Run(ctx context.Context, h Hosts, l Load) (Result, error) {
	l = l.WithDefaults()
	if !pause(ctx, time.Duration(l.Start)) {
		return Result{}, context.Cause(ctx)
	}
	run := map[string]func(context.Context, Hosts, Load) (Result, error){
		"tcp": tcp, "udp": udp, "ping": ping, "page": page, "command": command}[l.Kind]
	if run == nil {
		return Result{}, fmt.Errorf("traffic %q: want one of %s", l.Kind, strings.Join(Kinds, ", "))
	}
	r, err := run(ctx, h, l)
	if err != nil {
		err = fmt.Errorf("%s: %w", l.Name, err)
	}
	return r, err
}

// pause waits, and reports whether the time came before the end of ctx.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
