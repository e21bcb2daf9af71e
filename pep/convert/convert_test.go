package convert

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"reflect"
	"testing"
)

// Connect to 192.0.2.1:443: 6 words in all, TLV 0x0a of 5 words, port 0x01bb,
// ::ffff:192.0.2.1.
func TestConnect(t *testing.T) {
	m := Message{Server: netip.MustParseAddrPort("192.0.2.1:443")}
	if got, want := hex.EncodeToString(m.Append(nil)), "01062263"+"0a0501bb"+"0000000000000000"+"0000ffffc0000201"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := hex.EncodeToString((&Message{}).Append(nil)); got != "01012263" {
		t.Errorf("an empty message is %s, want 01012263", got)
	}
}

func TestBothWays(t *testing.T) {
	for _, m := range []Message{
		{},
		{Info: true},
		{Server: netip.MustParseAddrPort("[2001:db8::1]:80"), Cookie: []byte("eightbyt")},
		{Kinds: []byte{30, 34}},
		{Error: &Refusal{Code: Unreachable}},
		{Error: &Refusal{Code: MissingCookie, Value: []byte("cook")}},
	} {
		got, err := Read(bytes.NewReader(m.Append(nil)))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v became %+v, %v", m, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, hex string
		want      any
	}{
		{"another magic", "01012264", ErrMalformed},
		{"no words", "01002263", ErrMalformed},
		{"an early end", "01062263" + "0a05", io.ErrUnexpectedEOF},
		{"a TLV of no words", "01022263" + "0a000000", ErrMalformed},
		{"a TLV past the end", "01022263" + "0a050000", ErrMalformed},
		{"a short Connect", "01022263" + "0a010000", ErrMalformed},
		{"another version", "02012263", UnsupportedVersion},
		{"an unknown TLV", "01022263" + "63010000", UnsupportedMessage},
	} {
		b, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Read(bytes.NewReader(b))
		var refusal *Refusal
		switch want := c.want.(type) {
		case error:
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", c.name, err, want)
			}
		case Code:
			if !errors.As(err, &refusal) || refusal.Code != want {
				t.Errorf("%s: %v, want %v", c.name, err, want)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	m := Message{Server: netip.MustParseAddrPort("192.0.2.1:443"), Cookie: []byte("cookie"), Info: true}
	f.Add(m.Append(nil))
	f.Add((&Message{Error: &Refusal{Code: Malformed}, Kinds: []byte{30}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(m.Append(nil)))
		if err != nil || again.Server != m.Server || again.Info != m.Info || (again.Error == nil) != (m.Error == nil) {
			t.Errorf("% x: %+v became %+v, %v", b, m, again, err)
		}
	})
}
