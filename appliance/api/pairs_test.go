package api

import (
	"strings"
	"testing"

	"farlink/appliance"
)

// TestSeveralPairs: on a box with two pairs each request says which it means,
// and touches no other.
func TestSeveralPairs(t *testing.T) {
	b := newBenchOf(t, []string{"left", "right"})
	for _, q := range []request{
		{method: "GET", path: "/api/v1/link", status: 404, kind: "not-found", has: []string{"left, right"}},
		{method: "PUT", path: "/api/v1/link", body: `{"profile":"clear"}`, status: 404, kind: "not-found"},
		{method: "PATCH", path: "/api/v1/link?pair=middle", body: `{"seed":1}`, status: 404, kind: "not-found"},
		{method: "POST", path: "/api/v1/link/events", body: `{"kind":"cut","duration":"1s"}`, status: 404, kind: "not-found"},
		{method: "GET", path: "/api/v1/series", status: 404, kind: "not-found"},
		{method: "GET", path: "/api/v1/capture", status: 404, kind: "not-found"},
	} {
		q.name = q.method + " " + q.path
		got := b.ask(driveToken, q.method, q.path, q.body)
		if got.StatusCode != q.status {
			t.Errorf("%s: %d %s", q.name, got.StatusCode, got.body)
			continue
		}
		checkProblem(t, q, got)
		for _, part := range q.has {
			if !strings.Contains(got.body, part) {
				t.Errorf("%s: want %s in %s", q.name, part, got.body)
			}
		}
	}
	if got := b.ask(driveToken, "PUT", "/api/v1/link?pair=right", `{"profile":"geo/qirse-sat","seed":7}`); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	st := decoded[Status](t, b.ask(readToken, "GET", "/api/v1/status", "").body)
	if len(st.Pairs) != 2 || st.Pairs[0].Want.Profile != "clear" || st.Pairs[1].Want.Profile != "geo/qirse-sat" {
		t.Errorf("%+v", st.Pairs)
	}
	if m := b.ask(readToken, "GET", "/metrics", "").body; !strings.Contains(m, `farlink_pair_state{pair="left",word="EMULATING"} 1`) || !strings.Contains(m, `farlink_pair_state{pair="right",word="EMULATING"} 1`) {
		t.Error("the metrics do not show both")
	}
	if st.Pairs[0].Word != appliance.Emulating {
		t.Errorf("left: %s", st.Pairs[0].Word)
	}
}
