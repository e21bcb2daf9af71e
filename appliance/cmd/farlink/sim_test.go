package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"farlink/emulator/pcap"
	"farlink/emulator/sim"
	"farlink/emulator/tally"
)

// call runs a command line and returns what it printed and its error.
func call(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root, _ := command()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

// writeCapture writes n packets of 1,000 bytes a millisecond apart.
func writeCapture(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := pcap.NewWriter(&b, pcap.Header{}, pcap.Interface{LinkType: pcap.LinkEthernet})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Write(pcap.Packet{Time: 1e18 + int64(i)*1e6, Data: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "in.pcapng")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestSimCapture: 100 packets over 300 ms down at 20 Mbit/s; each takes
// 0.4 ms, so none waits: 1,000 bytes leave after the path and their own time.
func TestSimCapture(t *testing.T) {
	in, dir := writeCapture(t, 100), t.TempDir()
	var files [3][]byte
	for i, args := range [][]string{
		{"sim", "--profile", "geo/qirse-sat", "--seed", "7", "--in", in, "--way", "down", "--json", "--out"},
		{"sim", "--profile", "geo/qirse-sat", "--seed", "7", "--in", in, "--way", "down", "--json", "--out"},
		{"replay", "--profile", "geo/qirse-sat", "--seed", "7", "--way", "down", in, "--json", "--out"},
	} {
		out := filepath.Join(dir, "out.pcapng")
		text, err := call(t, append(args, out)...)
		if err != nil {
			t.Fatal(err)
		}
		var sum sim.Summary
		if err := json.Unmarshal([]byte(text), &sum); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if sum.In != 100 || sum.Delivered != 100 || sum.Way != "down" || sum.Delay.Min < 300 || sum.Delay.Max > 302 {
			t.Errorf("summary %s", text)
		}
		if files[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) || !bytes.Equal(files[0], files[2]) {
		t.Error("the same profile, seed and capture gave different files")
	}
	if !bytes.Contains(files[0], []byte("seed 7, way down")) || !bytes.Contains(files[0], []byte("delivered +300.")) {
		t.Error("the capture does not say what it shows")
	}
}

// TestSimBothWays: the frames of writeCapture have no address: from the device
// of their MAC they go up, from any other down.
func TestSimBothWays(t *testing.T) {
	in, out := writeCapture(t, 50), filepath.Join(t.TempDir(), "x")
	for device, up := range map[string]int64{"00:00:00:00:00:00": 50, "02:00:00:00:00:0a": 0} {
		for _, args := range [][]string{
			{"sim", "--profile", "geo/qirse-sat", "--in", in, "--device", device, "--out", out, "--json"},
			{"replay", "--profile", "geo/qirse-sat", "--device", device, "--out", out, "--json", in},
		} {
			text, err := call(t, args...)
			var sum sim.Summary
			if err == nil {
				err = json.Unmarshal([]byte(text), &sum)
			}
			if err != nil || sum.Way != "both" || sum.Up.In != up || sum.Down.In != 50-up || sum.In != 50 {
				t.Errorf("%s: %v, %s", device, err, text)
			}
		}
	}
}

func TestSimLoads(t *testing.T) {
	series := filepath.Join(t.TempDir(), "run.json")
	text, err := call(t, "sim", "--profile", "geo/qirse-sat", "--load", "ping,cbr-down=8Mbit/s", "--for", "10s", "--series", series, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var r sim.Result
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Flows) != 2 || r.Flows[0].RTT.Count != 10 || r.Series != nil {
		t.Errorf("%v in %s", err, text)
	}
	var s tally.Series
	b, err := os.ReadFile(series)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil || s.Column("down.delivered_bps") == nil || len(s.Column("down.delivered_bps").Values) != 100 {
		t.Errorf("series: %v", err)
	}
	if text, err = call(t, "sim", "--profile", "geo/qirse-sat", "--load", "ping", "--for", "2s"); err != nil || !strings.Contains(text, "ping") {
		t.Errorf("%v, %s", err, text)
	}
}

func TestSimFigures(t *testing.T) {
	text, err := call(t, "sim", "--profile", "geo/qirse-sat", "--json")
	var f sim.Figures
	if err == nil {
		err = json.Unmarshal([]byte(text), &f)
	}
	if err != nil || f.IdleRTT.P50 < 600 || f.IdleRTT.P50 > 601 || f.DownRate < 19.9e6 || f.UpRate > 2.01e6 {
		t.Errorf("%v, %s", err, text)
	}
	if text, err = call(t, "sim", "--profile", "geo/qirse-sat"); err != nil || !strings.Contains(text, "idle round trip") {
		t.Errorf("%v, %s", err, text)
	}
}

// TestSimStatus: 1 for what cannot be done, 2 for what is not understood.
func TestSimStatus(t *testing.T) {
	in := writeCapture(t, 1)
	bad := filepath.Join(t.TempDir(), "bad.toml")
	if err := os.WriteFile(bad, []byte("nonsense = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "x.pcapng")
	for _, c := range []struct {
		want int
		args []string
	}{
		{2, []string{"sim"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "extra"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--in", in}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--out", out}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--in", in, "--out", out, "--way", "left"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--in", in, "--load", "ping"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--load", "pong"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--for", "9s"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--load", "ping", "--for", "9s", "--after", "9s"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--load", "ping", "--for", "9"}},
		{2, []string{"replay", in}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--in", in, "--out", out, "--way", "up", "--device", "10.0.0.1"}},
		{2, []string{"sim", "--profile", "geo/qirse-sat", "--device", "10.0.0.1"}},
		{2, []string{"replay", "--profile", "geo/qirse-sat", "--device", "10.0.0.1", "--way", "up", "--out", out, in}},
		{2, []string{"replay", "--profile", "geo/qirse-sat", "--device", "10.0.0.1", "--record", out, "--out", out, in}},
		{1, []string{"replay", "--profile", "geo/qirse-sat", "--device", "phone", "--out", out, in}},
		{2, []string{"replay", "--profile", "geo/qirse-sat", "--way", "up", "--out", out}},
		{1, []string{"sim", "--profile", "geo/nowhere"}},
		{1, []string{"sim", "--profile", bad}},
		{1, []string{"sim", "--profile", "./none.toml"}},
		{1, []string{"replay", "--profile", "geo/qirse-sat", "--way", "up", "--out", out, bad}},
		{1, []string{"replay", "--profile", "geo/qirse-sat", "--way", "up", "--out", out, "/none"}},
		{1, []string{"replay", "--profile", "geo/qirse-sat", "--way", "up", "--out", "/none/x", in}},
		{0, []string{"replay", "--profile", "geo/qirse-sat", "--way", "up", "--out", out, in}},
	} {
		if got := quiet(t, c.args); got != c.want {
			t.Errorf("%v: status %d, want %d", c.args, got, c.want)
		}
	}
	if _, err := os.Stat(out); err != nil {
		t.Errorf("the capture of the good replay: %v", err)
	}
}

// quiet runs a command as main does, its output thrown away.
func quiet(t *testing.T, args []string) int {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = null, null
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	return run(args)
}
