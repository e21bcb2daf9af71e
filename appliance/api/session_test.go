package api

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// TestTwoBoxesOfOneHost: a browser is logged in at two boxes of one host, that
// differ by their ports, until it logs out at one.
func TestTwoBoxesOfOneHost(t *testing.T) {
	one, two := newBench(t), newBench(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := http.Client{Jar: jar}
	ask := func(method, url, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		got, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		return got.StatusCode
	}
	for _, b := range []*bench{one, two} {
		if got := ask("POST", b.url+"/api/v1/session", `{"token":"`+readToken+`"}`); got != 200 {
			t.Fatalf("log in: %d", got)
		}
	}
	for _, at := range []struct {
		name, url string
		do        string
		want      int
	}{
		{"the first", one.url, "GET", 200},
		{"the second", two.url, "GET", 200},
		{"out at the first", one.url, "DELETE", 204},
		{"the first, logged out", one.url, "GET", 401},
		{"the second, still in", two.url, "GET", 200},
	} {
		path := "/api/v1/status"
		if at.do == "DELETE" {
			path = "/api/v1/session"
		}
		if got := ask(at.do, at.url+path, ""); got != at.want {
			t.Errorf("%s: %d, want %d", at.name, got, at.want)
		}
	}
}
