package framing

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"testing"

	"farlink/emulator/link"
)

var key = []byte("0123456789abcdef")

// TestFrame: type 1, flag 1, 3 bytes, number 0x0102, stamp 9.
func TestFrame(t *testing.T) {
	f := Frame{Type: Data, Flags: Last, DSN: 0x0102, Stamp: 9, Payload: []byte("abc")}
	b := f.Append(nil)
	if got, want := hex.EncodeToString(b[:20]), "01010000"+"00000003"+"0000000000000102"+"00000009"; got != want {
		t.Errorf("header %s, want %s", got, want)
	}
	if len(b) != HeaderSize+3 {
		t.Errorf("%d bytes, want %d", len(b), HeaderSize+3)
	}
	got, err := NewReader(bytes.NewReader(b)).Next()
	if err != nil || got.Type != f.Type || got.Flags != f.Flags || got.DSN != f.DSN || got.Stamp != 9 || string(got.Payload) != "abc" {
		t.Errorf("read %+v, %v", got, err)
	}
}

// Any one bit that is wrong is found; so is an end in the middle.
func TestDamage(t *testing.T) {
	f := Frame{Type: Data, DSN: 7, Payload: []byte("payload")}
	good := f.Append(nil)
	for bit := range len(good) * 8 {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		// A longer payload than is there is an early end.
		if _, err := NewReader(bytes.NewReader(bad)).Next(); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnknown) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	for n := 1; n < len(good); n++ {
		if _, err := NewReader(bytes.NewReader(good[:n])).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := NewReader(bytes.NewReader(nil)).Next(); err != io.EOF {
		t.Errorf("nothing: %v", err)
	}
}

func TestAck(t *testing.T) {
	f := AckFrame(100, 300)
	if limit, err := f.Limit(); err != nil || limit != 300 {
		t.Errorf("limit %d, %v", limit, err)
	}
	f = AckFrame(100, 99)
	if _, err := f.Limit(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a window that ends before it begins: %v", err)
	}
	f.Payload = f.Payload[:7]
	if _, err := f.Limit(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("7 bytes: %v", err)
	}
}

func TestHello(t *testing.T) {
	h := Hello{Subflow: 1, Token: [16]byte{1, 2}, Nonce: [16]byte{3}, Unix: 1000}
	b := h.Append(nil, key)
	if len(b) != HelloSize {
		t.Fatalf("%d bytes, want %d", len(b), HelloSize)
	}
	if got, err := ReadHello(bytes.NewReader(b), key); err != nil || got != h {
		t.Errorf("%+v, %v", got, err)
	}
	change := func(at int) []byte { c := bytes.Clone(b); c[at] ^= 1; return c }
	for _, c := range []struct {
		name string
		b    []byte
		key  string
		want error
	}{
		{"another key", b, "another key, long", ErrKey},
		{"another subflow", change(5), string(key), ErrKey},
		{"another token", change(8), string(key), ErrKey},
		{"another time", change(47), string(key), ErrKey},
		{"another version", change(4), string(key), ErrVersion},
		{"another protocol", change(0), string(key), ErrForeign},
		{"an early end", b[:79], string(key), io.ErrUnexpectedEOF},
	} {
		if _, err := ReadHello(bytes.NewReader(c.b), []byte(c.key)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	var s Seen
	for _, c := range []struct {
		nonce byte
		now   int64
		want  error
	}{{3, 1000, nil}, {3, 1001, ErrReplay}, {4, 1000 + Tolerance + 1, ErrClock}, {4, 1000 - Tolerance - 1, ErrClock}, {4, 1000 + Tolerance, nil}} {
		h.Nonce[0] = c.nonce
		if err := s.Check(&h, c.now); !errors.Is(err, c.want) {
			t.Errorf("nonce %d at %d: %v, want %v", c.nonce, c.now, err, c.want)
		}
	}
}

// TestBook walks through the life of five chunks of 10 bytes on two paths,
// window 40.
func TestBook(t *testing.T) {
	var dropped []uint64
	b := NewBook(40, func(c *Chunk) { dropped = append(dropped, c.DSN) })
	for range 4 {
		b.Append(&Chunk{Data: make([]byte, 10)})
	}
	b.Append(&Chunk{Last: true}) // takes number 40
	if b.Unsent() != 41 || b.Held() != 41 {
		t.Errorf("unsent %d, held %d; want 41", b.Unsent(), b.Held())
	}
	b.Sent(b.New(), 0) // 0
	b.Sent(b.New(), 1) // 10
	b.Sent(b.New(), 0) // 20
	if window, left := b.Window(); window != 40 || left != 10 || b.New().DSN != 30 {
		t.Errorf("window %d, left %d, next %d; want 40, 10, 30", window, left, b.New().DSN)
	}
	if n := b.Lose(0); n != 2 || b.Again().DSN != 0 {
		t.Errorf("path 0 had %d chunks, first to go again %+v; want 2, 0", n, b.Again())
	}
	b.Sent(b.Again(), 1)
	if b.Again().DSN != 20 || b.Reinjected != 1 {
		t.Errorf("then %+v, %d reinjected", b.Again(), b.Reinjected)
	}
	if news, ok := b.Acked(30, 70); !news || !ok || b.Again() != nil || !slices.Equal(dropped, []uint64{0, 10, 20}) {
		t.Errorf("acknowledged: news %v, possible %v, again %v, dropped %v", news, ok, b.Again(), dropped)
	}
	if window, left := b.Window(); window != 40 || left != 40 || b.Una() != 30 {
		t.Errorf("window %d, left %d, una %d; want 40, 40, 30", window, left, b.Una())
	}
	if _, ok := b.Acked(31, 70); ok {
		t.Error("what was never sent was acknowledged")
	}
	b.Sent(b.New(), 1)
	b.Sent(b.New(), 1)
	if news, ok := b.Acked(41, 81); !news || !ok || b.Held() != 0 || b.New() != nil || b.Head() != nil {
		t.Errorf("all acknowledged: held %d", b.Held())
	}
}

// TestCopies: path 1 copies what path 0 has in flight, once each.
func TestCopies(t *testing.T) {
	b := NewBook(1000, func(*Chunk) {})
	for range 4 {
		b.Append(&Chunk{Data: make([]byte, 10)})
	}
	for range 3 {
		b.Sent(b.New(), 0)
	}
	if b.Behind(0) != 0 || b.Behind(1) != 30 {
		t.Errorf("behind %d and %d, want 0 and 30", b.Behind(0), b.Behind(1))
	}
	for _, want := range []uint64{0, 10} {
		c := b.Copy(1)
		if c == nil || c.DSN != want {
			t.Fatalf("copy %+v, want %d", c, want)
		}
		b.Copied(c, 1)
	}
	b.Acked(20, 1020)
	if c := b.Copy(1); c == nil || c.DSN != 20 || b.Behind(1) != 10 || b.Reinjected != 0 {
		t.Errorf("copy %+v, behind %d, reinjected %d; want 20, 10, 0", c, b.Behind(1), b.Reinjected)
	}
	if n := b.Lose(0); n != 1 { // 20 is on path 0 alone
		t.Errorf("path 0 lost %d, want 1", n)
	}
}

// TestReorder: chunks in any order, with copies, come out once and in order.
func TestReorder(t *testing.T) {
	draw := link.NewDraw(1, "order")
	for round := range uint64(50) {
		r := NewReorder(1 << 20)
		numbers := make([]uint64, 0, 40)
		for i := range uint64(20) {
			numbers = append(numbers, i, i)
		}
		for i := len(numbers) - 1; i > 0; i-- {
			j := draw.Uint64(round*100+uint64(i)) % uint64(i+1)
			numbers[i], numbers[j] = numbers[j], numbers[i]
		}
		var out []uint64
		for _, n := range numbers {
			if !r.Wants(n * 10) {
				continue
			}
			p := Piece{DSN: n * 10, Data: make([]byte, 10)}
			if n == 19 {
				p.Data, p.Last = p.Data[:9], true
			}
			if err := r.Put(p, func(p Piece) { out = append(out, p.DSN) }); err != nil {
				t.Fatal(err)
			}
		}
		if now, most := r.Held(); len(out) != 20 || !slices.IsSorted(out) || !r.Over() || now != 0 || most == 0 || r.Next() != 200 {
			t.Fatalf("out %v, over %v, held %d of %d", out, r.Over(), now, most)
		}
	}
}

func TestReorderWindow(t *testing.T) {
	r := NewReorder(100)
	none := func(Piece) {}
	if err := r.Put(Piece{DSN: 91, Data: make([]byte, 10)}, none); !errors.Is(err, ErrWindow) {
		t.Errorf("past the window: %v", err)
	}
	if err := r.Put(Piece{DSN: 0, Data: make([]byte, 60)}, none); err != nil || r.Limit() != 100 {
		t.Errorf("limit %d before the sink took any, %v", r.Limit(), err)
	}
	if r.Passed(60); r.Limit() != 160 {
		t.Errorf("limit %d, want 160", r.Limit())
	}
	if err := r.Put(Piece{DSN: 100}, none); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an empty chunk: %v", err)
	}
	if err := r.Put(Piece{DSN: 65, Data: make([]byte, 10)}, none); err != nil {
		t.Error(err)
	}
	if err := r.Put(Piece{DSN: 60, Data: make([]byte, 10)}, none); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a chunk across another: %v", err)
	}
}

func FuzzFrames(f *testing.F) {
	ack := AckFrame(5, 10)
	data := Frame{Type: Data, Payload: []byte("x")}
	f.Add(data.Append(ack.Append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		var again []byte
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			frame.Limit()
			again = frame.Append(again)
		}
		// Bytes 2 and 3 of a header are not used; a reader takes only what a
		// writer writes.
		if len(again) > len(b) {
			t.Errorf("%d bytes became %d", len(b), len(again))
		}
	})
}

func FuzzHello(f *testing.F) {
	h := Hello{Subflow: 1}
	f.Add(h.Append(nil, key))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := ReadHello(bytes.NewReader(b), key); err == nil && !bytes.Equal(h.Append(nil, key), b[:HelloSize]) {
			t.Errorf("accepted % x", b)
		}
	})
}
