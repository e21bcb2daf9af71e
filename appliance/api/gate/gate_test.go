package gate

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"farlink/appliance/access"
	"farlink/appliance/door"
)

// secrets of tokens, one for each scope and a second driver.
var secrets = map[string]access.Scope{
	"flk_reader_0123456789abcdef": access.Read, "flk_driver_0123456789abcdef": access.Drive,
	"flk_second_0123456789abcdef": access.Drive, "flk_master_0123456789abcdef": access.Admin,
}

func named(secret string) string { return strings.Split(secret, "_")[1] }

// gated is a gate with one operation behind it for each kind of write; guests
// have a scope.
func gated(t *testing.T, guests string) (*Gate, http.Handler) {
	t.Helper()
	keys, err := access.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for secret, scope := range secrets {
		if err := keys.Accept(named(secret), scope, secret); err != nil {
			t.Fatal(err)
		}
	}
	audit, err := access.OpenAudit(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &Gate{Keys: keys, Desk: access.NewDesk(time.Now), Audit: audit, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Door: door.Still(door.Settings{Open: guests, TLS: "off"}), Count: func(string, int) {}, Wrote: func() {}}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	api := humagin.New(router, huma.DefaultConfig("gate", "1"))
	api.UseMiddleware(g.Admit)
	for _, op := range []huma.Operation{
		Operation("read", "GET", "/read", access.Read, Reads, ""),
		Operation("change", "PUT", "/change", access.Drive, UnderLease, ""),
		Operation("lease", "PUT", "/lease", access.Drive, Freely, ""),
		Operation("tokens", "PUT", "/tokens", access.Admin, Freely, ""),
		Operation("health", "GET", "/health", access.None, Reads, ""),
	} {
		huma.Register(api, op, func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	}
	return g, g.Guard(router)
}

func status(h http.Handler, method, path, secret string, headers ...string) int {
	r := httptest.NewRequest(method, "http://localhost"+path, nil)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	io.Copy(io.Discard, w.Result().Body)
	return w.Code
}

// TestDecisions asks as everybody for everything: scope first, then the lease,
// which stands against what changes the link only, and not against its holder.
func TestDecisions(t *testing.T) {
	const reader, driver, second, master = "flk_reader_0123456789abcdef", "flk_driver_0123456789abcdef", "flk_second_0123456789abcdef", "flk_master_0123456789abcdef"
	for _, c := range []struct {
		guests, holder, secret              string
		read, change, lease, tokens, health int
	}{
		{"none", "", "", 401, 401, 401, 401, 204},
		{"none", "", "flk_nobody_0123456789abcdef", 401, 401, 401, 401, 204},
		{"none", "", reader, 204, 403, 403, 403, 204},
		{"none", "", driver, 204, 204, 204, 403, 204},
		{"none", "", master, 204, 204, 204, 204, 204},
		{"none", "driver", driver, 204, 204, 204, 403, 204},
		{"none", "driver", second, 204, 423, 204, 403, 204},
		{"none", "driver", master, 204, 423, 204, 204, 204},
		{"none", "driver", reader, 204, 403, 403, 403, 204},
		{"read", "", "", 204, 401, 401, 401, 204},
		{"admin", "", "", 204, 204, 204, 204, 204},
		{"admin", "driver", "", 204, 423, 204, 204, 204},
		{"admin", "", "flk_nobody_0123456789abcdef", 401, 401, 401, 401, 204}, // who sends some means them
	} {
		g, h := gated(t, c.guests)
		if c.holder != "" {
			g.Desk.Take(c.holder, "test", time.Hour, false, false)
		}
		got := [5]int{status(h, "GET", "/read", c.secret), status(h, "PUT", "/change", c.secret), status(h, "PUT", "/lease", c.secret),
			status(h, "PUT", "/tokens", c.secret), status(h, "GET", "/health", c.secret)}
		if want := [5]int{c.read, c.change, c.lease, c.tokens, c.health}; got != want {
			t.Errorf("guests %s, lease %q, token %.10q: %v, want %v", c.guests, c.holder, c.secret, got, want)
		}
	}
}

// What changed something is in the audit log, and so is what a lease refused;
// what was read or stopped at the scope is not.
func TestAudit(t *testing.T) {
	g, h := gated(t, "none")
	g.Desk.Take("driver", "test", time.Hour, false, false)
	for _, secret := range []string{"", "flk_reader_0123456789abcdef", "flk_driver_0123456789abcdef", "flk_second_0123456789abcdef"} {
		status(h, "GET", "/read", secret)
		status(h, "PUT", "/change", secret)
	}
	got := g.Audit.Tail(0, 10)
	said := map[string]int{}
	for _, e := range got {
		said[e.Who+" "+e.What] = e.Status
	}
	if len(got) != 2 || said["driver change"] != 204 || said["second change"] != 423 {
		t.Errorf("%+v", got)
	}
}

// Pages of others, by name or by origin, do not reach the router.
func TestGuard(t *testing.T) {
	_, h := gated(t, "admin")
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{nil, 204},
		{[]string{"Origin", "http://localhost"}, 204},
		{[]string{"Origin", "http://evil.example"}, 403},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		if got := status(h, "PUT", "/change", "", c.headers...); got != c.want {
			t.Errorf("%v: %d, want %d", c.headers, got, c.want)
		}
	}
	for host, want := range map[string]bool{"box.lab": true, "BOX.lab.:8080": true, "192.0.2.1:80": true, "[2001:db8::1]:80": true,
		"evil.example": false, "box.lab.evil.example": false, "": false} {
		if got := hostAllowed([]string{"box.lab"}, host); got != want {
			t.Errorf("host %q: %v, want %v", host, got, want)
		}
	}
}
