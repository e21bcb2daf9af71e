package pep

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"farlink/emulator/netlab"
)

// frame is what a test looks at of a TCP segment's frame.
type frame struct {
	macs, tags string
	from, to   net.IP
	dscp, hops int
	source     uint16
	target     uint16
	seq, ack   uint32
	flags      byte
	payload    []byte
}

// watcher sees the frames of a TCP port that come to an end.
type watcher struct {
	tap  *netlab.Tap
	port uint16
}

func watch(e netlab.End, port uint16) (*watcher, error) {
	tap, err := e.Tap()
	return &watcher{tap, port}, err
}

// frames are those with bytes that have come.
func (w *watcher) frames(x *trial) (all []frame) {
	names := map[string]string{hardware(x.a): "client", hardware(x.b): "server"}
	buf := make([]byte, 1<<16)
	for {
		raw, err := w.tap.Receive(buf, 20*time.Millisecond)
		if err != nil {
			return all
		}
		f, ok := dissect(raw.Bytes)
		if raw.Outgoing || !ok || len(f.payload) == 0 || f.source != w.port && f.target != w.port || !x.own(f) {
			continue
		}
		f.macs = named(names, raw.Bytes[6:12]) + " to " + named(names, raw.Bytes[:6])
		all = append(all, f)
	}
}

// own says whether a frame is between the trial's ends: what they forward for
// other trials may have the same port.
func (x *trial) own(f frame) bool {
	a, b := net.ParseIP(address(x.a, x.v6)), net.ParseIP(address(x.b, x.v6))
	return f.from.Equal(a) && f.to.Equal(b) || f.from.Equal(b) && f.to.Equal(a)
}

func named(names map[string]string, mac net.HardwareAddr) string {
	if n := names[mac.String()]; n != "" {
		return n
	}
	return mac.String()
}

// hardware is the MAC address of an end.
func hardware(e netlab.End) (mac string) {
	e.Do(func() error {
		i, err := net.InterfaceByName(e.Dev)
		if err == nil {
			mac = i.HardwareAddr.String()
		}
		return err
	})
	return mac
}

// dissect reads a TCP segment out of its frame.
func dissect(b []byte) (f frame, ok bool) {
	at := 12
	for ; len(b) >= at+20; at += 4 {
		switch kind := binary.BigEndian.Uint16(b[at:]); kind {
		case 0x8100, 0x88a8:
			f.tags += fmt.Sprintf("%x:%d ", kind, binary.BigEndian.Uint16(b[at+2:]))
		case 0x0800:
			ip := b[at+2:]
			size, header := int(binary.BigEndian.Uint16(ip[2:])), 4*int(ip[0]&15)
			if ip[9] != 6 || len(ip) < size || size < header+20 {
				return f, false
			}
			f.dscp, f.hops, f.from, f.to = int(ip[1]>>2), int(ip[8]), net.IP(ip[12:16]), net.IP(ip[16:20])
			return f, f.segment(ip[header:size])
		case 0x86dd:
			ip := b[at+2:]
			size := 40 + int(binary.BigEndian.Uint16(ip[4:]))
			if ip[6] != 6 || len(ip) < size || size < 60 {
				return f, false
			}
			f.dscp, f.hops, f.from, f.to = int(binary.BigEndian.Uint16(ip)>>6&63), int(ip[7]), net.IP(ip[8:24]), net.IP(ip[24:40])
			return f, f.segment(ip[40:size])
		default:
			return f, false
		}
	}
	return f, false
}

func (f *frame) segment(t []byte) bool {
	header := 4 * int(t[12]>>4)
	if len(t) < header {
		return false
	}
	f.source, f.target = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
	f.seq, f.ack, f.flags = binary.BigEndian.Uint32(t[4:]), binary.BigEndian.Uint32(t[8:]), t[13]
	f.payload = t[header:]
	return true
}

// hand is an end of a TCP connection that a test plays by hand, at an address
// that nobody has.
type hand struct {
	tap      *netlab.Tap
	address  net.IP
	port     uint16
	seq, ack uint32
	last     []byte // a frame of the other's, to answer to
}

const (
	flagFIN, flagSYN, flagRST, flagACK = 1, 2, 4, 16
	handSays                           = "opened by hand"
)

func newHand(e netlab.End, address string, port uint16) (*hand, error) {
	tap, err := e.Tap()
	return &hand{tap: tap, address: net.ParseIP(address), port: port, seq: 1000}, err
}

// open plays a simultaneous open (RFC 9293, figure 8): the SYN that comes is
// answered by a SYN.
func (h *hand) open() string {
	if _, err := h.expect(flagSYN, ""); err != nil {
		return "no SYN"
	}
	h.send(flagSYN, "")
	h.seq++
	f, err := h.expect(flagSYN|flagACK, "")
	if err != nil {
		return "no SYN with an acknowledgement"
	}
	h.ack = f.seq + 1
	h.send(flagACK, "")
	h.send(flagACK, handSays)
	h.seq += uint32(len(handSays))
	if f, err = h.expect(flagACK, "heard"); err != nil {
		return "no bytes"
	}
	h.ack = f.seq + uint32(len(f.payload))
	h.send(flagRST|flagACK, "")
	return string(f.payload)
}

// expect waits for a segment with these flags, of SYN, RST and ACK, and these
// bytes.
func (h *hand) expect(flags byte, text string) (frame, error) {
	buf := make([]byte, 1<<16)
	for deadline := time.Now().Add(4 * time.Second); ; {
		raw, err := h.tap.Receive(buf, time.Until(deadline))
		if err != nil {
			return frame{}, err
		}
		f, ok := dissect(raw.Bytes)
		if !ok || raw.Outgoing || f.target != h.port || !f.to.Equal(h.address) || f.flags&(flagSYN|flagRST|flagACK) != flags || string(f.payload) != text {
			continue
		}
		h.last = append(h.last[:0], raw.Bytes...)
		return f, nil
	}
}

// send answers the last frame.
func (h *hand) send(flags byte, text string) error {
	f, ok := dissect(h.last)
	if !ok {
		return errors.New("nothing to answer to")
	}
	t := make([]byte, 20, 20+len(text))
	binary.BigEndian.PutUint16(t, h.port)
	binary.BigEndian.PutUint16(t[2:], f.source)
	binary.BigEndian.PutUint32(t[4:], h.seq)
	if flags&flagACK != 0 {
		binary.BigEndian.PutUint32(t[8:], h.ack)
	}
	t[12], t[13] = 5<<4, flags
	binary.BigEndian.PutUint16(t[14:], 60000)
	t = append(t, text...)
	b := append(append([]byte{}, h.last[6:12]...), h.last[:6]...)
	ends := append(append([]byte{}, f.to...), f.from...)
	if len(f.to) == 4 {
		b = append(b, 8, 0, 0x45, 0, 0, byte(20+len(t)), 0, 0, 0x40, 0, 64, 6, 0, 0)
		binary.BigEndian.PutUint16(b[24:], internet(append(append([]byte{}, b[14:]...), ends...)))
		b = append(b, ends...)
	} else {
		b = append(b, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(len(t)), 6, 64)
		b = append(b, ends...)
	}
	pseudo := append(append([]byte{}, ends...), 0, 6, 0, byte(len(t)))
	binary.BigEndian.PutUint16(t[16:], internet(append(pseudo, t...)))
	return h.tap.Send(append(b, t...))
}

// internet is the checksum of RFC 1071.
func internet(b []byte) uint16 {
	sum := uint32(0)
	for i, x := range b {
		sum += uint32(x) << (8 * (1 - i%2))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
