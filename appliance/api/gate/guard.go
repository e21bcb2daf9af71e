package gate

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"farlink/appliance/api/problem"
)

// headers go with every answer. Scripts, styles and connections come from
// the box itself and nothing else; nobody may frame it.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// Guard stands before the router: it refuses what no operation should see.
func (g *Gate) Guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	own := ownNames()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer g.rescue(w, r)
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if !hostAllowed(slices.Concat(own, names(g.Door.Allowed())), r.Host) {
			problem.Write(w, problem.New(http.StatusMisdirectedRequest, fmt.Sprintf(
				"the box is not called %q; add the name to allowed_hosts, in the settings or in the configuration", r.Host)))
			return
		}
		if err := origin.Check(r); err != nil {
			problem.Write(w, problem.Named("origin", http.StatusForbidden, "a page of another origin must not do this: "+err.Error()))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, BodyMost)
		next.ServeHTTP(w, slashes(r))
	})
}

// rescue turns a panic into a problem; the stack goes to the log.
func (g *Gate) rescue(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	g.Log.Error("request panicked", "method", r.Method, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
	problem.Write(w, problem.New(http.StatusInternalServerError, "the box met a bug of its own; its log says more"))
}

// ownNames lists the names that are always in force besides addresses.
func ownNames() []string {
	own := []string{"localhost"}
	if host, err := os.Hostname(); err == nil {
		own = append(own, host, host+".local")
	}
	return names(own)
}

// names brings names into the form in which they are compared.
func names(of []string) []string {
	for i := range of {
		of[i] = strings.ToLower(strings.TrimSuffix(of[i], "."))
	}
	return of
}

// hostAllowed keeps DNS rebinding out: a page of evil.example that makes its
// name point to the box still calls it evil.example. An address cannot be
// rebound.
func hostAllowed(names []string, host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if net.ParseIP(strings.Trim(name, "[]")) != nil {
		return true
	}
	return slices.Contains(names, name)
}

// slashes lets the name of a profile stand in a path as it is:
// /profiles/geo/qirse-t is /profiles/geo%2Fqirse-t.
func slashes(r *http.Request) *http.Request {
	const before = Base + "/profiles/"
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), before)
	if !ok || !strings.Contains(rest, "/") {
		return r
	}
	name, err := url.PathUnescape(rest)
	if err != nil {
		return r
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = before+name, before+url.PathEscape(name)
	return r
}
