package trace

import (
	"bytes"
	"reflect"
	"testing"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/trace/lines"
	"farlink/emulator/trace/lines/linestest"
)

const tableFile = `# a pass
t_s,down_bps,down_delay_s,down_loss,up_bps,up_delay_s,up_loss
0,8000000,0.25,0.001,inf,,
1.5,0,,,64000,0.3,1
4,,,,,,
`

func TestTable(t *testing.T) {
	c, err := Table(linestest.File(tableFile), "loop")
	if err != nil || len(c.Notes) != 0 {
		t.Fatal(err, c)
	}
	check(t, c.Down)
	check(t, c.Up)
	down := []course.Step{
		{Rate: of(link.Rate(8e6)), Delay: of(250 * link.Millisecond), Loss: of(0.001)},
		{At: 1500 * link.Millisecond, Outage: true},
	}
	up := []course.Step{
		{Rate: of(link.Rate(0))},
		{At: 1500 * link.Millisecond, Rate: of(link.Rate(64000)), Delay: of(300 * link.Millisecond), Loss: of(1.0)},
	}
	if !reflect.DeepEqual(c.Down.Trace.Steps, down) || !reflect.DeepEqual(c.Up.Trace.Steps, up) || c.Down.Trace.Period != 4*link.Second {
		t.Errorf("down %+v\nup %+v", c.Down.Trace, c.Up.Trace)
	}
	// Held, the last row is a step like the others.
	if c, err = Table(linestest.File(tableFile), "hold"); err != nil || len(c.Down.Trace.Steps) != 3 || c.Down.Trace.Period != 0 {
		t.Errorf("%v %+v", err, c)
	}
}

func TestTableColumns(t *testing.T) {
	c, err := Table(linestest.File("t_s,event,down_jitter_s,ber,down_queue_bytes,up_queue_bytes\n0,,0.1,1e-6,3000,1\n1,outage,0.1,0,3000,2\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	if !c.Down.Trace.Steps[1].Outage || !c.Up.Trace.Steps[1].Outage || c.Down.Trace.Steps[0].Outage {
		t.Errorf("%+v", c.Down.Trace)
	}
	want := []string{"x: down_jitter_s is not followed", "x: ber is not followed", "x: the limit of the queue changes: it is not followed"}
	if !reflect.DeepEqual(c.Notes, want) {
		t.Errorf("notes %q", c.Notes)
	}
	if c, err = Table(linestest.File("t_s,down_queue_bytes\n0,3000\n"), ""); err != nil || c.Down.Limit.Bytes != 3000 {
		t.Errorf("%v %+v", err, c)
	}
}

func TestTableFaults(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "no header row",
		"t_s\n":                      "no rows",
		"down_bps\n":                 `no column "t_s"`,
		"t_s, rate\n":                `x:1:6: unknown column "rate"`,
		"t_s\n0\n0\n":                "x:3:1: t_s 0 after 0: not monotonic",
		"t_s\n-1\n":                  `x:2:1: t_s "-1"`,
		"t_s,down_loss\n0, 1.5\n":    `x:2:4: down_loss "1.5": want a number from 0 to 1`,
		"t_s,down_bps\n0,1e12\n":     "down_bps",
		"t_s,up_delay_s\n0,9999\n":   "up_delay_s",
		"t_s,event\n0,\"boom\"\n":    `x:2:4: event "boom"`,
		"t_s,up_queue_bytes\n0,.5\n": "up_queue_bytes",
		"t_s,ber\n0,x\n":             "ber",
		"t_s,ber\n0\n":               "x:2:1: 1 fields, want 2",
	} {
		_, err := Table(linestest.File(text), "")
		linestest.Refused(t, text, err, want)
	}
	_, err := Table(linestest.File("t_s\n1\n"), "loop")
	linestest.Refused(t, "one row", err, "one row, want two or more")
}

func TestWriteTable(t *testing.T) {
	c, err := Table(linestest.File(tableFile), "loop")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteTable(&out, c); err != nil {
		t.Fatal(err)
	}
	again, err := Table(lines.File{Name: "again", Reader: &out}, "loop")
	if err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("%v: %+v", err, again)
	}
	linestest.Refused(t, "opportunities", WriteTable(&out, &Course{Down: Way{Delivery: &opportunity.DeliveryConfig{}}}), "want steps")
}

func FuzzTable(f *testing.F) {
	f.Add(tableFile, true)
	f.Add("t_s,event\n0,outage\n", false)
	f.Fuzz(func(t *testing.T, text string, loop bool) {
		end := "hold"
		if loop {
			end = "loop"
		}
		c, err := Table(linestest.File(text), end)
		if err != nil {
			linestest.Refused(t, "fuzz", err, "x")
			return
		}
		check(t, c.Down)
		check(t, c.Up)
		var out bytes.Buffer
		if err := WriteTable(&out, c); err != nil {
			t.Fatal(err)
		}
		again, err := Table(lines.File{Name: "again", Reader: bytes.NewReader(out.Bytes())}, end)
		if err != nil || !reflect.DeepEqual(again.Down.Trace, c.Down.Trace) || !reflect.DeepEqual(again.Up.Trace, c.Up.Trace) {
			t.Fatalf("%v\n%s", err, out.String())
		}
	})
}
