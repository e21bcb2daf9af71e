package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
)

// request is one recorded request and what must come back.
type request struct {
	name         string
	token        string
	method, path string
	body         string
	head         []string
	status       int
	has          []string // in the body
	not          string   // not in the body
	kind         string   // of the problem
}

// requests ask every operation, in this order: later ones see what earlier
// ones did.
var requests = []request{
	{name: "status", token: readToken, method: "GET", path: "/api/v1/status", status: 200, has: []string{`"word":"EMULATING"`, `"etag":"v0"`, `"lease":{"held":false`}},
	{name: "profiles", token: readToken, method: "GET", path: "/api/v1/profiles", status: 200, has: []string{`"name":"clear"`, `"name":"geo/qirse-sat"`}},
	{name: "profile", token: readToken, method: "GET", path: "/api/v1/profiles/clear", status: 200, has: []string{`"toml":"`}},
	{name: "profile with a slash", token: readToken, method: "GET", path: "/api/v1/profiles/geo/qirse-sat", status: 200, has: []string{`"name":"geo/qirse-sat"`}},
	{name: "profile escaped", token: readToken, method: "GET", path: "/api/v1/profiles/geo%2Fqirse-sat", status: 200, has: []string{`"name":"geo/qirse-sat"`}},
	{name: "profile as TOML", token: readToken, method: "GET", path: "/api/v1/profiles/geo/qirse-sat", head: []string{"Accept", "application/toml"}, status: 200, has: []string{`[down`}},
	{name: "no profile", token: readToken, method: "GET", path: "/api/v1/profiles/geo/none", status: 404, kind: "not-found", has: []string{"path.name"}},

	{name: "store a profile", token: driveToken, method: "PUT", path: "/api/v1/profiles/mine/slow", body: "[down.queue]\nrate = \"1Mbit/s\"\n", head: []string{"Content-Type", "application/toml"}, status: 200, has: []string{`"name":"mine/slow"`, `"down":"1Mbit/s"`, `"shipped":false`}},
	{name: "use it", token: driveToken, method: "PUT", path: "/api/v1/link?dry_run=true", body: `{"profile":"mine/slow"}`, status: 200, has: []string{`"profile":"mine/slow"`}},
	{name: "see it", token: readToken, method: "GET", path: "/api/v1/profiles", status: 200, has: []string{`"name":"mine/slow"`}},
	{name: "store it as JSON", token: driveToken, method: "PUT", path: "/api/v1/profiles/mine/slow", body: `{"down":{"queue":{"rate":"2Mbit/s"}}}`, status: 200, has: []string{`"down":"2Mbit/s"`}},
	{name: "store only for a try", token: driveToken, method: "PUT", path: "/api/v1/profiles/mine/other?dry_run=true", body: `{}`, status: 200},
	{name: "it was a try", token: readToken, method: "GET", path: "/api/v1/profiles/mine/other", status: 404, kind: "not-found"},
	{name: "store it wrong", token: driveToken, method: "PUT", path: "/api/v1/profiles/mine/slow", body: "name = \"x\"\n[down.queue]\nrate = 1\nlimt = 2\n", head: []string{"Content-Type", "application/toml"}, status: 422, kind: "invalid", has: []string{"body.down.queue.rate:3:1", "body.down.queue.limt:4:1"}},
	{name: "store it under a bad name", token: driveToken, method: "PUT", path: "/api/v1/profiles/..%2Fetc", body: `{}`, status: 422, kind: "invalid", has: []string{"name"}},
	{name: "store it as text", token: driveToken, method: "PUT", path: "/api/v1/profiles/mine/slow", body: `{}`, head: []string{"Content-Type", "text/plain"}, status: 415, kind: "media-type"},
	{name: "store a shipped one", token: driveToken, method: "PUT", path: "/api/v1/profiles/clear", body: `{}`, status: 409, kind: "read-only"},
	{name: "remove a shipped one", token: driveToken, method: "DELETE", path: "/api/v1/profiles/clear", status: 409, kind: "read-only"},
	{name: "remove it", token: driveToken, method: "DELETE", path: "/api/v1/profiles/mine/slow", status: 204},
	{name: "remove it again", token: driveToken, method: "DELETE", path: "/api/v1/profiles/mine/slow", status: 404, kind: "not-found"},

	{name: "link", token: readToken, method: "GET", path: "/api/v1/link", status: 200, has: []string{`"profile":"clear"`}},
	{name: "link of no pair", token: readToken, method: "GET", path: "/api/v1/link?pair=none", status: 404, kind: "not-found", has: []string{"query.pair", "main"}},
	{name: "dry run", token: driveToken, method: "PUT", path: "/api/v1/link?dry_run=true", body: `{"profile":"geo/qirse-sat","seed":7}`, status: 200, has: []string{`"dry_run":true`, `"etag":"v0"`}},
	{name: "put", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"geo/qirse-sat","seed":18446744073709551615}`, status: 200, has: []string{`"etag":"v1"`, `"seed":18446744073709551615`, `"hitless":true`}},
	{name: "put at a stale version", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"clear"}`, head: []string{"If-Match", `"v0"`}, status: 412, kind: "stale", has: []string{"header.If-Match", "v1"}},
	{name: "put at this version", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"geo/qirse-sat","seed":9}`, head: []string{"If-Match", `"v0", "v1"`}, status: 200, has: []string{`"etag":"v2"`}},
	{name: "put any version", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"geo/qirse-sat","seed":8}`, head: []string{"If-Match", `*`}, status: 200, has: []string{`"etag":"v3"`}},
	{name: "patch", token: driveToken, method: "PATCH", path: "/api/v1/link", body: `{"overrides":{"down":{"loss":{"probability":0.01}}}}`, head: []string{"Content-Type", "application/merge-patch+json"}, status: 200, has: []string{`"seed":8`, `"probability":0.01`}},
	{name: "patch as plain JSON", token: driveToken, method: "PATCH", path: "/api/v1/link", body: `{"overrides":null,"seed":18446744073709551615}`, status: 200, has: []string{`"seed":18446744073709551615`}},
	{name: "unknown profile", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"geo/qirs"}`, status: 422, kind: "invalid", has: []string{"body.profile"}},
	{name: "all problems of an inline profile", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"inline":"[down.queue]\nrate = \"8 Mb\"\nnonsense = 1\n"}`, status: 422, kind: "invalid", has: []string{"body.inline.down.queue.rate:2:1", "body.inline.down.queue.nonsense:3:1"}},
	{name: "tables without end", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"inline":"x=` + strings.Repeat("{a=", 100_000) + `"}`, status: 422, kind: "invalid", has: []string{"at most 32 levels"}},
	{name: "a name without end", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"` + strings.Repeat("x", gate.BodyMost-100) + `"}`, status: 422, kind: "invalid", has: []string{"body.profile"}},
	{name: "unknown key", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profil":"clear"}`, status: 422, kind: "invalid", has: []string{"body.profil"}},
	{name: "wrong types", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":7,"seed":"x"}`, status: 422, kind: "invalid", has: []string{"body.profile", "body.seed"}},
	{name: "all problems of a want", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"geo/qirs","mode":"fast"}`, status: 422, kind: "invalid", has: []string{"body.mode", "body.profile", "geo/qirse-"}},
	{name: "wrong type in a patch", token: driveToken, method: "PATCH", path: "/api/v1/link", body: `{"seed":"x"}`, status: 422, kind: "invalid", has: []string{"body.seed"}},
	{name: "patch that is no object", token: driveToken, method: "PATCH", path: "/api/v1/link", body: `[1]`, status: 422, kind: "invalid", has: []string{"body"}},
	{name: "bad JSON", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":`, status: 400, kind: "bad-request", has: []string{"unexpected end"}},
	{name: "a seed of 65 bits", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"clear","seed":18446744073709551616}`, status: 422, kind: "invalid", has: []string{`"body.seed"`, `"18446744073709551616"`, "want a whole number from 0 to 18446744073709551615"}},
	{name: "a seed of 65 bits in a patch", token: driveToken, method: "PATCH", path: "/api/v1/link", body: `{"seed":18446744073709551616}`, status: 422, kind: "invalid", has: []string{"body.seed", "18446744073709551616", "0 to 18446744073709551615"}},
	{name: "a number without end", token: driveToken, method: "PATCH", path: "/api/v1/link", body: `{"overrides":{"down":{"loss":{"probability":1e999}}}}`, status: 400, kind: "bad-request", has: []string{"1e999, want a number"}},
	{name: "a count without end", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"flap","down":"1s","up":"1s","count":1e99}`, status: 422, kind: "invalid", has: []string{`"body.count"`, `"1e99"`, "want a whole number"}},
	{name: "no body", token: driveToken, method: "PUT", path: "/api/v1/link", status: 400, kind: "bad-request"},
	{name: "huge body", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"inline": "` + strings.Repeat("x", gate.BodyMost) + `"}`, status: 413, kind: "too-large"},
	{name: "wrong media type", token: driveToken, method: "PUT", path: "/api/v1/link", body: "profile=clear", head: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, kind: "media-type", has: []string{"--json"}},
	{name: "unknown query", token: driveToken, method: "PUT", path: "/api/v1/link?dryrun=true", body: `{"profile":"clear"}`, status: 422, kind: "invalid", has: []string{"query.dryrun"}},

	{name: "cut", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"cut","duration":"30s"}`, status: 202, has: []string{`"begins":`, `"ends":`}},
	{name: "cut while cut", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"cut","duration":"1s"}`, status: 409, kind: "busy"},
	{name: "reset", token: driveToken, method: "POST", path: "/api/v1/reset", status: 204},
	{name: "flap", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"flap","down":"10ms","up":"10ms","count":3}`, status: 202},
	{name: "cut of no length", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"cut"}`, status: 422, kind: "invalid", has: []string{"body.duration"}},
	{name: "cut of a number", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"cut","duration":5}`, status: 422, kind: "invalid", has: []string{"body.duration"}},
	{name: "cut of a wrong unit", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"cut","duration":"5parsec"}`, status: 422, kind: "invalid", has: []string{`"location":"body.duration"`, `5parsec`}, not: `\"kind\"`},
	{name: "a lease of a wrong unit", token: driveToken, method: "PUT", path: "/api/v1/lease", body: `{"purpose":"x","ttl":"5parsec"}`, status: 422, kind: "invalid", has: []string{`"location":"body.ttl"`, `5parsec`}, not: `purpose`},
	{name: "a key twice", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"clear","profile":"clear"}`, status: 400, kind: "bad-request", has: []string{`"location":"body.profile"`, "this key twice"}},
	{name: "a key twice in a patch", token: driveToken, method: "PATCH", path: "/api/v1/link", body: `{"overrides":{"down":{},"down":{}}}`, status: 400, kind: "bad-request", has: []string{`"location":"body.overrides.down"`, "this key twice"}},
	{name: "a key twice for the proxies", token: driveToken, method: "PUT", path: "/api/v1/pep", body: `{"near":true,"near":false}`, status: 422, kind: "invalid", has: []string{"body.near", "this key twice"}},
	{name: "a wrong patch of the proxies", token: driveToken, method: "PATCH", path: "/api/v1/pep", body: `{"near":7}`, status: 422, kind: "invalid", has: []string{`"location":"body.near"`}},
	{name: "unknown event", token: driveToken, method: "POST", path: "/api/v1/link/events", body: `{"kind":"burn"}`, status: 422, kind: "invalid", has: []string{"body.kind"}},

	{name: "lease", token: driveToken, method: "PUT", path: "/api/v1/lease", body: `{"purpose":"test","ttl":"1m"}`, status: 200, has: []string{`"holder":"driver"`}},
	{name: "lease seen", token: readToken, method: "GET", path: "/api/v1/lease", status: 200, has: []string{`"holder":"driver"`, `"purpose":"test"`}},
	{name: "lease of another", token: otherToken, method: "PUT", path: "/api/v1/lease", body: `{}`, status: 423, kind: "leased", has: []string{"driver", "lease.until"}},
	{name: "waiting", token: otherToken, method: "PUT", path: "/api/v1/lease?wait=true", body: `{"purpose":"later"}`, status: 202, has: []string{`"waiters":[{"name":"other"`}},
	{name: "force without admin", token: otherToken, method: "PUT", path: "/api/v1/lease?force=true", body: `{}`, status: 403, kind: "scope"},
	{name: "write under another's lease", token: otherToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"clear"}`, status: 423, kind: "leased"},
	{name: "write under one's own", token: driveToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"clear"}`, status: 200},
	{name: "release of another's", token: readToken, method: "DELETE", path: "/api/v1/lease", status: 403, kind: "scope"},
	{name: "release", token: driveToken, method: "DELETE", path: "/api/v1/lease", status: 200, has: []string{`"holder":"other"`}},
	{name: "force", token: adminToken, method: "PUT", path: "/api/v1/lease?force=true", body: `{"purpose":"maintenance"}`, status: 200, has: []string{`"holder":"boss"`}},
	{name: "force back", token: adminToken, method: "DELETE", path: "/api/v1/lease", status: 200, has: []string{`"held":false`}},
	{name: "too long a lease", token: driveToken, method: "PUT", path: "/api/v1/lease", body: `{"ttl":"48h"}`, status: 422, kind: "invalid", has: []string{"body.ttl"}},

	{name: "audit", token: readToken, method: "GET", path: "/api/v1/audit", status: 200, has: []string{`"what":"put-link"`, `"who":"driver"`, `"forced":true`, `"status":423`}},
	{name: "session", token: readToken, method: "GET", path: "/api/v1/session", status: 200, has: []string{`"name":"reader"`, `"scope":"read"`, `"claimed":false`}},
	{name: "no session", method: "GET", path: "/api/v1/session", status: 200, has: []string{`"name":"guest@127.0.0.1"`, `"scope":"none"`}},
	{name: "tokens", token: adminToken, method: "GET", path: "/api/v1/tokens", status: 200, has: []string{`"name":"driver"`, `"from_config":true`}},
	{name: "make a token", token: adminToken, method: "PUT", path: "/api/v1/tokens/ci-1", body: `{"scope":"drive"}`, status: 200, has: []string{`"token":"flk_`}},
	{name: "a bad name", token: adminToken, method: "PUT", path: "/api/v1/tokens/-", body: `{"scope":"drive"}`, status: 422, kind: "invalid", has: []string{"path.name"}},
	{name: "a bad scope", token: adminToken, method: "PUT", path: "/api/v1/tokens/x", body: `{"scope":"god"}`, status: 422, kind: "invalid", has: []string{"body.scope"}},
	{name: "a token of the configuration", token: adminToken, method: "PUT", path: "/api/v1/tokens/driver", body: `{"scope":"drive"}`, status: 409, kind: "fixed"},
	{name: "revoke", token: adminToken, method: "DELETE", path: "/api/v1/tokens/ci-1", status: 204},
	{name: "revoke again", token: adminToken, method: "DELETE", path: "/api/v1/tokens/ci-1", status: 404, kind: "not-found"},

	{name: "description", method: "GET", path: "/api/v1/openapi.yaml", status: 200, has: []string{"openapi: 3.1.0"}},
	{name: "health", method: "GET", path: "/healthz", status: 200, has: []string{`"status":"ok"`}},
	{name: "readiness", method: "GET", path: "/readyz", status: 200, has: []string{`"name":"pair main","ok":true`}},
	{name: "metrics", token: readToken, method: "GET", path: "/metrics", status: 200, has: []string{`farlink_build_info{`}},
	{name: "metrics for nobody", method: "GET", path: "/metrics", status: 401, kind: "no-credentials"},
	{name: "panel", method: "GET", path: "/", status: 200, has: []string{"farlink"}},

	{name: "nothing there", token: readToken, method: "GET", path: "/api/v1/nothing", status: 404, kind: "not-found", has: []string{"/api/v1/nothing"}},
	{name: "nothing at all", method: "GET", path: "/nothing", status: 404, kind: "not-found"},
	{name: "wrong method", token: readToken, method: "DELETE", path: "/api/v1/status", status: 405, kind: "method", has: []string{"GET"}},
	{name: "trailing slash", token: readToken, method: "GET", path: "/api/v1/status/", status: 404, kind: "not-found"},
	{name: "no token", method: "GET", path: "/api/v1/status", status: 401, kind: "no-credentials"},
	{name: "wrong token", token: "flk_wrong", method: "GET", path: "/api/v1/status", status: 401, kind: "no-credentials"},
	{name: "too small a scope", token: readToken, method: "PUT", path: "/api/v1/link", body: `{"profile":"clear"}`, status: 403, kind: "scope", has: []string{"drive"}},
	{name: "foreign host", method: "GET", path: "/healthz", head: []string{"Host", "evil.example:8080"}, status: 421, kind: "host", has: []string{"allowed_hosts"}},
	{name: "foreign origin", token: driveToken, method: "POST", path: "/api/v1/reset", head: []string{"Sec-Fetch-Site", "cross-site"}, status: 403, kind: "origin"},
	{name: "wrong password", method: "POST", path: "/api/v1/session", body: `{"password":"nope"}`, status: 401, kind: "wrong-secret"},
	{name: "wrong code", method: "POST", path: "/api/v1/claim", body: `{"code":"nope","password":"long enough"}`, status: 401, kind: "wrong-secret"},
}

