package trace

import (
	"bytes"
	"testing"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/trace/lines/linestest"
)

const profilesFile = `operator,country,rat,signal_quality,download_kbps,upload_kbps,latency_ms_avg,latency_ms_stdev
telia,norway,3G,good,6192.6,1997.3,87.7,59.8
telia,norway,3G,medium,3265.6,1457.3,106.5,75.5
`

func samples(t *testing.T) []Sample {
	t.Helper()
	s, err := ErrantSamples(linestest.File(profilesFile))
	if err != nil || len(s) != 2 {
		t.Fatal(err, s)
	}
	if want := (Sample{"telia", "norway", "3G", "good", 6192600, 1997300, 87700 * link.Microsecond, 59800 * link.Microsecond}); s[0] != want {
		t.Errorf("%+v, want %+v", s[0], want)
	}
	return s
}

// TestErrantVectors are ER-1 to ER-3 of the link sheet.
func TestErrantVectors(t *testing.T) {
	const head = "operator,country,rat,quality,duration,period\n"
	draw := link.NewDraw(1, "errant")
	c, err := ErrantScenario(linestest.File(head+"telia,norway,3g,good,5,-\n"), samples(t), draw, "loop")
	if err != nil {
		t.Fatal(err)
	}
	check(t, c.Down)
	if n := len(c.Down.Trace.Steps); n != 1 || c.Down.Trace.Period != 5*link.Second || *c.Up.Trace.Steps[0].Rate != 1997300 {
		t.Errorf("ER-1: %d draws over %v, want one, held 5 s", n, c.Down.Trace.Period)
	}
	c, err = ErrantScenario(linestest.File(head+"telia,norway,3g,medium,5,2\n"), samples(t), draw, "loop")
	if err != nil {
		t.Fatal(err)
	}
	steps := c.Down.Trace.Steps
	if len(steps) != 3 || steps[1].At != 2*link.Second || steps[2].At != 4*link.Second || c.Up.Trace.Period != 5*link.Second {
		t.Errorf("ER-2: %+v over %v, want draws at 0, 2, 4 of 5 s", steps, c.Up.Trace.Period)
	}
	if *steps[0].Delay == *steps[1].Delay && *steps[1].Delay == *steps[2].Delay {
		t.Error("ER-2: the draws are all the same")
	}
	c, err = ErrantLog(linestest.File("time,operator,country,technology,quality,download,upload,rtt\n1600000000.5,telia,norway,3g,good,17580.08,99.5,82.012\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	down, up := c.Down.Trace.Steps[0], c.Up.Trace.Steps[0]
	if *down.Rate != 17580080 || *down.Delay != 41006*link.Microsecond || *up.Delay != 41006*link.Microsecond || *up.Rate != 99500 {
		t.Errorf("ER-3: %v %v, %v %v; want 17.58 Mbit/s and 41.0 ms each way", *down.Rate, *down.Delay, *up.Rate, *up.Delay)
	}
}

func TestErrantSpeedTests(t *testing.T) {
	s, err := ErrantSamples(linestest.File("operator,country,access_technology,rssi,download_mbps,upload_mbps,rtt_ms\nstar,it,LEO,-70,100.5,12,45\n"))
	if err != nil || len(s) != 1 || s[0].Down != 100_500_000 || s[0].RTT != 45*link.Millisecond || s[0].Quality != "" {
		t.Errorf("%v %+v", err, s)
	}
	// A sample without a quality fits every one.
	c, err := ErrantScenario(linestest.File("operator,country,rat,quality,duration,period\nStar,IT,leo,bad,1,-\n"), s, link.Draw{}, "hold")
	if err != nil || *c.Down.Trace.Steps[0].Delay != 22500*link.Microsecond {
		t.Errorf("%v", err)
	}
}

func TestErrantFaults(t *testing.T) {
	const head = "operator,country,rat,quality,duration,period\n"
	for text, want := range map[string]string{
		"":                                     "no header row",
		head:                                   "no rows",
		"a,b\n":                                `x:1:1: unknown column "a"`,
		"operator,operator\n":                  `x:1:10: column "operator" stands twice`,
		"operator,country,rat,quality\n":       `x:1:1: no column "duration"`,
		head + "telia,norway,3g,good,5\n":      "x:2:1: 5 fields, want 6",
		head + "telia,norway,3g,good,x,-\n":    `x:2:22: duration "x"`,
		head + "telia,norway,3g,good,0,-\n":    "x:2:22: duration 0",
		head + "telia,norway,3g,good,5,0\n":    `x:2:24: period "0"`,
		head + "telia,norway,9g,good,5,-\n":    "x:2:1: no samples of telia, norway, 9g, good",
		head + "telia,norway,3g,good,1e7,.001": "more than 1048576 draws",
	} {
		_, err := ErrantScenario(linestest.File(text), samples(t), link.Draw{}, "")
		linestest.Refused(t, text, err, want)
	}
	for text, want := range map[string]string{
		"time,download,upload,rtt\n":                        "no rows",
		"time,download,upload\n":                            `no column "rtt"`,
		"time,download,upload,rtt\n2,1,1,1\n1,1,1,1\n":      "x:3:1: time 1: not monotonic",
		"time,download,upload,rtt\n2,-1,1,1\n":              `x:2:3: download "-1"`,
		"time,download,upload,rtt\n2,1,1,nan\n":             `x:2:7: rtt "nan"`,
		"time,download,upload,rtt\n0,1,1,1\n99999999,1,1,1": "longer than a year",
	} {
		_, err := ErrantLog(linestest.File(text), "")
		linestest.Refused(t, text, err, want)
	}
	_, err := ErrantSamples(linestest.File("operator,country,rat,download_kbps,upload_kbps,latency_ms_avg\n"))
	linestest.Refused(t, "no samples", err, "no rows")
}

func TestWriteErrantLog(t *testing.T) {
	const text = "time,operator,country,technology,quality,download,upload,rtt\n100,x,-,-,-,8000,0,500\n101.5,x,-,-,-,64.5,0,40.5\n"
	c, err := ErrantLog(linestest.File(text), "")
	if err != nil {
		t.Fatal(err)
	}
	check(t, c.Up)
	if !c.Up.Trace.Steps[0].Outage {
		t.Error("a rate of 0 is no outage")
	}
	var out bytes.Buffer
	if err := WriteErrantLog(&out, c, "x", [2]course.Step{}, 100); err != nil || out.String() != text {
		t.Errorf("%v\n%s", err, out.String())
	}
	linestest.Refused(t, "one way", WriteErrantLog(&out, &Course{Down: c.Down}, "x", [2]course.Step{}, 0), "steps on both ways")
}

func FuzzErrant(f *testing.F) {
	f.Add("operator,country,rat,quality,duration,period\ntelia,norway,3g,medium,5,2\n", profilesFile)
	f.Add("time,download,upload,rtt\n0,1,1,1\n", "")
	f.Fuzz(func(t *testing.T, text, table string) {
		s, err := ErrantSamples(linestest.File(table))
		if err != nil {
			linestest.Refused(t, "samples", err, "x")
			s = []Sample{{Operator: "telia", Country: "norway", RAT: "3G", Down: 1, Up: 1}}
		}
		// A short period over a long time is many draws: allowed, but slow.
		if len(text) < 200 {
			if c, err := ErrantScenario(linestest.File(text), s, link.NewDraw(1, "x"), "loop"); err == nil {
				check(t, c.Down)
				check(t, c.Up)
			} else {
				linestest.Refused(t, "scenario", err, "x")
			}
		}
		if c, err := ErrantLog(linestest.File(text), "loop"); err == nil {
			check(t, c.Down)
		} else {
			linestest.Refused(t, "log", err, "x")
		}
	})
}
