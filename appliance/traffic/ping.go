package traffic

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"
)

// pingHead is what an echo carries beside its header: when it left.
const pingHead = 8

// echoes is the format of ICMP and ICMPv6 (RFC 792, RFC 4443).
type echoes struct {
	network     string
	ask, answer byte
	conn        net.PacketConn
	to          *net.IPAddr
	id          uint16
	begun       time.Time
	mu          sync.Mutex
	sent        []time.Duration // by number from 0
	took        map[uint16]time.Duration
	size        int
}

// ping sends echoes from one side to the other at a steady pace.
func ping(ctx context.Context, h Hosts, l Load) (Result, error) {
	from, to := h.side(l.On)
	e, err := openEcho(from, to)
	if err != nil {
		return Result{}, err
	}
	defer e.conn.Close()
	e.size = int(l.Size)
	done := make(chan struct{})
	go func() { defer close(done); e.receive() }()
	every, end := time.Duration(l.Every), e.begun.Add(time.Duration(l.Duration))
	for due := e.begun; due.Before(end); due = due.Add(every) {
		if wait := time.Until(due); wait > 0 && !pause(ctx, wait) {
			break
		}
		e.send()
	}
	for waited := time.Duration(0); waited < tail && e.missing() > 0 && pause(ctx, 50*time.Millisecond); waited += 50 * time.Millisecond {
	}
	e.conn.Close()
	<-done
	return e.result(l)
}

func openEcho(from, to Host) (*echoes, error) {
	address, err := netip.ParseAddr(to.Address)
	if err != nil {
		return nil, err
	}
	e := &echoes{network: "ip4:icmp", ask: 8, answer: 0}
	if address.Is6() {
		e.network, e.ask, e.answer = "ip6:ipv6-icmp", 128, 129
	}
	e.to = &net.IPAddr{IP: address.AsSlice()}
	e.id, e.took, e.begun = uint16(rand.Uint32()), map[uint16]time.Duration{}, time.Now()
	err = from.do(func() (err error) {
		e.conn, err = net.ListenPacket(e.network, from.Address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open a socket for echoes (want root): %w", err)
	}
	return e, nil
}

func (e *echoes) send() {
	e.mu.Lock()
	number := uint16(len(e.sent))
	e.sent = append(e.sent, time.Since(e.begun))
	e.mu.Unlock()
	b := make([]byte, 8+e.size)
	b[0] = e.ask
	binary.BigEndian.PutUint16(b[4:], e.id)
	binary.BigEndian.PutUint16(b[6:], number)
	if e.ask == 8 { // of ICMPv6 the kernel makes it
		binary.BigEndian.PutUint16(b[2:], checksum(b))
	}
	_, _ = e.conn.WriteTo(b, e.to) // what does not leave is lost
}

// checksum is that of RFC 1071.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		word := uint32(b[i]) << 8
		if i+1 < len(b) {
			word |= uint32(b[i+1])
		}
		sum += word
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

func (e *echoes) receive() {
	for b := make([]byte, 9100); ; {
		n, _, err := e.conn.ReadFrom(b)
		if err != nil {
			return
		}
		if n < 8 || b[0] != e.answer || binary.BigEndian.Uint16(b[4:]) != e.id {
			continue
		}
		number := binary.BigEndian.Uint16(b[6:])
		e.mu.Lock()
		if _, twice := e.took[number]; !twice && int(number) < len(e.sent) {
			e.took[number] = time.Since(e.begun) - e.sent[number]
		}
		e.mu.Unlock()
	}
}

func (e *echoes) missing() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.sent) - len(e.took)
}

func (e *echoes) result(l Load) (Result, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var rtt []point
	for number, at := range e.sent {
		if took, came := e.took[uint16(number)]; came {
			rtt = append(rtt, point{at, took.Seconds() * 1e3})
		}
	}
	r := after(rtt, time.Duration(l.Skip))
	f := map[string]float64{
		"sent_packets": float64(len(e.sent)), "lost_percent": 100 * float64(len(e.sent)-len(rtt)) / float64(len(e.sent)),
		"rtt_min_ms": quantile(r, 0), "rtt_mean_ms": mean(r), "rtt_p95_ms": quantile(r, 0.95), "rtt_max_ms": quantile(r, 1),
	}
	out := Result{Figures: known(f), Series: []Column{spread("rtt_ms", rtt, time.Duration(l.Duration), time.Duration(l.Every)+Step)}}
	if len(rtt) == 0 {
		return out, fmt.Errorf("none of %d echoes came back", len(e.sent))
	}
	return out, nil
}

// Greet has the hosts find each other's MAC addresses, so that no measurement
// waits for that: it sends echoes until one comes back, for some seconds at
// most.
func Greet(ctx context.Context, h Hosts) {
	e, err := openEcho(h.A, h.B)
	if err != nil {
		return // the traffic will say
	}
	done := make(chan struct{})
	go func() { defer close(done); e.receive() }()
	for begun := time.Now(); time.Since(begun) < 2*tail && ctx.Err() == nil; {
		e.send()
		for range 20 {
			if e.answered() || !pause(ctx, 50*time.Millisecond) {
				break
			}
		}
		if e.answered() {
			break
		}
	}
	e.conn.Close()
	<-done
}

func (e *echoes) answered() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.took) > 0
}