// TestRequests asks every operation, in order, on one box.
func TestRequests(t *testing.T) {
	b := newBench(t)
	for _, r := range requests {
		check := b.ask(r.token, r.method, r.path, r.body, r.head...)
		if check.StatusCode != r.status {
			t.Errorf("%s: %s %s: status %d, want %d: %.300s", r.name, r.method, r.path, check.StatusCode, r.status, check.body)
			continue
		}
		for _, part := range r.has {
			if !strings.Contains(check.body, part) {
				t.Errorf("%s: want %s in %.600s", r.name, part, check.body)
			}
		}
		if r.not != "" && strings.Contains(check.body, r.not) {
			t.Errorf("%s: want no %s in %.600s", r.name, r.not, check.body)
		}
		if r.status >= 400 {
			checkProblem(t, r, check)
		}
		if check.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: no security headers", r.name)
		}
	}
}

func checkProblem(t *testing.T, r request, got answered) {
	for _, own := range []string{"json: ", "strconv.", "toml: ", "Go struct", "Go value"} {
		if strings.Contains(got.body, own) {
			t.Errorf("%s: words of the library: %.600s", r.name, got.body)
		}
	}
	t.Helper()
	if ct := got.Header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("%s: Content-Type %q", r.name, ct)
	}
	p := decoded[huma.ErrorModel](t, got.body)
	if p.Type != problem.URN+r.kind || p.Status != r.status || p.Title != http.StatusText(r.status) || p.Detail == "" {
		t.Errorf("%s: want a whole problem of kind %s, got %s", r.name, r.kind, got.body)
	}
}
