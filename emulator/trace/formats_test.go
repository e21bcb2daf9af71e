package trace

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/trace/lines"
	"farlink/emulator/trace/lines/linestest"
)

func TestOpenSAND(t *testing.T) {
	for _, text := range []string{"0 250\n10 251.5\n", "0,250\n10,251.5\n", "# x\n\n0, 250\n 10  251.5\n"} {
		w, err := OpenSANDDelay(linestest.File(text))
		if err != nil {
			t.Fatal(err)
		}
		check(t, w)
		want := []course.Step{{Delay: of(250 * link.Millisecond)}, {At: 10 * link.Second, Delay: of(251500 * link.Microsecond)}}
		if !reflect.DeepEqual(w.Trace.Steps, want) {
			t.Errorf("%q: %+v", text, w.Trace)
		}
	}
	a, err := OpenSANDAttenuation(linestest.File("0 0.5\n60 12\n"))
	if err != nil || !reflect.DeepEqual(a, []Attenuation{{0, 0.5}, {60 * link.Second, 12}}) {
		t.Errorf("%v %v", a, err)
	}
	for text, want := range map[string]string{
		"":           "no lines",
		"1 2 3":      "x:1:1: 3 fields",
		"1":          "x:1:1: 1 fields",
		"x 2":        `x:1:1: time "x"`,
		"1 2\n1 2":   "x:2:1: time 1: not monotonic",
		"1 -2":       `x:1:3: delay "-2"`,
		"1 99999999": "delay",
	} {
		_, err := OpenSANDDelay(linestest.File(text))
		linestest.Refused(t, text, err, want)
	}
}

const atcFile = `{"name": "3G - Average", "content": {
  "down": {"rate": 780, "delay": {"delay": 100, "jitter": 0, "correlation": 0}, "loss": {"percentage": 2}},
  "up": {"rate": 330, "delay": {"delay": 100}}}}`

// TestATC: 780/330 kbit/s and 100 ms each way, as the link sheet says.
func TestATC(t *testing.T) {
	c, err := ATC(linestest.File(atcFile))
	if err != nil || len(c.Notes) != 0 {
		t.Fatal(err, c)
	}
	check(t, c.Down)
	down, up := c.Down.Trace.Steps[0], c.Up.Trace.Steps[0]
	if *down.Rate != 780_000 || *up.Rate != 330_000 || *down.Delay != 100*link.Millisecond || *down.Loss != 0.02 || *up.Loss != 0 {
		t.Errorf("%+v %+v", down, up)
	}
	c, err = ATC(linestest.File(`{"down":{"delay":{"jitter":3}},"up":{"rate":0}}`))
	if err != nil || len(c.Notes) != 1 || c.Down.Trace.Steps[0].Rate != nil {
		t.Errorf("%v %+v", err, c)
	}
	for text, want := range map[string]string{
		"":                             "unexpected end",
		"{\n  \"down\": x}":            "x:2:11: invalid character",
		`{"down": 3}`:                  "x:1:10: down: got number, want an object",
		"{}":                           `x:1:1: no "down" and "up"`,
		`{"down":{"rate":-1},"up":{}}`: "x:1:17: down.rate -1: want a number from 0",
		`{"down":{},"up":{"loss":{"percentage":101}}}`: "x:1:39: up.loss.percentage 101",
		strings.Repeat(" ", atcMost+1):                 "x:1:1048577: more than 1048576 bytes",
		"{\"name\": {\"down\": 1}, \"content\": {\"up\": {},\n \"Down\": {\"delay\": {\"jitter\": 2,\n  \"delay\" : -3}}}}": "x:3:13: down.delay.delay -3",
	} {
		_, err := ATC(linestest.File(text))
		linestest.Refused(t, text[:min(len(text), 40)], err, want)
	}
}

func FuzzATC(f *testing.F) {
	f.Add(atcFile)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ATC(linestest.File(text))
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		check(t, c.Down)
		check(t, c.Up)
	})
}

