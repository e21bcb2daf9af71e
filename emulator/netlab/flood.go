package netlab

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// FloodOptions say how to flood; zero values stand for the defaults named.
type FloodOptions struct {
	Size int           // bytes of a frame: 60, the least that Ethernet carries without FCS
	Rate float64       // frames per second; 0 is as fast as they go
	For  time.Duration // 1 s
	Most int           // frames after which it ends, however much time is left; 0 is no such end
	Wait time.Duration // for the last frames to come: 100 ms
	// Priority of the sending thread, SCHED_FIFO; 0 leaves the scheduler alone.
	Priority int
	// Driver hands the frames to the interface's driver, as a card hands
	// on those that come from a cable: without a socket, at a fraction of
	// the cost. The box shares this machine's processors with whoever
	// floods it. The port at the other end must poll, as one with native
	// XDP does. It lasts For, even where Most is reached before.
	Driver bool
}

// Flooded is what a flood did.
type Flooded struct {
	Sent, Received uint64        // frames, by the interfaces' own counters
	For            time.Duration // of the sending
}

// Loss returns the fraction that did not come.
func (f Flooded) Loss() float64 { return 1 - float64(f.Received)/float64(max(f.Sent, 1)) }

// PerSecond returns the frames received per second of sending.
func (f Flooded) PerSecond() float64 { return float64(f.Received) / f.For.Seconds() }

// mmsghdr is the kernel's struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   uint32
}

// Flood sends frames of one size from one endpoint to another.
func Flood(from, to End, o FloodOptions) (Flooded, error) {
	if o.Size == 0 {
		o.Size = 60
	}
	if o.For == 0 {
		o.For = time.Second
	}
	if o.Wait == 0 {
		o.Wait = 100 * time.Millisecond
	}
	received0, err := to.counter(func(s *netlink.LinkStatistics) uint64 { return s.RxPackets })
	if err != nil {
		return Flooded{}, err
	}
	var f Flooded
	if o.Driver {
		f, err = from.floodByDriver(o)
	} else {
		f, err = from.floodBySocket(o)
	}
	if err != nil {
		return f, err
	}
	time.Sleep(o.Wait)
	received1, err := to.counter(func(s *netlink.LinkStatistics) uint64 { return s.RxPackets })
	f.Received = received1 - received0
	return f, err
}

// floodBySocket floods through a packet socket, past the queueing discipline.
func (e End) floodBySocket(o FloodOptions) (f Flooded, err error) {
	tap, err := e.Tap()
	if err != nil {
		return f, err
	}
	defer tap.Close()
	// Nothing is to be received here; the protocol 0 takes no frames.
	if err := unix.Bind(tap.fd, &unix.SockaddrLinklayer{Ifindex: tap.index}); err != nil {
		return f, err
	}
	if err := unix.SetsockoptInt(tap.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		return f, err
	}
	sent0, err := e.counter(func(s *netlink.LinkStatistics) uint64 { return s.TxPackets })
	if err != nil {
		return f, err
	}
	if f.For, err = tap.flood(o); err != nil {
		return f, err
	}
	sent1, err := e.counter(func(s *netlink.LinkStatistics) uint64 { return s.TxPackets })
	f.Sent = sent1 - sent0
	return f, err
}

// flood pours on a thread of its own, which ends with it: it may be
// real-time.
func (t *Tap) flood(o FloodOptions) (took time.Duration, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if o.Priority > 0 {
			err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: uint32(o.Priority)}, 0)
		}
		if err == nil {
			took = t.pour(o)
		}
	}()
	<-done
	return took, err
}

// sleep of a real-time thread waits for no other thread of the runtime.
func (o FloodOptions) sleep(d time.Duration) {
	if o.Priority == 0 {
		time.Sleep(d)
		return
	}
	spec := unix.NsecToTimespec(int64(d))
	unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &spec, nil)
}

// pour sends batches of frames until the time is over and returns how long
// that took.
func (t *Tap) pour(o FloodOptions) time.Duration {
	frame := floodFrame(o.Size)
	iov := unix.Iovec{Base: &frame[0], Len: uint64(len(frame))}
	batch := make([]mmsghdr, 32)
	for i := range batch {
		batch[i].hdr.Iov, batch[i].hdr.Iovlen = &iov, 1
	}
	begun := time.Now()
	for sent := 0; ; {
		gone := time.Since(begun)
		if gone >= o.For || o.Most > 0 && sent >= o.Most {
			return gone
		}
		n := len(batch)
		if o.Most > 0 {
			n = min(n, o.Most-sent)
		}
		if o.Rate > 0 {
			n = min(n, int(o.Rate*gone.Seconds())-sent)
			if n <= 0 {
				o.sleep(time.Duration(float64(time.Second) / o.Rate))
				continue
			}
		}
		done, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(t.fd), uintptr(unsafe.Pointer(&batch[0])), uintptr(n), 0, 0, 0)
		if e == 0 {
			sent += int(done)
		}
	}
}

// floodFrame is a frame that is not taken for a probe.
func floodFrame(size int) []byte {
	frame := probeFrame(ProbeOptions{Size: size})
	frame[11] = 0xfd
	return frame
}

// counter reads one of the endpoint's interface counters.
func (e End) counter(pick func(*netlink.LinkStatistics) uint64) (n uint64, err error) {
	err = e.Do(func() error {
		dev, err := netlink.LinkByName(e.Dev)
		if err != nil {
			return fmt.Errorf("interface %s: %w", e.Dev, err)
		}
		if s := dev.Attrs().Statistics; s != nil {
			n = pick(s)
		}
		return nil
	})
	return n, err
}
