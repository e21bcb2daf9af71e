package api

import (
	"strings"
	"testing"

	"farlink/appliance"
	"farlink/appliance/run"
)

// TestRuns: a run is begun, marked, seen by all who look, ended, reported and
// removed.
func TestRuns(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, func(c *Config) { c.Capture, c.State = true, dir })
	begin := b.ask(driveToken, "PUT", "/api/v1/runs/night-1", `{"title":"over the sea","record":"50MB"}`)
	if begin.StatusCode != 200 || !strings.Contains(begin.body, `"phase":"running"`) {
		t.Fatalf("%d %s", begin.StatusCode, begin.body)
	}
	if again := b.ask(driveToken, "PUT", "/api/v1/runs/night-1", `{}`); decoded[run.Run](t, again.body).Begun != decoded[run.Run](t, begin.body).Begun {
		t.Errorf("begun twice: %s", again.body)
	}
	if st := b.ask(readToken, "GET", "/api/v1/status", ""); !strings.Contains(st.body, `"runs":[{"id":"night-1","title":"over the sea"`) {
		t.Errorf("the status does not say: %s", st.body)
	}
	if m := b.ask(readToken, "GET", "/metrics", ""); !strings.Contains(m.body, `farlink_run_info{hash="`) || !strings.Contains(m.body, `run="night-1"`) {
		t.Error("the metrics do not say")
	}
	l := b.listen("")
	if m := b.ask(driveToken, "POST", "/api/v1/runs/night-1/marks", `{"text":"antenna moved"}`); m.StatusCode != 201 {
		t.Errorf("%d %s", m.StatusCode, m.body)
	}
	if m := l.until(func(m heard) bool { return m.event == "mark" }); !strings.Contains(m.data, "antenna moved") || !strings.Contains(m.data, `"run":"night-1"`) {
		t.Errorf("%s", m.data)
	}
	b.engine.show(appliance.Figures{Down: appliance.WayFigures{BytesOut: 1e6, PacketsOut: 1000}})
	b.ask(driveToken, "POST", "/api/v1/link/events", `{"kind":"cut","duration":"10ms"}`)

	b.until("frames are counted, and one of the run is captured", func() bool {
		r := decoded[run.Run](t, b.ask(readToken, "GET", "/api/v1/runs/night-1", "").body)
		kept := packets(t, b.ask(driveToken, "GET", "/api/v1/capture/pcap", "").body)
		return r.Down.Packets == 1000 && len(kept) > 0 && kept[len(kept)-1].Time > r.Begun.UnixNano()
	})
	end := b.ask(driveToken, "PUT", "/api/v1/runs/night-1", `{"phase":"stopped"}`)
	r := decoded[run.Run](t, end.body)
	if r.Phase != run.Stopped || len(r.Marks) != 1 || len(r.Events) == 0 || !r.Capture || r.Samples == 0 {
		t.Fatalf("%s", end.body)
	}
	checkReports(t, b)
	if got := b.ask(driveToken, "GET", "/api/v1/runs/night-1/pcap", ""); len(packets(t, got.body)) == 0 {
		t.Error("no packet captured")
	}
	if r.Recording == nil || r.Recording.Most != 50_000_000 || r.Recording.Packets == 0 || r.Recording.Why != "" {
		t.Errorf("recorded: %+v", r.Recording)
	}
	if got := b.ask(driveToken, "GET", "/api/v1/runs/night-1/channel", ""); uint64(len(packets(t, got.body))) != r.Recording.Packets {
		t.Errorf("%d packets recorded, want %d", len(packets(t, got.body)), r.Recording.Packets)
	}
	checkRefusals(t, b)
	if got := b.ask(driveToken, "DELETE", "/api/v1/runs/night-1", ""); got.StatusCode != 204 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "GET", "/api/v1/runs", ""); strings.TrimSpace(got.body) != "[]" {
		t.Errorf("%s", got.body)
	}
}

// checkReports asks for the run in all its forms.
func checkReports(t *testing.T, b *bench) {
	t.Helper()
	for path, want := range map[string][2]string{
		"report":              {"text/html", "antenna moved"},
		"report?format=csv":   {"text/csv", "down.delivered_bps"},
		"report?format=junit": {"application/xml", `failures="0"`},
		"report?format=json":  {"application/json", `"phase":"stopped"`},
		"series":              {"application/json", `"delivered_bps":[`},
	} {
		got := b.ask(readToken, "GET", "/api/v1/runs/night-1/"+path, "")
		if got.StatusCode != 200 || !strings.HasPrefix(got.Header.Get("Content-Type"), want[0]) || !strings.Contains(got.body, want[1]) {
			t.Errorf("%s: %d %s %.300s", path, got.StatusCode, got.Header.Get("Content-Type"), got.body)
		}
	}
}

// checkRefusals asks what cannot be, of the run that has ended and of none.
func checkRefusals(t *testing.T, b *bench) {
	t.Helper()
	for _, q := range []request{
		{method: "PUT", path: "/api/v1/runs/night-1", body: `{}`, status: 409, kind: "run"},
		{method: "POST", path: "/api/v1/runs/night-1/marks", body: `{"text":"late"}`, status: 409, kind: "run"},
		{method: "GET", path: "/api/v1/runs/none", status: 404, kind: "not-found"},
		{method: "GET", path: "/api/v1/runs/none/report", status: 404, kind: "not-found"},
		{method: "GET", path: "/api/v1/runs/none/pcap", status: 404, kind: "not-found"},
		{method: "GET", path: "/api/v1/runs/none/channel", status: 404, kind: "not-found"},
		{method: "PUT", path: "/api/v1/runs/big", body: `{"record":"1PB"}`, status: 422, kind: "invalid"},
		{method: "PUT", path: "/api/v1/runs/none", body: `{"phase":"stopped"}`, status: 404, kind: "not-found"},
		{method: "PUT", path: "/api/v1/runs/..", body: `{}`, status: 422, kind: "invalid"},
		{method: "PUT", path: "/api/v1/runs/x?pair=none", body: `{}`, status: 404, kind: "not-found"},
	} {
		got := b.ask(driveToken, q.method, q.path, q.body)
		q.name = q.method + " " + q.path
		if got.StatusCode != q.status {
			t.Errorf("%s: %d %s", q.name, got.StatusCode, got.body)
			continue
		}
		checkProblem(t, q, got)
	}
}
