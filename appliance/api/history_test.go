package api

import (
	"strings"
	"testing"

	"farlink/appliance/run"
)

func TestSeriesAndEvents(t *testing.T) {
	b := newBench(t)
	b.until("two samples", func() bool {
		return len(decoded[run.Series](t, b.ask(readToken, "GET", "/api/v1/series?window=10s", "").body).Time) >= 2
	})
	if got := b.ask(readToken, "GET", "/api/v1/series?window=9h", ""); got.StatusCode != 422 || !strings.Contains(got.body, "query.window") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "GET", "/api/v1/series?pair=none", ""); got.StatusCode != 404 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "GET", "/api/v1/events", ""); !strings.Contains(got.body, `"kind":"engine"`) {
		t.Errorf("%s", got.body)
	}
}
