package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"farlink/pep/multipath"
)

// relay is a router or a proxy.
type relay interface {
	Config() multipath.Config
	Configure(multipath.Config) error
	Stats() multipath.Stats
}

// multipathPath is where a relay's configuration and state are.
const multipathPath = "/api/v1/multipath"

// relayState is what GET answers.
type relayState struct {
	Mode   string           `json:"mode"` // "lab": not MPTCP on the wire
	Config multipath.Config `json:"config"`
	Stats  multipath.Stats  `json:"stats"`
}

// serveRelay answers at a loopback address until ctx ends: whoever is on this
// machine may change the relay, nobody else reaches it.
func serveRelay(ctx context.Context, at string, r relay) error {
	a, err := netip.ParseAddrPort(at)
	if err != nil || !a.Addr().IsLoopback() {
		return fmt.Errorf("--api %q: want an address of this machine alone, such as 127.0.0.1:8090", at)
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("--api: %w", err)
	}
	server := &http.Server{Handler: relayHandler(r), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	go server.Serve(l)
	return nil
}

// relayHandler shows a relay and takes changes, which hold for new
// connections: PUT the whole configuration, PATCH what is named.
func relayHandler(r relay) http.Handler {
	mux := http.NewServeMux()
	show := func(w http.ResponseWriter, _ *http.Request) { answer(w, relayState{"lab", r.Config(), r.Stats()}) }
	change := func(begin func() multipath.Config) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			c := begin()
			d := json.NewDecoder(io.LimitReader(q.Body, 64<<10))
			d.DisallowUnknownFields()
			err := d.Decode(&c)
			if err == nil {
				err = r.Configure(c)
			}
			if err != nil {
				problem(w, http.StatusUnprocessableEntity, err)
				return
			}
			show(w, q)
		}
	}
	mux.HandleFunc("GET "+multipathPath, show)
	mux.HandleFunc("PUT "+multipathPath, change(func() multipath.Config { return multipath.Config{} }))
	mux.HandleFunc("PATCH "+multipathPath, change(r.Config))
	// A page of another origin may name a host that resolves to loopback.
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if a, err := netip.ParseAddrPort(q.Host); err != nil || !a.Addr().IsLoopback() || q.Header.Get("Origin") != "" {
			problem(w, http.StatusForbidden, fmt.Errorf("host %q or origin %q: want this machine's own address, and no web page", q.Host, q.Header.Get("Origin")))
			return
		}
		mux.ServeHTTP(w, q)
	})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// problem answers as RFC 9457 has it.
func problem(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": err.Error()})
}
