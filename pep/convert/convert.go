// Package convert is the 0-RTT TCP Convert Protocol (RFC 8803): the messages
// by which a client asks a transport converter to go on to a server.
//
//	┌─────────┬──────────────┬────────────┐   TLV: type, length in words of
//	│ version │ words in all │ magic 2263 │   4 bytes with these two, value
//	├─────────┴──────────────┴────────────┤
//	│ TLVs …                              │
//	└─────────────────────────────────────┘
package convert

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
)

// Of the fixed header (RFC 8803, 6.1).
const (
	Version = 1
	magic   = 0x2263
	word    = 4
)

// Type of a TLV (RFC 8803, table 1).
type Type uint8

// The types.
const (
	Info      Type = 0x01
	Connect   Type = 0x0a
	Extended  Type = 0x14 // TCP header of the server
	Supported Type = 0x15 // TCP options
	Cookie    Type = 0x16
	Error     Type = 0x1e
)

// Code is why a converter refuses (RFC 8803, 6.2.8).
type Code uint8

// The codes.
const (
	UnsupportedVersion Code = 0
	Malformed          Code = 1
	UnsupportedMessage Code = 2
	MissingCookie      Code = 3
	NotAuthorized      Code = 32
	UnsupportedOption  Code = 33
	ResourceExceeded   Code = 64
	NetworkFailure     Code = 65
	ConnectionReset    Code = 96
	Unreachable        Code = 97
)

var codeNames = map[Code]string{
	UnsupportedVersion: "unsupported version", Malformed: "malformed message", UnsupportedMessage: "unsupported message",
	MissingCookie: "missing cookie", NotAuthorized: "not authorized", UnsupportedOption: "unsupported TCP option",
	ResourceExceeded: "resource exceeded", NetworkFailure: "network failure", ConnectionReset: "connection reset",
	Unreachable: "destination unreachable",
}

func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return fmt.Sprintf("code %d", uint8(c))
}

// Refusal is an Error TLV as an error.
type Refusal struct {
	Code  Code
	Value []byte // for MissingCookie: the cookie to come again with
}

func (r *Refusal) Error() string { return "converter: " + r.Code.String() }

// Message is a message of either side; what is not set is not in it.
type Message struct {
	Server netip.AddrPort // Connect: where to; IPv4 as mapped
	Cookie []byte         // whole words: 4, 8, … bytes
	Info   bool           // asks which TCP options the converter converts
	Kinds  []byte
	Error  *Refusal
}

// Append writes the message.
func (m *Message) Append(b []byte) []byte {
	at := len(b)
	b = append(b, Version, 0, magic>>8, magic&0xff)
	if m.Info {
		b = tlv(b, Info, []byte{0, 0})
	}
	if len(m.Cookie) > 0 {
		b = tlv(b, Cookie, append([]byte{0, 0}, m.Cookie...))
	}
	if m.Server.IsValid() {
		ip := m.Server.Addr().As16()
		b = tlv(b, Connect, append(binary.BigEndian.AppendUint16(nil, m.Server.Port()), ip[:]...))
	}
	if len(m.Kinds) > 0 {
		b = tlv(b, Supported, append([]byte{0, 0}, m.Kinds...))
	}
	if m.Error != nil {
		b = tlv(b, Error, append([]byte{byte(m.Error.Code), 0}, m.Error.Value...))
	}
	b[at+1] = byte((len(b) - at) / word)
	return b
}

// tlv writes one, padded with zeros to whole words.
func tlv(b []byte, t Type, value []byte) []byte {
	words := (2 + len(value) + word - 1) / word
	b = append(append(b, byte(t), byte(words)), value...)
	return append(b, make([]byte, words*word-2-len(value))...)
}

// ErrMalformed is a message that breaks the protocol.
var ErrMalformed = errors.New("malformed Convert message")

// Read reads one message. A Refusal as the error is what to answer.
func Read(from io.Reader) (m Message, err error) {
	var h [word]byte
	if _, err := io.ReadFull(from, h[:]); err != nil {
		return m, fmt.Errorf("Convert message: %w", err)
	}
	switch {
	case binary.BigEndian.Uint16(h[2:]) != magic || h[1] == 0:
		return m, fmt.Errorf("%w: header % x", ErrMalformed, h)
	case h[0] != Version:
		return m, &Refusal{Code: UnsupportedVersion, Value: []byte{Version}}
	}
	body := make([]byte, (int(h[1])-1)*word)
	if _, err := io.ReadFull(from, body); err != nil {
		return m, fmt.Errorf("Convert message: %w", err)
	}
	for len(body) > 0 {
		size := int(body[1]) * word
		if size == 0 || size > len(body) {
			return m, fmt.Errorf("%w: TLV %#x of %d words in %d bytes", ErrMalformed, body[0], body[1], len(body))
		}
		if err := m.take(Type(body[0]), body[2:size]); err != nil {
			return m, err
		}
		body = body[size:]
	}
	return m, nil
}

// connectSize is a Connect's port and address; options may follow.
const connectSize = 2 + 16

// take reads the value of a TLV.
func (m *Message) take(t Type, v []byte) error {
	switch t {
	case Info:
		m.Info = true
	case Connect:
		if len(v) < connectSize {
			return fmt.Errorf("%w: Connect of %d bytes, want %d", ErrMalformed, len(v), connectSize)
		}
		if m.Server.IsValid() {
			return fmt.Errorf("%w: two Connects", ErrMalformed)
		}
		m.Server = netip.AddrPortFrom(netip.AddrFrom16([16]byte(v[2:])).Unmap(), binary.BigEndian.Uint16(v))
	case Cookie:
		m.Cookie = append([]byte(nil), v[2:]...)
	case Supported:
		m.Kinds = append([]byte(nil), bytes.TrimRight(v[2:], "\x00")...)
	case Error:
		m.Error = &Refusal{Code: Code(v[0]), Value: append([]byte(nil), v[2:]...)}
	case Extended:
	default:
		return &Refusal{Code: UnsupportedMessage, Value: []byte{byte(t)}}
	}
	return nil
}
