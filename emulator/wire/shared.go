package wire

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"farlink/emulator/ledger"
	"farlink/emulator/link"

	"golang.org/x/sys/unix"
)

// maxChecks is how many links of a pair are held against what they promise.
const maxChecks = 16

// maxProbes is how many of an emulator's figures are published for a way.
const maxProbes = 96

// page is the memory that engine and daemon share. Each loop writes its own
// way; the daemon reads. Everything in it is words of 8 bytes, or names.
type page struct {
	Epoch int64 // CLOCK_MONOTONIC ns of link.Time 0 of this run
	Runs  uint64
	Ways  [2]wayPage
	Taps  [2]tapRing
}

// wayPage is one way. Seq is odd while the loop writes (a sequence lock): the
// loop never waits for a reader.
type wayPage struct {
	Seq uint64
	wayView
}

type wayView struct {
	Book     ledger.Book
	Recent   recent
	At       int64 // when Recent and probes were published, link.Time
	Switched int64 // link.Time of the last change of emulator
	Down     int64 // 1 while the port to leave by is down or gone
	Checks   int64 // how many links are held against what they promise
	Check    [maxChecks]checkView
	Probes   uint64
	Probe    [maxProbes]sharedProbe
}

// checkView is what was seen of one link since the last change of emulator.
type checkView struct {
	Timed    int64 // frames of known delay
	Early    int64 // of these, sooner than the emulator promised
	LeastNs  int64 // least delay of these
	Paced    int64 // spans whose rate could be judged
	Slow     int64 // of these, with frames waiting, slower than promised
	Fast     int64 // of these, faster than promised
	MissBps  int64 // the rate of the last that missed
	AskedBps int64 // what was promised of it
	Out      int64 // frames that left or found no link to leave by, copies among them
	Copies   int64
	Before   int64 // held at the change
	Held     int64
	Lost     [link.Reasons]int64
	Balanced int64 // how often the frames were counted up
	Uneven   int64 // and did not add up
}

// recent is what happened in the last interval of publication.
type recent struct {
	Since              int64 // link.Time
	Out, OutBytes      uint64
	In, InBytes        uint64
	Lost               uint64
	Delays             uint64 // how many frames the delays below are of
	DelayMin, DelayMax int64  // arrival to departure, ns
	DelaySum           int64
	HeldMax            uint64 // most bytes inside at a publication
}

// delay counts one frame that was inside for ns.
func (r *recent) delay(ns int64) {
	if r.Delays == 0 || ns < r.DelayMin {
		r.DelayMin = ns
	}
	r.Delays++
	r.DelaySum += ns
	r.DelayMax = max(r.DelayMax, ns)
}

type sharedProbe struct {
	Name  [56]byte
	Value float64
}

const pageSize = (unsafe.Sizeof(page{}) + 4095) &^ 4095

// newShared makes shared memory that a child can inherit.
func newShared() (*os.File, error) {
	fd, err := unix.MemfdCreate("farlink-wire", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("memfd: %w", err)
	}
	f := os.NewFile(uintptr(fd), "farlink-wire")
	if err := f.Truncate(int64(pageSize)); err != nil {
		f.Close()
		return nil, fmt.Errorf("memfd: %w", err)
	}
	return f, nil
}

// mapShared maps it into this process.
func mapShared(f *os.File) (*page, error) {
	m, err := unix.Mmap(int(f.Fd()), 0, int(pageSize), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map shared memory: %w", err)
	}
	return (*page)(unsafe.Pointer(&m[0])), nil
}

func (p *page) unmap() {
	unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(p)), pageSize))
}

// write lets f change the way with readers held off.
func (w *wayPage) begin() { atomic.AddUint64(&w.Seq, 1) }
func (w *wayPage) end()   { atomic.AddUint64(&w.Seq, 1) }

// read copies the way as it was at one instant. If the loop writes all the
// time, or died while it wrote, it copies what is there and says so.
func (w *wayPage) read(to *wayView) (whole bool) {
	const words = unsafe.Sizeof(wayView{}) / 8
	from := unsafe.Slice((*uint64)(unsafe.Pointer(&w.wayView)), words)
	dest := unsafe.Slice((*uint64)(unsafe.Pointer(to)), words)
	for range 1000 {
		before := atomic.LoadUint64(&w.Seq)
		for i := range from {
			dest[i] = atomic.LoadUint64(&from[i])
		}
		if before%2 == 0 && atomic.LoadUint64(&w.Seq) == before {
			return true
		}
	}
	return false
}

// yield writes one figure; it is what Emulator.Probes is given.
func (v *wayView) yield(p link.Probe) {
	if v.Probes == maxProbes {
		return
	}
	s := &v.Probe[v.Probes]
	v.Probes++
	s.Name = [len(s.Name)]byte{}
	copy(s.Name[:], p.Name)
	s.Value = p.Value
}
