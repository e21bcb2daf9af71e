package netlab

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -tags linux -target amd64 -type flow pump pump.bpf.c -- -O2 -g -Wall -Werror -I/usr/include/x86_64-linux-gnu

// floodByDriver floods through the driver of the interface, by running pump on
// live frames (Linux Documentation/bpf/bpf_prog_run.rst).
func (e End) floodByDriver(o FloodOptions) (f Flooded, err error) {
	err = e.Do(func() error {
		if f, err = pour(e.Dev, o); err != nil {
			return fmt.Errorf("flood by the driver of %s: %w", e.Dev, err)
		}
		return nil
	})
	return f, err
}

func pour(dev string, o FloodOptions) (f Flooded, err error) {
	i, err := net.InterfaceByName(dev)
	if err != nil {
		return f, err
	}
	var objects pumpObjects
	if err := loadPumpObjects(&objects, nil); err != nil {
		return f, err
	}
	defer objects.Close()
	flow := pumpFlow{Device: uint32(i.Index), Rate: uint64(cmp.Or(o.Rate, 1e9)), Most: uint64(cmp.Or(o.Most, math.MaxInt64))}
	if most := uint64(float64(flow.Rate) * o.For.Seconds()); o.Rate > 0 && most < flow.Most {
		flow.Most = most
	}
	if err := objects.Flows.Put(uint32(0), flow); err != nil {
		return f, err
	}
	if err := runLive(objects.Pump.FD(), floodFrame(o.Size), o.For); err != nil {
		return f, err
	}
	if err := objects.Flows.Lookup(uint32(0), &flow); err != nil {
		return f, err
	}
	return Flooded{Sent: flow.Sent, For: max(1, time.Duration(flow.Last-flow.Begun))}, nil
}

// runLive runs the XDP program over and over on live copies of the frame for
// a time. Nothing but a signal ends a run before its count; the one that the
// runtime of Go sends its own threads hurts nobody.
func runLive(program int, frame []byte, d time.Duration) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The union of BPF_PROG_TEST_RUN in linux/bpf.h.
	attr := struct {
		program, result, sizeIn, sizeOut   uint32
		in, out                            uint64
		repeat, took, contextIn, contextTo uint32
		contexts                           [2]uint64
		flags, cpu, batch, _               uint32
	}{program: uint32(program), sizeIn: uint32(len(frame)), in: uint64(uintptr(unsafe.Pointer(&frame[0]))),
		repeat: math.MaxInt32, flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES}
	over, thread := make(chan struct{}), unix.Gettid()
	defer close(over)
	go func() {
		for wait := d; ; wait = 10 * time.Millisecond {
			select {
			case <-over:
				return
			case <-time.After(wait):
				unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
			}
		}
	}()
	for begun := time.Now(); time.Since(begun) < d; {
		_, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		if e != 0 && e != unix.EINTR {
			return e
		}
	}
	runtime.KeepAlive(frame)
	return nil
}
