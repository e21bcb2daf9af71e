package steer

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"

	"farlink/emulator/need"
)

// loadTrial loads the program without pinning or attaching anything.
func loadTrial(t *testing.T) *programObjects {
	t.Helper()
	need.Root(t)
	var o programObjects
	if err := loadProgramObjects(&o, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return &o
}

const (
	aborted  = 0 // enum xdp_action
	drop     = 1
	redirect = 4
)

// now is when the cases of TestCore happen, patience how long a beat may be
// away, ns.
const now, patience = 10_000_000_000, 250_000_000

// coreCases are what a port does by mode, fallback and beat.
var coreCases = []struct {
	name      string
	mode      Mode
	fallback  Mode
	connected bool
	beat      uint64 // of the port in question
	verdict   uint32
	kind      uint32
	fell      uint64
}{
	{"emulate", Emulate, Bypass, true, now, drop, emulated, 0},
	{"emulate, beat just in time", Emulate, Bypass, true, now - patience, drop, emulated, 0},
	{"emulate, beat of a later clock", Emulate, Bypass, true, now + 1000, drop, emulated, 0},
	{"hangs, to bypass", Emulate, Bypass, true, now - patience - 1, redirect, bypassed, 1},
	{"hangs, to cut", Emulate, Cut, true, now - patience - 1, drop, dropped, 1},
	{"gone, to bypass", Emulate, Bypass, false, now, redirect, bypassed, 1},
	{"gone, to cut", Emulate, Cut, false, now, drop, dropped, 1},
	{"bypass", Bypass, Cut, true, now, redirect, bypassed, 0},
	{"cut", Cut, Bypass, true, now, drop, dropped, 0},
	{"a mode not known is cut", Mode(9), Bypass, true, now, drop, dropped, 0},
}

// What the program decides, by its return value and by the one counter that
// moved. The map of sockets is empty here, so that a frame for the engine
// is a redirect that misses: XDP_DROP, booked as emulated. The loopback
// device stands for the other port.
func TestCore(t *testing.T) {
	o := loadTrial(t)
	for port := range uint32(2) {
		if err := o.Others.Put(port, uint32(1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range coreCases {
		for port := range uint32(2) {
			t.Run(fmt.Sprintf("%s, port %d", c.name, port), func(t *testing.T) {
				conf := programConfig{Mode: uint32(c.mode), Fallback: uint32(c.fallback), Patience: patience}
				conf.Beat[port] = c.beat
				conf.Beat[1-port] = now - 10*patience // the other loop's is nobody's business
				put(t, o.Configs, conf)
				put(t, o.Trials, programTrial{Now: now, Port: port, Connected: b2u(c.connected)})
				before := tally(t, o, port)
				ret, err := o.SteerTrial.Run(&ebpf.RunOptions{Data: make([]byte, 100)})
				if err != nil {
					t.Fatal(err)
				}
				after := tally(t, o, port)
				if ret != c.verdict {
					t.Errorf("verdict %d, want %d", ret, c.verdict)
				}
				for kind := range uint32(kinds) {
					want := b2u(kind == c.kind)
					if kind == fellBack {
						want = uint32(c.fell)
					}
					if n := after[kind].Frames - before[kind].Frames; n != uint64(want) {
						t.Errorf("counter %d moved by %d, want %d", kind, n, want)
					}
					if n := after[kind].Bytes - before[kind].Bytes; n != uint64(want)*100 {
						t.Errorf("bytes of counter %d moved by %d", kind, n)
					}
				}
			})
		}
	}
}

func TestPortOutOfRangeAborts(t *testing.T) {
	o := loadTrial(t)
	put(t, o.Trials, programTrial{Port: 2, Connected: 1})
	if ret, err := o.SteerTrial.Run(&ebpf.RunOptions{Data: make([]byte, 60)}); err != nil || ret != aborted {
		t.Errorf("verdict %d, %v", ret, err)
	}
}

// The live entries read the real clock and the real map: with no engine
// connected they fall back.
func TestLiveEntriesFallBack(t *testing.T) {
	o := loadTrial(t)
	put(t, o.Configs, programConfig{Mode: uint32(Emulate), Fallback: uint32(Cut), Patience: 1 << 62})
	for port, p := range []*ebpf.Program{o.SteerA, o.SteerB} {
		if ret, err := p.Run(&ebpf.RunOptions{Data: make([]byte, 9000)}); err != nil || ret != drop {
			t.Errorf("port %d: verdict %d, %v", port, ret, err)
		}
		if n := tally(t, o, uint32(port))[fellBack]; n.Frames != 1 || n.Bytes != 9000 {
			t.Errorf("port %d: %+v fell back", port, n)
		}
	}
}

func put(t *testing.T, m *ebpf.Map, v any) {
	t.Helper()
	if err := m.Put(uint32(0), v); err != nil {
		t.Fatal(err)
	}
}

func tally(t *testing.T, o *programObjects, port uint32) (sum [kinds]Count) {
	t.Helper()
	for kind := range uint32(kinds) {
		var perCPU []programCount
		if err := o.Counts.Lookup(port*kinds+kind, &perCPU); err != nil {
			t.Fatal(err)
		}
		for _, c := range perCPU {
			sum[kind].Frames += c.Frames
			sum[kind].Bytes += c.Bytes
		}
	}
	return sum
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func TestModeNames(t *testing.T) {
	for _, m := range []Mode{Emulate, Bypass, Cut} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("half"); err == nil {
		t.Error("half is a mode")
	}
}

func TestPinDirectoryMustBeOnBPF(t *testing.T) {
	if err := makeDir(t.TempDir()); err == nil {
		t.Error("a plain directory took pins")
	}
}
