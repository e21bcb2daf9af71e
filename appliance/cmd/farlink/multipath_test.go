package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"farlink/appliance/carriers"
	"farlink/pep/congestion"
	"farlink/pep/multipath"
)

func TestParseOver(t *testing.T) {
	got, err := parseOver([]string{"10.1.0.1=10.1.0.2:6500", "fd01::1=[fd01::2]:6500,backup"})
	if err != nil || len(got) != 2 || got[0].Backup || !got[1].Backup || got[1].Proxy.String() != "[fd01::2]:6500" || got[0].Local.String() != "10.1.0.1" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "10.1.0.1", "10.1.0.1=10.1.0.2", "x=10.1.0.2:1", "10.1.0.1=10.1.0.2:1,spare"} {
		if _, err := parseOver([]string{bad}); err == nil || !strings.Contains(err.Error(), "LOCAL=PROXY:PORT") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text string
		fine bool
	}{{"0123456789abcdef\n", true}, {"short", false}, {"               \n\n", false}} {
		f := relayFlags{key: filepath.Join(dir, "key")}
		if err := os.WriteFile(f.key, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := f.secret(); (err == nil) != c.fine || c.fine && len(key) != 16 {
			t.Errorf("%q: %q, %v", c.text, key, err)
		}
	}
	if _, err := (&relayFlags{key: filepath.Join(dir, "none")}).secret(); err == nil {
		t.Error("a key that is not there was read")
	}
}

// What would need root for nothing is refused before.
func TestMultipathMisuse(t *testing.T) {
	for _, args := range [][]string{
		{"multipath", "try", "--scheduler", "best"},
		{"multipath", "try", "--carriers", "lte/nobody"},
		{"multipath", "router", "--lan", "lo", "--key", "/nonexistent", "--over", "x"},
		{"multipath", "proxy", "--lan", "lo", "--key", "/nonexistent", "--listen", "127.0.0.1:0"},
	} {
		if status := run(args); status == 0 {
			t.Errorf("%v succeeded", args)
		}
	}
}

// The API shows a relay and changes it; nonsense changes nothing, and other
// origins get nothing.
func TestRelayAPI(t *testing.T) {
	carriers := []multipath.Carrier{{Local: netip.MustParseAddr("127.0.0.1"), Proxy: netip.MustParseAddrPort("127.0.0.1:1")}}
	r, err := multipath.NewRouter(multipath.Config{Congestion: "cubic"}, []byte("0123456789abcdef"), carriers, congestion.Open(nil), new(multipath.Groups), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := relayHandler(r)
	for _, c := range []struct {
		method, body, host, origin string
		status                     int
		scheduler                  string // afterwards
	}{
		{"GET", "", "127.0.0.1:8090", "", 200, "arrival"},
		{"PATCH", `{"scheduler":"blest"}`, "127.0.0.1:8090", "", 200, "blest"},
		{"PATCH", `{"window":"8MB"}`, "127.0.0.1:8090", "", 200, "blest"},
		{"PATCH", `{"scheduler":"best"}`, "127.0.0.1:8090", "", 422, "blest"},
		{"PATCH", `{"schedule":"ecf"}`, "127.0.0.1:8090", "", 422, "blest"},
		{"PUT", `{"scheduler":"ecf","congestion":"reno"}`, "[::1]:8090", "", 200, "ecf"},
		{"PUT", `{`, "127.0.0.1:8090", "", 422, "ecf"},
		{"PUT", `{}`, "evil.example:8090", "", 403, "ecf"},
		{"PUT", `{}`, "127.0.0.1:8090", "http://evil.example", 403, "ecf"},
		{"DELETE", "", "127.0.0.1:8090", "", 405, "ecf"},
	} {
		q := httptest.NewRequest(c.method, multipathPath, strings.NewReader(c.body))
		q.Host = c.host
		if c.origin != "" {
			q.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		if w.Code != c.status || r.Config().Scheduler != c.scheduler {
			t.Errorf("%s %s: %d %s, scheduler %s; want %d, %s", c.method, c.body, w.Code, w.Body, r.Config().Scheduler, c.status, c.scheduler)
		}
		var s relayState
		if c.status == http.StatusOK && (json.Unmarshal(w.Body.Bytes(), &s) != nil || s.Mode != "lab" || s.Config.Scheduler != c.scheduler) {
			t.Errorf("%s: %s", c.method, w.Body)
		}
	}
	for _, at := range []string{"", "0.0.0.0:1", "192.0.2.1:1", "localhost"} {
		if err := serveRelay(t.Context(), at, r); err == nil {
			t.Errorf("--api %q was taken", at)
		}
	}
}

// The report of seed 000 stays in the directory of --out, as text and as JSON.
func TestReportIsKept(t *testing.T) {
	dir := t.TempDir()
	r := &carriers.Report{Plan: carriers.Quick}
	r.Add("clean", "constant rates", &carriers.Result{Carriers: []string{"skt", "kt"}, SumMbps: 54.11,
		Cells:  map[string]map[string][]float64{"blest": {"bbr": {48.6}}},
		Single: map[string]map[string][]float64{"kt": {"cubic": {30.1}}}})
	if err := keepReport(dir, r); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"report.txt": "nominal sum 54.11 Mbit/s", "results.json": `"sum_mbps": 54.11`} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, without %q:\n%.500s", name, err, want, b)
		}
	}
}

// A default is written as one writes it, and is what is in force.
func TestWindowDefault(t *testing.T) {
	c := multipathRouterCommand()
	f := c.Flags().Lookup("window")
	if was := f.Value.String(); f.DefValue != "8MiB" || f.Value.Set(f.DefValue) != nil || f.Value.String() != was {
		t.Errorf("default %q, in force %q, then %q", f.DefValue, was, f.Value.String())
	}
}
