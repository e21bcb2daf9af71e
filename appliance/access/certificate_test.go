package access

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSelfMade(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	first, made, err := SelfMade(dir, []string{"localhost", "127.0.0.1"}, now)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	if st, err := os.Stat(filepath.Join(dir, keyFile)); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("key: %v %v", st.Mode(), err)
	}
	again, made, err := SelfMade(dir, []string{"localhost"}, now)
	if err != nil || made || Fingerprint(again) != Fingerprint(first) {
		t.Errorf("again: made %v, %v", made, err)
	}
	if n := len(Fingerprint(first)); n != 32*3-1 {
		t.Errorf("fingerprint %q", Fingerprint(first))
	}
	if _, made, _ := SelfMade(dir, []string{"bench.example"}, now); !made {
		t.Error("a certificate of other names is kept")
	}
	if _, made, _ := SelfMade(dir, []string{"bench.example"}, now.Add(certificateLife-certificateLeft)); !made {
		t.Error("a certificate that ends soon is kept")
	}
	if err := os.WriteFile(filepath.Join(dir, keyFile), []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := SelfMade(dir, nil, now); err == nil || !strings.Contains(err.Error(), "remove") {
		t.Errorf("junk: %v", err)
	}
}

// handshake has a client meet a server on loopback.
func handshake(t *testing.T, server, client *tls.Config) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.(*tls.Conn).Handshake()
			c.Close()
		}
	}()
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: 20 * time.Second}, Config: client}
	c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err == nil {
		c.Close()
	}
	return err
}

// TestPinned: the box is known by its fingerprint, however it is written, and
// by no other.
func TestPinned(t *testing.T) {
	c, _, err := SelfMade(t.TempDir(), []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	right := Fingerprint(c)
	other, _, err := SelfMade(t.TempDir(), []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for pin, ok := range map[string]bool{right: true, strings.ToLower(strings.ReplaceAll(right, " ", ":")): true, Fingerprint(other): false, "": false} {
		if err := handshake(t, TLS(c), Pinned(pin)); (err == nil) != ok {
			t.Errorf("pin %q: %v", pin, err)
		}
	}
}

// TestTLSHandshake: a client that trusts the certificate gets through, one
// that speaks TLS 1.1 does not.
func TestTLSHandshake(t *testing.T) {
	c, _, err := SelfMade(t.TempDir(), []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	trust := x509.NewCertPool()
	trust.AddCert(c.Leaf)
	for _, version := range []uint16{tls.VersionTLS13, tls.VersionTLS12, tls.VersionTLS11} {
		err := handshake(t, TLS(c), &tls.Config{RootCAs: trust, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: version})
		if ok := err == nil; ok != (version >= tls.VersionTLS12) {
			t.Errorf("version %x: %v", version, err)
		}
	}
}
