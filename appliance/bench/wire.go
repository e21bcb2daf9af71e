package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
	"farlink/emulator/netlab"
	"farlink/emulator/wire/steer"
)

// Wire lists the cases of the wire.
func Wire() []Case {
	return []Case{
		{"throughput", throughput}, {"packet-rate", packetRate}, {"delay", delay}, {"idle", idle},
		{"added-latency", addedLatency}, {"busy-daemon", busyDaemon}, {"rate", rate}, {"burst", burst},
		{"held", held}, {"swap", swap}, {"kill", kill}, {"hang", hang},
		{"media-on-wire", mediaOnWire}, {"start", startup}, {"api-load", apiLoad},
	}
}

// throughput compares TCP over the profile clear with the wire without a
// model, with the bypass and with a kernel bridge, interleaved.
func throughput(ctx context.Context, b *Bench) error {
	clear, err := shipped("clear")
	if err != nil {
		return err
	}
	r, err := newRig(ctx, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	got := map[string][]float64{}
	measure := func(name string) error {
		t, err := netlab.TCP(r.A, r.B, time.Second)
		got[name] = append(got[name], t.Mbits())
		return err
	}
	for range b.Rounds {
		err := errors.Join(
			measure("bare"), apply(r, clear), measure("clear"),
			r.SetMode(steer.Bypass), measure("bypass"), r.stop(),
			r.Bridge(), measure("bridge"), r.Unbridge(), r.start(ctx))
		if err != nil {
			return err
		}
	}
	b.against("TCP, profile clear", "Mbit/s", "bare AF_XDP loop", got["clear"], got["bare"], 0.9)
	b.against("TCP, profile clear, beside a bridge", "Mbit/s", "kernel bridge", got["clear"], got["bridge"], 0.40)
	b.against("TCP, bypass", "Mbit/s", "kernel bridge", got["bypass"], got["bridge"], 0.85)
	return nil
}

func apply(r *rig, doc []byte) error {
	_, err := r.Apply(doc)
	return err
}

// packetRate floods 64-byte frames (60 and FCS) one way, a little over the
// target. They come by the driver, as from a cable: a sender with a socket
// would want a whole processor for itself, of the two that it shares with the
// box.
func packetRate(ctx context.Context, b *Bench) error {
	clear, err := shipped("clear")
	if err != nil {
		return err
	}
	r, err := newRig(ctx, clear)
	if err != nil {
		return err
	}
	defer r.Close()
	var rates, losses []float64
	for range b.Rounds + 4 {
		f, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Rate: 520e3, For: time.Second, Driver: true})
		if err != nil {
			return err
		}
		rates, losses = append(rates, f.PerSecond()/1e3), append(losses, f.Loss()*100)
	}
	b.atLeast("64-byte frames one way", "kpps", rates, 500)
	b.atMost("64-byte frames lost", "%", losses, 0.1)
	return nil
}

// delay holds the asked delay against the kernel's stamps at the endpoints,
// and the engine's own book against them.
func delay(ctx context.Context, b *Bench) error {
	for _, d := range []link.Duration{10 * link.Millisecond, 300 * link.Millisecond} {
		for _, loaded := range []bool{false, true} {
			if err := delayCase(ctx, b, d, loaded); err != nil {
				return err
			}
		}
	}
	return nil
}