func FuzzOpenSAND(f *testing.F) {
	f.Add("0 250\n10,251.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := OpenSANDDelay(linestest.File(text))
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		check(t, w)
	})
}

// capture writes packets of so many bytes of IP at the given milliseconds.
func capture(t *testing.T, packets ...[2]int) lines.File {
	t.Helper()
	var b bytes.Buffer
	w, err := pcap.NewWriter(&b, pcap.Header{}, pcap.Interface{Name: "a", LinkType: pcap.LinkEthernet}, pcap.Interface{Name: "b", LinkType: pcap.LinkRaw})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range packets {
		one := pcap.Packet{Interface: i % 2, Time: 1e18 + int64(p[0])*1e6, Length: p[1]}
		if i%2 == 0 {
			one.Length += 14
		}
		if err := w.Write(one); err != nil {
			t.Fatal(err)
		}
	}
	return lines.File{Name: "x", Reader: &b}
}

// TestCapture: bytes add up to opportunities of 1,500: 1,000 at 0 and 1,000 at
// 2 make one at 2, the 500 left and 4,000 at 5 three more; 7 ends the round.
func TestCapture(t *testing.T) {
	w, err := Capture(capture(t, [2]int{0, 1000}, [2]int{2, 1000}, [2]int{5, 4000}, [2]int{7, 60}), "")
	if err != nil || !reflect.DeepEqual(w.Delivery.Times, []int64{2, 5, 5, 5, 7}) {
		t.Errorf("%v, %+v; want 2, 5, 5, 5, 7", err, w.Delivery)
	}
	// Of interface b only 1,000 at 2 and 2,000 at 7.
	w, err = Capture(capture(t, [2]int{0, 9000}, [2]int{2, 1000}, [2]int{5, 9000}, [2]int{7, 2000}), "b")
	if err != nil || !reflect.DeepEqual(w.Delivery.Times, []int64{5, 5}) {
		t.Errorf("%v, %+v; want 5, 5 after the first", err, w.Delivery)
	}
}

func TestCaptureFaults(t *testing.T) {
	for _, c := range []struct {
		f    lines.File
		want string
	}{
		{linestest.File("hello"), "x: capture: byte 0: magic"},
		{capture(t), "less than 1500 bytes"},
		{capture(t, [2]int{0, 1500}), "all packets within a millisecond"},
		{capture(t, [2]int{5, 1500}, [2]int{4, 1500}), "packet 1: left before what left before it"},
		{capture(t, [2]int{0, 1500}, [2]int{400 * 24 * 3600 * 1000, 1500}), "more than a year"},
	} {
		_, err := Capture(c.f, "")
		linestest.Refused(t, c.want, err, c.want)
	}
}

func FuzzCapture(f *testing.F) {
	f.Add([]byte("\x0a\x0d\x0d\x0a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := Capture(lines.File{Name: "x", Reader: bytes.NewReader(b)}, "")
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		w.Delivery.Check(func(path, got, want string) { t.Errorf("%s: got %s, want %s", path, got, want) })
	})
}

// TestBounded: a file of endless steps is refused, not read.
func TestBounded(t *testing.T) {
	_, _, err := TheaterQ(lines.File{Name: "x", Reader: &endless{"1,1,1,1,1\n"}}, "hold")
	linestest.Refused(t, "steps", err, "x:1048577:1: more than 1048576 lines")
	_, err = CellReplay(linestest.File(heavyFile), lines.File{Name: "x", Reader: &endless{"1 1 0 " + strings.Repeat("7 ", 1000) + "\n"}}, lines.File{})
	linestest.Refused(t, "offsets", err, "more than 1048576 numbers")
}

// endless repeats a line for ever.
type endless struct{ line string }

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for len(b)-n >= len(e.line) {
		n += copy(b[n:], e.line)
	}
	return n, nil
}
