package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseOver(t *testing.T) {
	got, err := parseOver([]string{"10.1.0.1=10.1.0.2:6500", "fd01::1=[fd01::2]:6500,backup"})
	if err != nil || len(got) != 2 || got[0].Backup || !got[1].Backup || got[1].Proxy.String() != "[fd01::2]:6500" || got[0].Local.String() != "10.1.0.1" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "10.1.0.1", "10.1.0.1=10.1.0.2", "x=10.1.0.2:1", "10.1.0.1=10.1.0.2:1,spare"} {
		if _, err := parseOver([]string{bad}); err == nil || !strings.Contains(err.Error(), "LOCAL=PROXY:PORT") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text string
		fine bool
	}{{"0123456789abcdef\n", true}, {"short", false}, {"               \n\n", false}} {
		f := relayFlags{key: filepath.Join(dir, "key")}
		if err := os.WriteFile(f.key, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if key, err := f.secret(); (err == nil) != c.fine || c.fine && len(key) != 16 {
			t.Errorf("%q: %q, %v", c.text, key, err)
		}
	}
	if _, err := (&relayFlags{key: filepath.Join(dir, "none")}).secret(); err == nil {
		t.Error("a key that is not there was read")
	}
}

// What would need root for nothing is refused before.
func TestMultipathMisuse(t *testing.T) {
	for _, args := range [][]string{
		{"multipath", "try", "--scheduler", "best"},
		{"multipath", "try", "--carriers", "lte/nobody"},
		{"multipath", "router", "--lan", "lo", "--key", "/nonexistent", "--over", "x"},
		{"multipath", "proxy", "--lan", "lo", "--key", "/nonexistent", "--listen", "127.0.0.1:0"},
	} {
		if status := run(args); status == 0 {
			t.Errorf("%v succeeded", args)
		}
	}
}
