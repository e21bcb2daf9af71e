package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/need"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
)

// The test binary is the engine too.
func TestMain(m *testing.M) {
	if IsEngine() {
		os.Exit(Main(buildAny, nil))
	}
	if os.Getenv("FARLINK_TEST_START") != "" { // TestNoPrivilege runs us so
		_, err := Start(context.Background(), Config{Pair: "nobody", A: "lo", B: "lo2"})
		fmt.Println(err)
		os.Exit(1)
	}
	if os.Getenv("FARLINK_TEST_FLOOR") != "" { // TestFloorSaysWhyNot runs us so
		fmt.Println(floorOf(Config{}, steer.Generic).Why)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// plain is a small emulator for tests: a constant delay, every Nth frame
// lost, every Nth copied; or a rate, and what it says of it.
type plain struct {
	Delay            link.Duration
	LoseNth, CopyNth uint64
	Mark             link.Mark // on every frame
	BoundBytes       link.Size
	Shared           bool // coupled
	Rate, Says       link.Rate
	Fail             string

	ways [2]plainWay
}

type plainWay struct {
	line link.FIFO
	seq  uint64
	busy link.Time // since when it has served without a pause
}

func buildPlain(doc []byte) (Emulator, error) {
	p := new(plain)
	if err := json.Unmarshal(doc, p); err != nil {
		return nil, err
	}
	if p.Fail != "" {
		return nil, errors.New(p.Fail)
	}
	return p, nil
}

func (p *plain) doc() []byte {
	b, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return b
}

func (p *plain) Arrive(w link.Way, when link.Time, ref uint32, frame []byte, out link.Sink) {
	way := &p.ways[w]
	k := link.Packet{When: when, Seq: way.seq, Ref: ref, Body: link.Body{Size: uint16(len(frame)), Mark: p.Mark}}
	way.seq++
	if p.LoseNth > 0 && way.seq%p.LoseNth == 0 {
		out.Lose(k, link.Cause{Reason: link.Pattern})
		return
	}
	k.When = when.Add(p.Delay)
	if p.Rate > 0 {
		k.When = p.serve(way, when, len(frame))
	}
	if way.line.Len() > 0 {
		k.When = max(k.When, way.line.Back().When)
	}
	way.line.Push(k)
	if p.CopyNth > 0 && way.seq%p.CopyNth == 0 {
		out.Copy(k)
		k.Mark |= link.Duplicate
		way.line.Push(k)
	}
}

// serve returns when a frame that comes at when has been served.
func (p *plain) serve(way *plainWay, when link.Time, size int) link.Time {
	if way.line.Len() == 0 {
		way.busy = when
	} else {
		when = max(when, way.line.Back().When)
	}
	return when.Add(p.Rate.Time(size))
}

func (p *plain) Size() int { return 1 }
func (p *plain) Account(w link.Way, _ int) (uint64, int) {
	return p.ways[w].seq, p.ways[w].line.Len()
}

func (p *plain) Pace(w link.Way, _ int) link.Pace {
	k := link.Pace{Least: p.Says, Most: p.Says, Busy: link.Never}
	if p.ways[w].line.Len() > 0 {
		k.Busy = p.ways[w].busy
	}
	return k
}

func (p *plain) Next(w link.Way) link.Time {
	if p.ways[w].line.Len() == 0 {
		return link.Never
	}
	return p.ways[w].line.Front().When
}

func (p *plain) Run(w link.Way, now link.Time, out link.Sink) {
	for l := &p.ways[w].line; l.Len() > 0 && l.Front().When <= now; {
		out.Deliver(l.Pop())
	}
}

func (p *plain) Finish(_ link.Packet, _ link.Way, frame []byte) { frame[len(frame)-1] ^= 1 }
func (p *plain) Coupled() bool                                  { return p.Shared }
func (p *plain) Bound(link.Way) link.Size                       { return p.BoundBytes }
func (p *plain) Promise(link.Way, int) link.Duration            { return p.Delay }

func (p *plain) Succeed(old Emulator, w link.Way, _ link.Time) {
	if o, ok := old.(*plain); ok {
		p.ways[w].seq = o.ways[w].seq
		for l := &o.ways[w].line; l.Len() > 0; {
			p.ways[w].line.Push(l.Pop())
		}
	}
}

func (p *plain) Held(w link.Way) (packets, bytes int) {
	return p.ways[w].line.Len(), p.ways[w].line.Bytes()
}

func (p *plain) Probes(w link.Way, _ link.Time, yield func(link.Probe)) {
	yield(link.Probe{Name: "queue_bytes", Value: float64(p.ways[w].line.Bytes())})
	yield(link.Probe{Name: "seq", Value: float64(p.ways[w].seq)})
}

// uniqueName names labs and pairs of this process.
func uniqueName() string {
	return fmt.Sprintf("w%x%x", os.Getpid()&0xffff, rand.N(0xfff))
}

// rig is a lab with an engine between its ends.
type rig struct {
	*netlab.Lab
	*Engine
	config Config
}

// newRig makes a lab and an engine with the document's emulator in it; both
// go with the test.
func newRig(t testing.TB, o netlab.Options, c Config) *rig {
	t.Helper()
	r := &rig{Lab: newLab(t, o), config: c}
	r.config.Pair, r.config.A, r.config.B, r.config.Netns = r.Lab.Box, r.PortA, r.PortB, r.Lab.Box
	r.start(t)
	t.Cleanup(func() {
		r.Engine.Close()
		if err := Remove(r.config.Pair); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) start(t testing.TB) {
	t.Helper()
	e, err := Start(context.Background(), r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.Engine = e
}

func newLab(t testing.TB, o netlab.Options) *netlab.Lab {
	t.Helper()
	need.Root(t)
	l, err := netlab.New(uniqueName(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
