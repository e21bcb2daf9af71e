package door

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/access"
)

// opened is a door with a server behind it that tells how it was reached.
func opened(t *testing.T, dir string, a appliance.APIConfig) *Door {
	t.Helper()
	if a.Listen == "" {
		a.Listen = free(t)
	}
	a.Open, a.TLS = "none", or(a.TLS, "off")
	d, err := Open(dir, a, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "tls %v", r.TLS != nil) })}
	go s.Serve(d)
	t.Cleanup(func() { s.Close() })
	return d
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// free is an address that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// answers asks at an address, over a connection of its own.
func answers(address, scheme string) string {
	c := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	r, err := c.Get(scheme + "://" + address + "/")
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	b := make([]byte, 100)
	n, _ := r.Body.Read(b)
	return string(b[:n])
}

func TestMove(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir, appliance.APIConfig{})
	first := d.Look().Listen
	want := d.Look().Settings
	want.Listen = free(t)
	st, err := d.Move(want, false)
	if err != nil || st.Trial.IsZero() || st.API != "http://"+want.Listen {
		t.Fatalf("%+v, %v", st, err)
	}
	if got := answers(want.Listen, "http"); got != "tls false" {
		t.Errorf("at the new address: %s", got)
	}
	if got := answers(first, "http"); !strings.Contains(got, "refused") {
		t.Errorf("at the old address: %s", got)
	}
	if _, err := d.Move(want, false); !errors.Is(err, ErrTrial) {
		t.Errorf("moved while on trial: %v", err)
	}
	d.Entered(time.Now().Add(-time.Hour)) // by a connection of before
	if d.Look().Trial.IsZero() {
		t.Error("somebody who was inside already ended the trial")
	}
	d.Entered(time.Now())
	if st := d.Look(); !st.Trial.IsZero() || st.Configured {
		t.Errorf("after somebody came in: %+v", st)
	}
	if s, ok, err := load(dir, d.config); !ok || err != nil || s.Listen != want.Listen {
		t.Errorf("kept: %+v, %v, %v", s, ok, err)
	}
	// All addresses of the machine, at the same port, and TLS at once.
	_, port, _ := net.SplitHostPort(want.Listen)
	want.Listen, want.TLS = ":"+port, "self"
	if st, err = d.Move(want, false); err != nil || st.Certificate == nil || !strings.HasPrefix(st.API, "https://") {
		t.Fatalf("%+v, %v", st, err)
	}
	if got := answers("127.0.0.1:"+port, "https"); got != "tls true" {
		t.Errorf("by TLS: %s", got)
	}
	d.mu.Lock()
	d.trial.timer.Stop()
	d.mu.Unlock()
	d.back() // nobody came
	if st := d.Look(); st.TLS != "off" || !st.Trial.IsZero() {
		t.Errorf("gone back: %+v", st)
	}
	if got := answers("127.0.0.1:"+port, "http"); got != "tls false" {
		t.Errorf("gone back: %s", got)
	}
	if _, err := d.Reset(); err != nil {
		t.Fatal(err)
	}
	d.Entered(time.Now())
	if _, err := os.Stat(filepath.Join(dir, settingsFile)); !errors.Is(err, os.ErrNotExist) || !d.Look().Configured {
		t.Errorf("as configured, yet %v is kept", err)
	}
}

func TestMoveRefused(t *testing.T) {
	d := opened(t, t.TempDir(), appliance.APIConfig{})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	was := d.Look()
	for want, change := range map[string]func(*Settings){
		"listen":           func(s *Settings) { s.Listen = "nowhere" },
		"such as":          func(s *Settings) { s.Listen = "example.com:80" },
		"in use":           func(s *Settings) { s.Listen = taken.Addr().String() },
		"assign":           func(s *Settings) { s.Listen = "192.0.2.1:8443" },
		"allowed_hosts[0]": func(s *Settings) { s.AllowedHosts = []string{"http://x"} },
		"open":             func(s *Settings) { s.Open = "admin" },
		"upload one":       func(s *Settings) { s.TLS = "own" },
	} {
		s := was.Settings
		change(&s)
		if _, err := d.Move(s, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", s, err, want)
		}
	}
	if got := answers(was.Listen, "http"); got != "tls false" || !d.Look().Trial.IsZero() {
		t.Errorf("after refusals: %s", got)
	}
	if _, err := Still(Settings{Listen: "x:1", Open: "none", TLS: "off"}).Move(Settings{Listen: ":2", Open: "none", TLS: "off"}, false); err == nil {
		t.Error("a door that others opened was moved")
	}
}

// certified makes a certificate with its key, as PEM.
func certified(t *testing.T, until time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(until.Unix()), DNSNames: []string{"bench-3.lab.example"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func TestUpload(t *testing.T) {
	dir := t.TempDir()
	d := opened(t, dir, appliance.APIConfig{})
	cert, key := certified(t, time.Now().Add(time.Hour))
	old, oldKey := certified(t, time.Now().Add(-time.Minute))
	for want, pair := range map[string][2]string{
		"BEGIN CERTIFICATE":    {"x", key},
		"BEGIN PRIVATE":        {cert, "x"},
		"key of the":           {cert, oldKey},
		"one that is valid":    {old, oldKey},
		"BEGIN CERTIFICATE---": {key, cert},
	} {
		if _, err := d.Upload(pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	if _, err := d.Upload(cert, key); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "own.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key is for others to read: %v, %v", info.Mode(), err)
	}
	want := d.Look().Settings
	want.TLS = "own"
	st, err := d.Move(want, false)
	if err != nil || st.Certificate == nil || st.Certificate.Names[0] != "bench-3.lab.example" {
		t.Fatalf("%+v, %v", st, err)
	}
	d.Entered(time.Now())
	// Another one is in use at once.
	next, nextKey := certified(t, time.Now().Add(2*time.Hour))
	if _, err := d.Upload(next, nextKey); err != nil {
		t.Fatal(err)
	}
	c, err := tls.Dial("tcp", want.Listen, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := access.Fingerprint(tls.Certificate{Certificate: [][]byte{c.ConnectionState().PeerCertificates[0].Raw}}); got != d.Look().Certificate.Fingerprint || got == st.Certificate.Fingerprint {
		t.Errorf("served with %s", got)
	}
	// It is there at the next start.
	d.Close()
	again, err := Open(dir, appliance.APIConfig{Listen: want.Listen, Open: "none", TLS: "off"}, slog.New(slog.DiscardHandler), nil)
	if err != nil || again.Look().TLS != "own" {
		t.Fatalf("started again: %+v, %v", again, err)
	}
	again.Close()
}
