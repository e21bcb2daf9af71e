package frame

import (
	"encoding/binary"

	"farlink/emulator/link"
)

// Of TCP (RFC 9293, 3.1) and MPTCP (RFC 8684, 3).
const (
	protocolTCP   = 6
	tcpHeader     = 20
	tcpChecksum   = 16 // offset
	flagSYN       = 0x02
	optionEnd     = 0
	optionNothing = 1
	optionMPTCP   = 30
	subCapable    = 0 // MP_CAPABLE
)

// options returns the TCP header of a frame and its options, nil where there
// are none that can be read.
func (h *Header) options(frame []byte) (tcp, options []byte) {
	if h.protocol != protocolTCP || !h.hasPorts || len(frame) < h.transport+tcpHeader {
		return nil, nil
	}
	tcp = frame[h.transport:]
	size := int(tcp[12]>>4) * 4
	if size <= tcpHeader || len(tcp) < size {
		return nil, nil
	}
	return tcp, tcp[tcpHeader:size]
}

// walk calls f with each option of a kind, kind and length included, until f
// returns false. Options that contradict themselves end it.
func walk(options []byte, kind byte, f func(option []byte) bool) {
	for len(options) > 0 && options[0] != optionEnd {
		if options[0] == optionNothing {
			options = options[1:]
			continue
		}
		if len(options) < 2 || options[1] < 2 || int(options[1]) > len(options) {
			return
		}
		n := int(options[1])
		if options[0] == kind && !f(options[:n]) {
			return
		}
		options = options[n:]
	}
}

// Multipath returns the mark of what the frame carries of MPTCP: none, an
// option on a SYN, MP_CAPABLE on one, or an option on any other segment. h has
// been Read.
func (h *Header) Multipath(frame []byte) (m link.Mark) {
	tcp, options := h.options(frame)
	walk(options, optionMPTCP, func(option []byte) bool {
		switch {
		case tcp[13]&flagSYN == 0:
			m = link.MPTCP
		case len(option) > 2 && option[2]>>4 == subCapable:
			m = link.MPTCPCapable
		default:
			m = link.MPTCPOpening
		}
		return false
	})
	return m
}

// StripMPTCP writes "no operation" over the options of MPTCP, as middleboxes
// do, and mends the checksum (RFC 1624). The frame keeps its length.
func StripMPTCP(frame []byte) {
	var h Header
	h.Read(frame)
	tcp, options := h.options(frame)
	if tcp == nil {
		return
	}
	before := sum(options)
	walk(options, optionMPTCP, func(option []byte) bool {
		for i := range option {
			option[i] = optionNothing
		}
		return true
	})
	at := tcp[tcpChecksum:]
	// HC' = ~(~HC + ~m + m'), in one's complement.
	mended := fold(uint32(^binary.BigEndian.Uint16(at)) + uint32(^before) + uint32(sum(options)))
	binary.BigEndian.PutUint16(at, ^mended)
}

// sum is the one's complement sum of whole words.
func sum(words []byte) uint16 {
	total := uint32(0)
	for i := 0; i+1 < len(words); i += 2 {
		total += uint32(binary.BigEndian.Uint16(words[i:]))
	}
	return fold(total)
}

func fold(total uint32) uint16 {
	total = total&0xFFFF + total>>16
	return uint16(total + total>>16)
}
