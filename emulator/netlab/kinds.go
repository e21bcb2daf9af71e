package netlab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// Kind is a kind of Ethernet frame with an example of it.
type Kind struct {
	Name  string
	Frame []byte
}

// prober is the source address of all examples, so that a tap knows them
// from whatever else is said on the wire.
var prober = [6]byte{2, 0, 0, 0, 0, 1}

// Kinds returns frames that a wire must pass untouched, and bridges, hosts
// and drivers like to drop, shorten or answer: unknown EtherTypes, tags,
// link-local control protocols (IEEE 802.1Q table 8-1), runts, full frames.
func Kinds() []Kind {
	var (
		host      = [6]byte{2, 0x11, 0x22, 0x33, 0x44, 0x55}
		broadcast = [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		control   = func(last byte) [6]byte { return [6]byte{1, 0x80, 0xc2, 0, 0, last} }
		ptp       = [6]byte{1, 0x1b, 0x19, 0, 0, 0}
		allNodes  = [6]byte{0x33, 0x33, 0, 0, 0, 1}
	)
	return []Kind{
		{"unknown unicast", frame(host, 46, experiment)},
		{"broadcast", frame(broadcast, 46, experiment)},
		{"runt of 15 bytes", frame(host, 1, experiment)},
		{"802.1Q", frame(host, 60, 0x8100, 0x2064, experiment)},
		{"802.1Q, 1518 bytes", frame(host, 1500, 0x8100, 0x2064, experiment)},
		{"QinQ", frame(host, 60, 0x88a8, 10, 0x8100, 20, experiment)},
		{"LLDP", frame(control(0x0e), 60, 0x88cc)},
		{"spanning tree", frame(control(0), 38, 38)},
		{"pause", frame(control(1), 46, 0x8808)},
		{"EAPOL", frame(control(3), 46, 0x888e)},
		{"MPLS", frame(host, 100, 0x8847)},
		{"PTP", frame(ptp, 60, 0x88f7)},
		{"IPv6 multicast, malformed", frame(allNodes, 60, 0x86dd)},
		{"1514 bytes", frame(host, 1500, experiment)},
	}
}

// Sized returns a frame of n bytes in all, of no protocol.
func Sized(n int) Kind {
	return Kind{fmt.Sprintf("%d bytes", n), frame([6]byte{2, 0x11, 0x22, 0x33, 0x44, 0x55}, n-14, experiment)}
}

// frame is a frame to an address, with words of 16 bits behind the source
// and a payload of n bytes.
func frame(to [6]byte, n int, words ...uint16) []byte {
	f := append(append([]byte{}, to[:]...), prober[:]...)
	for _, w := range words {
		f = binary.BigEndian.AppendUint16(f, w)
	}
	for i := range n {
		f = append(f, byte(i*7+n))
	}
	return f
}

// Untouched sends the frames one by one from one endpoint to another and
// returns, for each that did not come byte for byte, what happened.
func Untouched(from, to End, kinds []Kind) (problems []string, err error) {
	near, err := from.Tap()
	if err != nil {
		return nil, err
	}
	defer near.Close()
	far, err := to.Tap()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	for _, k := range kinds {
		if err := near.Send(k.Frame); err != nil {
			return problems, fmt.Errorf("send %s: %w", k.Name, err)
		}
		if what := far.expect(k.Frame); what != "" {
			problems = append(problems, k.Name+": "+what)
		}
	}
	return problems, nil
}

// expect waits for the frame and says "" when it came as it is.
func (t *Tap) expect(frame []byte) string {
	buf := make([]byte, 1<<16)
	for deadline := time.Now().Add(time.Second); ; {
		f, err := t.Receive(buf, time.Until(deadline))
		switch {
		case err != nil:
			return "lost"
		case f.Outgoing || len(f.Bytes) < 12 || [6]byte(f.Bytes[6:12]) != prober:
			continue
		case !bytes.Equal(f.Bytes, frame):
			return fmt.Sprintf("%d bytes sent, %d came, altered", len(frame), len(f.Bytes))
		}
		return ""
	}
}
