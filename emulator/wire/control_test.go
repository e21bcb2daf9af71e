package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// duplex is a pipe's end that reads from one buffer.
type duplex struct {
	io.Reader
	io.Writer
}

func (duplex) Close() error { return nil }

func TestPipeCarriesDocuments(t *testing.T) {
	a, b := net.Pipe()
	near, far := &pipe{rw: a}, &pipe{rw: b}
	sent := ask{ID: 7, Verb: verbApply, Doc: bytes.Repeat([]byte("x"), 100000)}
	go near.write(sent)
	var got ask
	if err := far.read(&got); err != nil || got.ID != 7 || got.Verb != verbApply || !bytes.Equal(got.Doc, sent.Doc) {
		t.Errorf("%v, %d %s", err, got.ID, got.Verb)
	}
}

func TestPipeRefusesNonsense(t *testing.T) {
	for _, c := range []struct{ bytes, want string }{
		{"", "EOF"},
		{"\x00\x00", "unexpected EOF"},
		{"\xff\xff\xff\xff", "want at most"},
		{"\x00\x00\x00\x05{}", "unexpected EOF"},
		{"\x00\x00\x00\x02[]", "cannot unmarshal"},
	} {
		p := &pipe{rw: duplex{strings.NewReader(c.bytes), io.Discard}}
		var a ask
		if err := p.read(&a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.bytes, err, c.want)
		}
	}
}

// The engine's side refuses what comes out of turn and goes on; it ends with
// the daemon's end of the socket.
func TestServerWantsStartFirst(t *testing.T) {
	a, b := net.Pipe()
	s := &server{pipe: &pipe{rw: b}, build: buildPlain}
	ended := make(chan error, 1)
	go func() { ended <- s.serve() }()
	near := &pipe{rw: a}
	if err := near.write(ask{ID: 1, Verb: verbApply}); err != nil {
		t.Fatal(err)
	}
	var r answer
	if err := near.read(&r); err != nil || r.ID != 1 || !strings.Contains(r.Error, "want start first") {
		t.Errorf("%v, %+v", err, r)
	}
	a.Close()
	if err := <-ended; err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// Whatever bytes come, reading ends.
func FuzzPipe(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\xff\x00\x00\x00{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := &pipe{rw: duplex{bytes.NewReader(b), io.Discard}}
		var a ask
		for range len(b)/4 + 1 {
			if p.read(&a) != nil {
				return
			}
		}
		t.Error("more documents than bytes")
	})
}
