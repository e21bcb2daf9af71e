package framing

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Version of the protocol.
const Version = 1

// HelloSize is the size of a hello in bytes: magic 4, version 1, subflow 1,
// zero 2, token 16, nonce 16, time 8, HMAC-SHA-256 32.
const HelloSize = 80

var magic = [4]byte{'F', 'L', 'M', 'P'}

// Hello opens a subflow: it says to which connection it belongs, and that its
// sender has the key.
type Hello struct {
	Subflow uint8
	Token   [16]byte // of the connection
	Nonce   [16]byte // of this subflow, never used twice
	Unix    int64    // seconds
}

// Errors of hellos.
var (
	ErrForeign = errors.New("not a relay of ours")
	ErrVersion = errors.New("another version of the relay")
	ErrKey     = errors.New("wrong key")
	ErrReplay  = errors.New("replayed hello")
	ErrClock   = errors.New("clocks differ")
)

// Append writes the hello, signed with the key.
func (h *Hello) Append(b, key []byte) []byte {
	at := len(b)
	b = append(b, magic[:]...)
	b = append(b, Version, h.Subflow, 0, 0)
	b = append(b, h.Token[:]...)
	b = append(b, h.Nonce[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(h.Unix))
	return append(b, sign(key, b[at:])...)
}

func sign(key, text []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(text)
	return m.Sum(nil)
}

// ReadHello reads a hello and checks it against the key.
func ReadHello(from io.Reader, key []byte) (h Hello, err error) {
	var b [HelloSize]byte
	if _, err := io.ReadFull(from, b[:5]); err != nil {
		return h, fmt.Errorf("hello: %w", err)
	}
	if [4]byte(b[:4]) != magic {
		return h, fmt.Errorf("hello % x: %w", b[:4], ErrForeign)
	}
	if b[4] != Version {
		return h, fmt.Errorf("hello of version %d, ours is %d: %w", b[4], Version, ErrVersion)
	}
	if _, err := io.ReadFull(from, b[5:]); err != nil {
		return h, fmt.Errorf("hello: %w", err)
	}
	if !hmac.Equal(b[HelloSize-sha256.Size:], sign(key, b[:HelloSize-sha256.Size])) {
		return h, fmt.Errorf("hello: %w", ErrKey)
	}
	h.Subflow = b[5]
	copy(h.Token[:], b[8:])
	copy(h.Nonce[:], b[24:])
	h.Unix = int64(binary.BigEndian.Uint64(b[40:]))
	return h, nil
}

// Tolerance is by how many seconds the clocks of two relays may differ: as
// long must nonces be remembered.
const Tolerance = 60

// Seen remembers nonces, so that a hello that was recorded opens nothing.
type Seen struct{ at map[[16]byte]int64 }

// Check refuses a hello whose nonce was there already or whose time is too
// far from now, in Unix seconds.
func (s *Seen) Check(h *Hello, now int64) error {
	if d := h.Unix - now; d > Tolerance || d < -Tolerance {
		return fmt.Errorf("hello: %w by %d s, at most %d", ErrClock, d, Tolerance)
	}
	if _, there := s.at[h.Nonce]; there {
		return fmt.Errorf("hello: %w", ErrReplay)
	}
	if s.at == nil {
		s.at = map[[16]byte]int64{}
	}
	if len(s.at) >= seenMost {
		s.forget(now)
	}
	s.at[h.Nonce] = h.Unix
	return nil
}

// seenMost is when the memory is searched for what may be forgotten.
const seenMost = 1 << 14

func (s *Seen) forget(now int64) {
	for nonce, at := range s.at {
		if now-at > Tolerance {
			delete(s.at, nonce)
		}
	}
}
