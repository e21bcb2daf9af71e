package traffic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/tally"
)

// udpHead is what a datagram carries: its number and when it left
// (CLOCK_REALTIME, ns).
const udpHead = 16

// tail is how long the last packets are waited for at most.
const tail = 3 * time.Second

// udp sends datagrams at a steady rate and follows each.
func udp(ctx context.Context, h Hosts, l Load) (Result, error) {
	from, to := h.B, h.A
	if l.Way == "up" {
		from, to = to, from
	}
	in, err := to.socket()
	if err != nil {
		return Result{}, fmt.Errorf("receiver: %w", err)
	}
	defer in.Close()
	out, err := from.socket()
	if err != nil {
		return Result{}, fmt.Errorf("sender: %w", err)
	}
	defer out.Close()
	if err := stamped(in); err != nil {
		return Result{}, err
	}
	c := counter{begun: time.Now(), size: int(l.Size)}
	done := make(chan struct{})
	go func() { defer close(done); c.receive(in) }()
	sent := c.send(ctx, out, in.LocalAddr().(*net.UDPAddr), l)
	_ = in.SetReadDeadline(time.Now().Add(tail)) // an open socket takes it
	<-done
	return c.result(l, sent)
}

// socket opens a datagram socket at the host.
func (h Host) socket() (c *net.UDPConn, err error) {
	err = h.do(func() error {
		c, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(h.Address)})
		return err
	})
	if err == nil {
		_ = c.SetReadBuffer(4 << 20) // as much of it as the kernel gives
	}
	return c, err
}

// stamped has the kernel say when each datagram came.
func stamped(c *net.UDPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	return errors.Join(err, set)
}

// counter follows datagrams.
type counter struct {
	begun     time.Time
	size      int
	came      []arrival
	highest   uint64
	reordered int
	seen      map[uint64]bool
	twice     int
}

type arrival struct {
	sent, came time.Duration // after the beginning
}

// send keeps to the schedule: what it is late with, it sends at once.
func (c *counter) send(ctx context.Context, out *net.UDPConn, to *net.UDPAddr, l Load) (sent uint64) {
	gap := time.Duration(float64(l.Size) * 8e9 / float64(l.Rate))
	b := make([]byte, l.Size)
	end := c.begun.Add(time.Duration(l.Duration))
	for due := c.begun; due.Before(end); due = due.Add(gap) {
		if wait := time.Until(due); wait > 0 && !pause(ctx, wait) {
			break
		}
		sent++
		binary.BigEndian.PutUint64(b, sent)
		binary.BigEndian.PutUint64(b[8:], uint64(time.Now().UnixNano()))
		if _, err := out.WriteToUDP(b, to); err != nil && ctx.Err() != nil {
			break // what the kernel had no room for is lost
		}
	}
	return sent
}

func (c *counter) receive(in *net.UDPConn) {
	c.seen = map[uint64]bool{}
	b, oob := make([]byte, 9000), make([]byte, 128)
	for {
		n, k, _, _, err := in.ReadMsgUDP(b, oob)
		if err != nil {
			return
		}
		if n < udpHead {
			continue
		}
		number, left := binary.BigEndian.Uint64(b), int64(binary.BigEndian.Uint64(b[8:]))
		if c.seen[number] {
			c.twice++
			continue
		}
		c.seen[number] = true
		if number < c.highest {
			c.reordered++
		}
		c.highest = max(c.highest, number)
		zero := c.begun.UnixNano()
		c.came = append(c.came, arrival{time.Duration(left - zero), time.Duration(stampOf(oob[:k]) - zero)})
	}
}

// stampOf reads the kernel's stamp, ns of CLOCK_REALTIME; where there is none
// it is now.
func stampOf(oob []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err == nil {
		for _, m := range messages {
			if m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
				return int64(binary.NativeEndian.Uint64(m.Data))*1e9 + int64(binary.NativeEndian.Uint64(m.Data[8:]))
			}
		}
	}
	return time.Now().UnixNano()
}

// result sums up. Jitter is that of RFC 3550, 6.4.1: the change of transit
// time from one datagram to the next, smoothed by 1/16.
func (c *counter) result(l Load, sent uint64) (Result, error) {
	skip, length := time.Duration(l.Skip), time.Duration(l.Duration)
	var delay, got []point
	var jitter float64
	bytes := 0
	for i, a := range c.came {
		d := (a.came - a.sent).Seconds() * 1e3
		delay = append(delay, point{a.sent, d})
		got = append(got, point{a.came, 1})
		if i > 0 {
			was := c.came[i-1]
			jitter += (math.Abs(d-(was.came-was.sent).Seconds()*1e3) - jitter) / 16
		}
		if a.came >= skip && a.came < length {
			bytes += c.size
		}
	}
	d := after(delay, skip)
	f := map[string]float64{
		"sent_packets": float64(sent), "received_packets": float64(len(c.came)),
		"lost_percent":      100 * float64(sent-uint64(len(c.came))) / float64(sent),
		"reordered_packets": float64(c.reordered), "duplicated_packets": float64(c.twice),
		"goodput_bps": float64(bytes) * 8 / (length - skip).Seconds(),
		"jitter_ms":   jitter, "delay_mean_ms": mean(d), "delay_p50_ms": quantile(d, 0.5), "delay_p95_ms": quantile(d, 0.95), "delay_p99_ms": quantile(d, 0.99),
	}
	r := Result{Figures: known(f), Series: []Column{spread("delay_ms", delay, length, 0), rateOf(got, c.size, length)}}
	if len(c.came) == 0 {
		return r, fmt.Errorf("none of %d datagrams arrived", sent)
	}
	return r, nil
}

// rateOf makes the rate over time of packets of one size.
func rateOf(got []point, size int, length time.Duration) Column {
	c := Column{"goodput_bps", make([]tally.Value, steps(length))}
	for _, p := range got {
		if i := int(p.at / Step); i >= 0 && i < len(c.Values) {
			c.Values[i] += tally.Value(float64(size*8) / Step.Seconds())
		}
	}
	return c
}
