package api

import (
	"log/slog"
	"strings"
	"testing"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/door"
)

// Names are let in by settings at once, guests too; everything stands in the
// audit log, but no key.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	d, err := door.Open(dir, appliance.APIConfig{Listen: "127.0.0.1:0", Open: "none", TLS: "off"}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	b := newBench(t, func(c *Config) { c.Door = d })
	if got := b.ask(readToken, "GET", "/api/v1/status", "", "Host", "box.lab.example"); got.StatusCode != 421 {
		t.Errorf("a name that is not allowed: %d", got.StatusCode)
	}
	if got := b.ask(driveToken, "GET", "/api/v1/settings", ""); got.StatusCode != 403 {
		t.Errorf("settings for scope drive: %d", got.StatusCode)
	}
	if got := b.ask(adminToken, "PATCH", "/api/v1/settings?dry_run=true", `{"open":"read"}`); got.StatusCode != 200 || d.Guest() != access.None {
		t.Errorf("a dry run: %d %s", got.StatusCode, got.body)
	}
	got := b.ask(adminToken, "PATCH", "/api/v1/settings", `{"allowed_hosts":["Box.lab.example"],"open":"read"}`)
	if st := decoded[door.SettingsState](t, got.body); got.StatusCode != 200 || len(st.AllowedHosts) != 1 || st.Configured || !st.Trial.IsZero() {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "GET", "/api/v1/status", "", "Host", "box.lab.example"); got.StatusCode != 200 {
		t.Errorf("a name that is allowed: %d", got.StatusCode)
	}
	if got := b.ask("", "GET", "/api/v1/status", ""); got.StatusCode != 200 {
		t.Errorf("a guest who may look: %d", got.StatusCode)
	}
	for body, want := range map[string]string{
		`{"listen":"here"}`:            "body.listen",
		`{"allowed_hosts":["a b"]}`:    "body.allowed_hosts[0]",
		`{"tls":"own"}`:                "upload one first",
		`{"open":"admin"}`:             "body.open",
		`{"listen":"127.0.0.1:8080x"}`: "body.listen",
	} {
		if got := b.ask(adminToken, "PATCH", "/api/v1/settings", body); got.StatusCode != 422 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
		}
	}
	got = b.ask(adminToken, "PUT", "/api/v1/settings/certificate", `{"certificate":"x","key":"very-secret"}`)
	if got.StatusCode != 422 || strings.Contains(got.body, "very-secret") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(adminToken, "DELETE", "/api/v1/settings", ""); got.StatusCode != 200 || !decoded[door.SettingsState](t, got.body).Configured {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	audit := b.ask(readToken, "GET", "/api/v1/audit", "").body
	if !strings.Contains(audit, `"what":"patch-settings","on":"settings","status":200,"before":{`) || !strings.Contains(audit, "Box.lab.example") || strings.Contains(audit, "very-secret") {
		t.Errorf("audit log: %s", audit)
	}
}