func delayCase(ctx context.Context, b *Bench, d link.Duration, loaded bool) error {
	doc, err := delayed(d)
	if err != nil {
		return err
	}
	r, err := newRig(ctx, doc)
	if err != nil {
		return err
	}
	defer r.Close()
	var p50, p99, least []float64
	var all probed // of which witness and ledger saw every frame
	for range b.Rounds + 2 {
		s, err := r.probe(doc, loaded)
		if err != nil {
			return err
		}
		p50 = append(p50, us(s.delays.Quantile(.5))-us(time.Duration(d)))
		p99 = append(p99, us(s.delays.Quantile(.99))-us(time.Duration(d)))
		least = append(least, us(s.delays.Quantile(0))-us(time.Duration(d)))
		if loaded {
			if s, err = r.probeEvery(doc); err != nil {
				return err
			}
		}
		all.add(s)
	}
	name := fmt.Sprintf("delay error at %v, idle", d)
	if loaded {
		name = fmt.Sprintf("delay error at %v, 100 Mbit/s", d)
	}
	b.atMost(name+", p50", "us", p50, 15)
	b.atMost(name+", p99", "us", p99, 300)
	b.atLeast(name+", least of all (never early)", "us", []float64{slices.Min(least)}, 0)
	for _, q := range []int{50, 99} {
		apart := all.apart(float64(q)/100, time.Duration(d))
		b.atMost(fmt.Sprintf("%s, witness and ledger apart at p%d of %d frames", name, q, len(all.delays.NS)), "us", []float64{apart}, 20)
	}
	return nil
}

func us(d time.Duration) float64 { return float64(d) / 1e3 }

// probed is one round of probes, and the ledger's own lateness of all frames
// meanwhile.
type probed struct {
	delays netlab.Delays
	own    ledger.Histogram
}

// add pools what another round saw.
func (s *probed) add(o probed) {
	s.delays.Sent += o.delays.Sent
	s.delays.NS = append(s.delays.NS, o.delays.NS...)
	s.own.Merge(&o.own)
}

// apart is how far the witness and the ledger differ at a quantile, in us.
func (s *probed) apart(q float64, asked time.Duration) float64 {
	return math.Abs(us(s.delays.Quantile(q)-asked) - float64(s.own.Quantile(q))/1e3)
}

// probe probes the link, beside a load of 100 Mbit/s if asked.
func (r *rig) probe(doc []byte, loaded bool) (probed, error) {
	wait := func() error { return nil }
	return r.watch(doc, func() (d netlab.Delays, err error) {
		if loaded {
			wait = r.load(100e6, 1100*time.Millisecond)
		}
		d, err = netlab.Probe(r.A, r.B, netlab.ProbeOptions{})
		return d, errors.Join(err, wait())
	})
}

// probeEvery loads the link with 100 Mbit/s of probes: witness and ledger see
// the same frames.
func (r *rig) probeEvery(doc []byte) (probed, error) {
	return r.watch(doc, func() (netlab.Delays, error) {
		return netlab.Probe(r.A, r.B, netlab.ProbeOptions{Count: 10000, Every: 100 * time.Microsecond, Size: 1250})
	})
}

// watch begins a new run, measures, and reads the book.
func (r *rig) watch(doc []byte, measure func() (netlab.Delays, error)) (s probed, err error) {
	if _, err := r.Run(doc); err != nil {
		return s, err
	}
	if s.delays, err = measure(); err != nil {
		return s, err
	}
	time.Sleep(120 * time.Millisecond) // the book is published each 100 ms
	book := r.Stats().Ways[link.Up].Book
	s.own = book.Lateness
	return s, nil
}

// idle is what an engine costs that has nothing to do.
func idle(ctx context.Context, b *Bench) error {
	_, r, err := shippedRig(ctx, "geo/qirse-sat")
	if err != nil {
		return err
	}
	defer r.Close()
	pid := r.Report().PID
	var shares []float64
	for range b.Rounds {
		before, err := cpu(pid)
		if err != nil {
			return err
		}
		time.Sleep(4 * time.Second)
		after, err := cpu(pid)
		if err != nil {
			return err
		}
		shares = append(shares, 100*(after-before).Seconds()/4)
	}
	b.atMost("engine CPU when idle", "% of a core", shares, 1)
	return nil
}

// addedLatency is what the wire adds with no delay asked.
func addedLatency(ctx context.Context, b *Bench) error {
	doc, r, err := shippedRig(ctx, "clear")
	if err != nil {
		return err
	}
	defer r.Close()
	var p50 []float64
	for range b.Rounds + 2 {
		s, err := r.probe(doc, false)
		if err != nil {
			return err
		}
		p50 = append(p50, us(s.delays.Quantile(.5)))
	}
	b.atMost("added latency at zero delay, p50", "us", p50, 150)
	return nil
}

