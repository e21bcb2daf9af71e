package main

import (
	"encoding/binary"
	"errors"
	"math"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/netspace"
)

// Every 14 s a scripted fade of 2.5 dB takes the carrier from 16APSK 5/6 to
// 16APSK 2/3: at 3 MBd from 9.9006 to 7.9116 Mbit/s (vector S2-4, a tenth).
const fadingProfile = `name = "lab/fading"
[down.carrier]
symbol_rate = 3e6
[down.carrier.downlink]
es_n0 = 12
fade = {at = "2s", depth = 2.5, slope = 10, hold = "6s", every = "14s"}
[down.path]
delay = "20ms"
[up.path]
delay = "20ms"
`

// udpFrame is the Ethernet frame, without FCS, of a datagram of payload
// bytes.
const (
	payload  = 1472
	udpFrame = 14 + 20 + 8 + payload
)

// The MODCOD falls in the fade, and the rate of UDP between two hosts falls
// with it to the table's value.
func TestFadeOnTheWire(t *testing.T) {
	l := labUp(t)
	must(t, "apply", "--lab", l.Name, write(t, "fading.toml", fadingProfile))
	least(t, ping(t, l, "10.77.0.2", 1))

	var from, to net.PacketConn
	open := func(netns, address string, c *net.PacketConn) {
		err := netspace.Do(netns, func() (err error) {
			*c, err = net.ListenPacket("udp4", address)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*c).Close() })
	}
	open(l.Name+"-b", "10.77.0.2:5555", &from)
	open(l.Name+"-a", "10.77.0.1:5555", &to)

	stop := make(chan struct{})
	go offer(from, to.LocalAddr(), 12e6, stop)
	windows := receive(t, to, 18*time.Second, 500*time.Millisecond)
	close(stop)
	for _, want := range []float64{9.9006, 7.9116} {
		var near []float64
		for _, mbps := range windows {
			if math.Abs(mbps/want-1) < 0.08 {
				near = append(near, mbps)
			}
		}
		if len(near) < 6 {
			t.Errorf("%d windows of 500 ms near %v Mbit/s, want 6 or more of %.4v", len(near), want, windows)
			continue
		}
		slices.Sort(near)
		if got := near[len(near)/2]; math.Abs(got/want-1) > 0.02 {
			t.Errorf("rate %.4f Mbit/s, want the table's %v within 2 %%", got, want)
		}
	}
}

// offer sends datagrams at a rate in bit/s of frames until stop.
func offer(c net.PacketConn, to net.Addr, rate float64, stop <-chan struct{}) {
	begin, sent := time.Now(), 0
	for {
		select {
		case <-stop:
			return
		case <-time.After(2 * time.Millisecond):
		}
		for due := int(time.Since(begin).Seconds() * rate / (8 * udpFrame)); sent < due; sent++ {
			c.WriteTo(make([]byte, payload), to) // a full socket drops: the offer is above the rate anyway
		}
	}
}

// receive returns the rate of frames that came in each window, Mbit/s, by the
// kernel's stamps: a test that is looked after late measures no worse.
func receive(t *testing.T, c net.PacketConn, d, window time.Duration) (mbps []float64) {
	t.Helper()
	udp := c.(*net.UDPConn)
	stamped(t, udp)
	begin, frames := time.Now(), make([]float64, d/window)
	buf, oob := make([]byte, 2048), make([]byte, 128)
	if err := udp.SetReadDeadline(begin.Add(d)); err != nil {
		t.Fatal(err)
	}
	for {
		_, n, _, _, err := udp.ReadMsgUDP(buf, oob)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if i := int(stampOf(t, oob[:n]).Sub(begin) / window); i >= 0 && i < len(frames) {
			frames[i]++
		}
	}
	for _, n := range frames {
		mbps = append(mbps, n*8*udpFrame/window.Seconds()/1e6)
	}
	return mbps
}

// stamped has the kernel stamp what a socket receives, and keep it long.
func stamped(t *testing.T, c *net.UDPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20))
	})
	if err := errors.Join(err, set); err != nil {
		t.Fatal(err)
	}
}

// stampOf is the kernel's stamp among the control messages.
func stampOf(t *testing.T, oob []byte) time.Time {
	t.Helper()
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
			return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		}
	}
	t.Fatal("a datagram without a stamp")
	return time.Time{}
}
