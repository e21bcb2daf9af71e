package wire

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/emulator/netlab"
)

func TestPing(t *testing.T) {
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: 5 * link.Millisecond}).doc()})
	t.Logf("%+v", r.Report())
	for _, to := range []string{r.B.IP.String(), r.B.V6.String()} {
		out, err := r.A.Output("ping", "-c", "5", "-i", "0.05", "-W", "1", to)
		if err != nil || !strings.Contains(string(out), " 0% packet loss") {
			t.Fatalf("ping %s: %v\n%s", to, err, out)
		}
		t.Log(string(out))
	}
	s := r.Stats()
	for w, way := range s.Ways {
		if way.Book.In < 10 || way.Checks[0].Early > 0 || way.Checks[0].Least < 5*link.Millisecond {
			t.Errorf("%v: in %d, least delay %v, early %d", link.Way(w), way.Book.In, way.Checks[0].Least, way.Checks[0].Early)
		}
		t.Logf("%v p50 %v p99 %v", link.Way(w), link.Duration(way.Book.Lateness.Quantile(.5)), link.Duration(way.Book.Lateness.Quantile(.99)))
	}
	if s.Verdict == ledger.Invalid {
		t.Errorf("verdict %v: %s", s.Verdict, s.Reason)
	}
}

// iperf3 as an independent witness, both ways: it gets through, and what it
// counts is what the book counts.
func TestIperf(t *testing.T) {
	need.Program(t, "iperf3")
	r := newRig(t, netlab.Options{}, Config{Doc: (&plain{Delay: link.Millisecond}).doc()})
	server := exec.Command("iperf3", "-s")
	if err := r.B.Start(server); err != nil {
		t.Fatal(err)
	}
	defer func() { server.Process.Kill(); server.Wait() }()
	for _, c := range []struct {
		way  link.Way
		args []string
	}{{link.Up, nil}, {link.Down, []string{"-R"}}} {
		args := append([]string{"20", "iperf3", "-c", r.B.IP.String(), "-t", "1", "-J", "--connect-timeout", "3000"}, c.args...)
		before := r.Stats().Ways[c.way].Book.OutBytes
		out, err := r.A.Output("timeout", args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", c.way, err, out)
		}
		var got struct {
			End struct {
				Received struct {
					Bytes float64 `json:"bytes"`
				} `json:"sum_received"`
			} `json:"end"`
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		payload, frames := got.End.Received.Bytes, float64(r.Stats().Ways[c.way].Book.OutBytes-before)
		// 1448 bytes of payload in each frame of 1514, and some on the way
		// or sent again when iperf3 ends its count.
		if payload < 1e6 || frames < payload*1514/1448*0.99 || frames > payload*1514/1448*1.3+2e6 {
			t.Errorf("%v: iperf3 received %.0f bytes, %.0f bytes of frames left", c.way, payload, frames)
		}
		t.Logf("%v: %.0f Mbit/s", c.way, payload*8/1e6)
	}
	if b := r.Stats().Ways[link.Up].Book; b.Broken > 0 {
		t.Error("the book is broken")
	}
}