// busyDaemon makes 200 MB/s of garbage in the process that holds the engine
// and compares the tail of the delay error with a quiet one, interleaved.
func busyDaemon(ctx context.Context, b *Bench) error {
	doc, err := delayed(10 * link.Millisecond)
	if err != nil {
		return err
	}
	r, err := newRig(ctx, doc)
	if err != nil {
		return err
	}
	defer r.Close()
	var quiet, busy []float64
	for range b.Rounds + 2 {
		s, err := r.probe(doc, true)
		if err != nil {
			return err
		}
		quiet = append(quiet, us(s.delays.Quantile(.99))-1e4)
		stop := garbage()
		s, err = r.probe(doc, true)
		stop()
		if err != nil {
			return err
		}
		busy = append(busy, us(s.delays.Quantile(.99))-1e4)
	}
	f := Figure{Name: "delay error p99 beside a busy daemon", Unit: "us", Value: Median(busy), Samples: busy,
		Peer: "quiet daemon", PeerAt: Median(quiet), PeerAll: quiet, Target: "< 2 × quiet daemon", Verdict: Pass}
	f.Ratio = f.Value / f.PeerAt
	if f.Ratio >= 2 {
		f.Verdict = Fail
	}
	b.add(f)
	return nil
}

// garbage makes 200 MB/s of it until stopped.
func garbage() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		keep := make([][]byte, 64)
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-done:
				return
			case <-every.C:
				for i := range 512 { // 2 MB in 4 kB pieces
					keep[i%64] = make([]byte, 4096)
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}

// held keeps 300 ms of 1 Gbit/s inside the link.
func held(ctx context.Context, b *Bench) error {
	doc, err := delayed(300 * link.Millisecond)
	if err != nil {
		return err
	}
	r, err := newRig(ctx, doc)
	if err != nil {
		return err
	}
	defer r.Close()
	var rates, losses []float64
	for range b.Rounds {
		f, err := netlab.Flood(r.A, r.B, netlab.FloodOptions{Size: 1514, Rate: 1e9 / 8 / 1514, For: time.Second, Wait: 500 * time.Millisecond})
		if err != nil {
			return err
		}
		rates, losses = append(rates, float64(f.Sent)*1514*8/f.For.Seconds()/1e6), append(losses, 100*f.Loss())
	}
	b.note("offered to 300 ms of delay", "Mbit/s", rates)
	b.atMost("lost of 1 Gbit/s held for 300 ms", "%", losses, 0)
	return nil
}

// swap changes the profile again and again under load.
func swap(ctx context.Context, b *Bench) error {
	r, err := newRig(ctx, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	var docs [2][]byte
	for i, d := range []link.Duration{5 * link.Millisecond, 20 * link.Millisecond} {
		if docs[i], err = delayed(d); err != nil {
			return err
		}
	}
	stream := make(chan error, 1)
	var got netlab.Streamed
	seconds := time.Duration(b.Swaps)*12*time.Millisecond + time.Second
	go func() {
		var err error
		got, err = netlab.Stream(r.A, r.B, netlab.StreamOptions{Rate: 5000, For: seconds, Size: 600})
		stream <- err
	}()
	var took []float64
	for i := range b.Swaps {
		a, err := r.Apply(docs[i%2])
		if err != nil {
			return err
		}
		took = append(took, float64(a.Switch)/1e6)
		time.Sleep(8 * time.Millisecond)
	}
	if err := <-stream; err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("change of profile under load (%d)", b.Swaps), "ms", took, 5)
	b.atMost("frames lost in these changes", "frames", []float64{float64(got.Lost())}, 0)
	b.atMost("frames reordered in these changes", "frames", []float64{float64(got.Reordered)}, 0)
	return nil
}
