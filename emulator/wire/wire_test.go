package wire

import (
	"strings"
	"testing"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
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
		if way.Book.In < 10 || way.Early > 0 || way.Least < 5*link.Millisecond {
			t.Errorf("%v: in %d, least delay %v, early %d", link.Way(w), way.Book.In, way.Least, way.Early)
		}
		t.Logf("%v p50 %v p99 %v", link.Way(w), link.Duration(way.Book.Lateness.Quantile(.5)), link.Duration(way.Book.Lateness.Quantile(.99)))
	}
	if s.Verdict == ledger.Invalid {
		t.Errorf("verdict %v: %s", s.Verdict, s.Reason)
	}
}
