package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
)

// described is one operation of the description.
type described struct {
	*huma.Operation
	path string
}

func (d described) url() string {
	return Base + strings.NewReplacer("{name}", "mine%2Fx", "{id}", "x").Replace(d.path)
}

// operations lists every operation.
func (s *Server) operations() (all []described) {
	for path, item := range s.docs.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op != nil {
				all = append(all, described{op, path})
			}
		}
	}
	return all
}

// TestMatrix asks every operation with every kind of token under every kind
// of lease: the refusals are those that scope and lease demand, and no other.
func TestMatrix(t *testing.T) {
	b := newBench(t)
	tokens := []struct {
		secret string
		scope  access.Scope
		name   string
	}{{"", access.None, "guest@127.0.0.1"}, {readToken, access.Read, "reader"}, {driveToken, access.Drive, "driver"}, {adminToken, access.Admin, "boss"}}
	asked := 0
	for _, op := range b.server.operations() {
		for _, token := range tokens {
			for _, holder := range []string{"", token.name, "somebody"} {
				b.server.Desk.Release("", true)
				if holder != "" {
					b.server.Desk.Take(holder, "matrix", time.Minute, false, true)
				}
				want := ""
				need, kind := op.Metadata[gate.NeedKey].(access.Scope), op.Metadata[gate.WriteKey].(gate.Writes)
				switch {
				case token.scope < need && token.scope == access.None:
					want = "no-credentials"
				case token.scope < need:
					want = "scope"
				case kind == gate.UnderLease && holder == "somebody":
					want = "leased"
				case strings.HasSuffix(op.OperationID, "-lease") && kind != gate.Reads && holder == "somebody":
					want = "leased" // these say so themselves
				}
				got := refusal(t, b, op, token.secret)
				if got != want {
					t.Errorf("%s by %q, lease of %q: refused for %q, want %q", op.OperationID, token.name, holder, got, want)
				}
				asked++
			}
		}
	}
	if asked < 20*4*3 {
		t.Errorf("only %d requests", asked)
	}
}

// refusal asks and returns the kind of the problem, if it is one of access.
func refusal(t *testing.T, b *bench, op described, token string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	body := ""
	if op.RequestBody != nil {
		body = `{}`
	}
	req, err := http.NewRequestWithContext(ctx, op.Method, b.url+op.url(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode < 400 {
		return "" // the body of a stream has no end
	}
	var p huma.ErrorModel
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		t.Fatalf("%s: %v", op.OperationID, err)
	}
	switch kind := strings.TrimPrefix(p.Type, problem.URN); kind {
	case "no-credentials", "scope", "leased":
		return kind
	}
	return ""
}

// TestFuzz throws 2,000 requests made from the description, then bent, at
// every operation: none may end in a 5xx, and every refusal is a problem.
func TestFuzz(t *testing.T) {
	b := newBench(t)
	ops := b.server.operations()
	d := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		op := ops[d.IntN(len(ops))]
		if op.OperationID == "stream" {
			continue
		}
		body := ""
		if op.RequestBody != nil {
			body = bend(d, pick(d, "[down.queue]\nrate = \"8Mbit/s\"\n", "[geo]\n", "seed = 1"))
			if content := op.RequestBody.Content[typeJSON]; content != nil {
				body = bend(d, anyText(d, b.server.docs, content.Schema, 0))
			}
		}
		path := op.url()
		for _, p := range op.Parameters {
			if p.In == "query" && d.IntN(2) == 0 {
				path += fmt.Sprintf("%s%s=%s", map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")], p.Name, word(d))
			}
		}
		got := b.ask(adminToken, op.Method, path, body, "Content-Type", pick(d, typeJSON, typeJSON, typeTOML, "text/plain"), "If-Match", pick(d, "*", `"v0"`, "junk"))
		if got.StatusCode >= 500 {
			t.Fatalf("request %d: %s %s %s: %d %s", i, op.Method, path, body, got.StatusCode, got.body)
		}
		if got.StatusCode >= 400 && got.Header.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("request %d: %s %s: %d without a problem: %s", i, op.Method, path, got.StatusCode, got.body)
		}
	}
}

func pick(d *rand.Rand, of ...string) string { return of[d.IntN(len(of))] }

// word is a value that some field somewhere takes.
func word(d *rand.Rand) string {
	return pick(d, "clear", "geo/qirse-sat", "main", "emulate", "cut", "flap", "5s", "10ms", "8Mbit/s", "true", "1", "-1", "0",
		"99999999999999999999", "%00", "%F0%9F%9B%B0", "..", "drive", "x")
}

// anyText writes a JSON value of the schema, more or less.
func anyText(d *rand.Rand, docs *huma.OpenAPI, s *huma.Schema, depth int) string {
	if s != nil && s.Ref != "" {
		s = docs.Components.Schemas.SchemaFromRef(s.Ref)
	}
	if s == nil || depth > 4 {
		return `null`
	}
	if len(s.Enum) > 0 && d.IntN(4) > 0 {
		return fmt.Sprintf("%q", s.Enum[d.IntN(len(s.Enum))])
	}
	switch s.Type {
	case huma.TypeObject:
		var parts []string
		for name, p := range s.Properties {
			if d.IntN(2) == 0 {
				parts = append(parts, fmt.Sprintf("%q:%s", name, anyText(d, docs, p, depth+1)))
			}
		}
		if len(s.Properties) == 0 {
			parts = append(parts, fmt.Sprintf("%q:{%q:%q}", pick(d, "down", "up", "seed", "mode", "x"), pick(d, "queue", "loss", "path"), word(d)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case huma.TypeArray:
		return "[" + anyText(d, docs, s.Items, depth+1) + "]"
	case huma.TypeInteger, huma.TypeNumber:
		return pick(d, "0", "1", "-1", "1e400", "0.5", "18446744073709551615", "18446744073709551616")
	case huma.TypeBoolean:
		return pick(d, "true", "false")
	}
	return fmt.Sprintf("%q", strings.NewReplacer("%", "").Replace(word(d)))
}

// bend spoils some of the bodies.
func bend(d *rand.Rand, s string) string {
	if s == "" {
		return s
	}
	i := d.IntN(len(s))
	switch d.IntN(6) {
	case 0:
		return s[:i]
	case 1:
		return s[:i] + pick(d, "{", "}", "\x00", "\"", "[", "\xff", "null") + s[i:]
	case 2:
		return strings.Repeat("[", 5000) + s
	}
	return s
}
