package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"farlink/emulator/dama"
	"farlink/emulator/leo"
	"farlink/emulator/link"
	"farlink/emulator/lte"
	"farlink/emulator/nr"
	"farlink/emulator/sat"
)

func parsed(t *testing.T, doc string) *Profile {
	t.Helper()
	p, problems := Parse([]byte(doc))
	if p == nil {
		t.Fatalf("%v in\n%s", problems, doc)
	}
	return p
}

const ms = link.Time(link.Millisecond)

// The instants of a timeline of 10^6 steps are where they were asked to be,
// to the nanosecond: k · 1.000001 ms after the start.
func TestTimelineDrift(t *testing.T) {
	p := parsed(t, "[[timeline]]\nat = \"1us\"\nevery = \"1000001ns\"\nset = {\"down.loss.probability\" = 0.1}")
	const began = 77
	at := link.Time(began)
	for k := range link.Time(1000000) {
		at = p.Next(began, at)
		if want := began + 1000 + k*1000001; at != want {
			t.Fatalf("step %d at %d, want %d", k, at, want)
		}
	}
}

// By hand: every entry's instants and values.
func TestTimelineValues(t *testing.T) {
	p := parsed(t, `[down.queue]
rate = "10Mbit/s"
[[timeline]]
at = "1s"
for = "1s"
ramp = "300ms"
set = {"down.queue.rate" = "4Mbit/s"}
[[timeline]]
at = "1500ms"
every = "2s"
repeat = 2
for = "100ms"
[timeline.set]
up.path.delay = "20ms"
[[timeline]]
at = "4s"
set = {"down.queue.rate" = "1Mbit/s"}
`)
	var got []string
	for at := p.Next(0, -1); at != link.Never; at = p.Next(0, at) {
		q := p.At(0, at)
		got = append(got, fmt.Sprint(int64(at/ms), " ", q.Down.Queue.Rate, " ", q.Up.Path.Delay))
	}
	want := []string{
		"1000 10Mbit/s 0ns", // a ramp of three steps: 10, 8, 6, 4
		"1100 8Mbit/s 0ns",
		"1200 6Mbit/s 0ns",
		"1300 4Mbit/s 0ns",
		"1500 4Mbit/s 20ms",
		"1600 4Mbit/s 0ns",
		"1700 4Mbit/s 0ns", // and back
		"1800 6Mbit/s 0ns",
		"1900 8Mbit/s 0ns",
		"2000 10Mbit/s 0ns",
		"3500 10Mbit/s 20ms",
		"3600 10Mbit/s 0ns",
		"4000 1Mbit/s 0ns",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p.Down.Queue.Rate != 10*link.MegabitPerSecond {
		t.Error("the profile itself changed")
	}
}

// Pointers on the way to a key are copied, or made.
func TestTimelineSetsBehindPointers(t *testing.T) {
	p := parsed(t, `[down.queue]
rate = "1Mbit/s"
[down.loss.gilbert]
loss = 0.02
burst = 3.0
[down.path]
delay = "100ms"
[[timeline]]
at = "0"
set = {"down.loss.gilbert.burst" = 6.0}
`)
	q := p.At(0, 0)
	if q.Down.Loss.Gilbert.Burst != 6 || p.Down.Loss.Gilbert.Burst != 3 {
		t.Errorf("burst %v, and %v in the profile itself", q.Down.Loss.Gilbert.Burst, p.Down.Loss.Gilbert.Burst)
	}
}

func TestTimelineCutAndFade(t *testing.T) {
	p := parsed(t, `[down.carrier]
symbol_rate = 1e6
[down.carrier.downlink]
es_n0 = 12.0
[[timeline]]
at = "1s"
for = "2s"
cut = "up"
[[timeline]]
at = "1s"
for = "2s"
ramp = "1s"
fade_db = 5.0
`)
	q := p.At(link.Time(link.Second), link.Time(3*link.Second))
	if a, own := q.Down.Carrier.Downlink.Attenuation, p.Down.Carrier.Downlink.Attenuation; a != 5 || own != 0 {
		t.Errorf("%v dB of attenuation, and %v in the profile itself", a, own)
	}
	if len(q.Down.Cut) != 0 || len(q.Up.Cut) != 1 || q.Up.Cut[0].At != 2*link.Second || q.Up.Cut[0].For != 2*link.Second {
		t.Errorf("cuts %v down, %v up", q.Down.Cut, q.Up.Cut)
	}
}

func TestTimelineProblems(t *testing.T) {
	for entry, want := range map[string]string{
		`set = {"down.queue.rat" = "1Mbit/s"}`: `timeline[0].set.down.queue.rat: got unknown key "down.queue.rat", want "rate" (the nearest known key)`,
		`set = {"lte.prb" = 3}`:                `want a table [lte] in the profile`,
		`set = {"name" = "x"}`:                 `want a key under down, up, geo, leo, lte, nr, dama, weight`,
		"set = {\"dama.superframe\" = \"50ms\"}\n[dama.station]\ncra = \"64kbit/s\"\n[up.path]\ndelay = \"250ms\"": `PUT or PATCH change this one`,
		"set = {\"leo.ground_least\" = \"30ms\"}\n[leo]\ndown = \"9Mbit/s\"\nup = \"9Mbit/s\"":                     `want at least ground_least, 30ms`,
		`set = {"down.queue" = "1Mbit/s"}`:                                `want a key with a single value`,
		`set = {"down.queue.rate" = "1"}`:                                 `has no unit`,
		`set = {"down.loss.probability" = 1.5}`:                           `want a probability`,
		"for = \"3s\"\nevery = \"2s\"\ncut = \"up\"":                      `timeline[0].for: got 3s, want no longer than every, 2s`,
		"repeat = 3\ncut = \"up\"":                                        `timeline[0].repeat`,
		"ramp = \"2s\"\nfor = \"3s\"\nset = {\"down.path.delay\"=\"1s\"}": `want at least both ramps, 4s`,
		`cut = "left"`:              `want "down", "up" or "both"`,
		`fade_db = 3.0`:             `want a carrier that fades`,
		`station = "logon"`:         `want a return link`,
		`at = "3s"`:                 `got nothing that happens`,
		"step = \"1s\"\ncut=\"up\"": `with a ramp beside it`,
	} {
		_, problems := Parse([]byte("[[timeline]]\n" + entry))
		if len(problems) != 1 || !strings.Contains(problems[0].String(), want) || problems[0].Line == 0 {
			t.Errorf("%s: %v, want %s", entry, problems, want)
		}
	}
}

// Every key that has a single value can be set, but for what says what the
// profile is, what it is held against, and the structure of a superframe.
func TestEveryKeyCanBeSet(t *testing.T) {
	whole := Profile{Geo: &sat.Geo{}, LEO: &leo.Config{}, LTE: &lte.Config{}, NR: &nr.Config{}, DAMA: &dama.Config{}}
	refused := 0
	for _, path := range keysOf("", reflect.TypeFor[Profile]()) {
		head, _, _ := strings.Cut(path, ".")
		p := whole
		_, want := reach(reflect.ValueOf(&p).Elem(), path)
		switch {
		case want == "" && !slices.Contains(settable, head):
			t.Errorf("%s can be set", path)
		case want != "" && slices.Contains(settable, head) && settled(path) == "" && !strings.Contains(path, "[0]") && !strings.Contains(want, "a table or a list"):
			t.Errorf("%s cannot be set: want %s", path, want)
		case settled(path) != "":
			refused++
		}
	}
	if refused < len(fixed) {
		t.Errorf("%d keys refused for the structure of the superframe, want %d or more: a name in fixed is wrong", refused, len(fixed))
	}
}
