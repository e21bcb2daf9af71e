package api

import (
	"strings"
	"testing"
)

func TestPreview(t *testing.T) {
	b := newBench(t)
	doc := "[down.queue]\nrate = \"8Mbit/s\"\n[down.path]\ndelay = \"250ms\"\n[up.queue]\nrate = \"2Mbit/s\"\n[up.path]\ndelay = \"250ms\"\n"
	got := b.ask(readToken, "POST", "/api/v1/preview?seed=7&length=10s", doc, "Content-Type", "application/toml")
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(got.body, "<svg") || !strings.Contains(got.body, "seed 7, load tcp-down, tcp-up") {
		t.Errorf("%d %.300s", got.StatusCode, got.body)
	}
	if again := b.ask(readToken, "POST", "/api/v1/preview?seed=7&length=10s", doc, "Content-Type", "application/toml"); again.body != got.body {
		t.Error("the same seed is another figure")
	}
	if got := b.ask(readToken, "POST", "/api/v1/preview", "[down.queue]\nrate = 8\n", "Content-Type", "application/toml"); got.StatusCode != 422 || !strings.Contains(got.body, "body.down.queue.rate:2:1") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := b.ask(readToken, "POST", "/api/v1/preview?length=1h", doc, "Content-Type", "application/toml"); got.StatusCode != 422 {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
}
