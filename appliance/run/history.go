package run

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Every is the time between samples.
const Every = 100 * time.Millisecond

// Reach is how far back a History goes.
const Reach = coarseKept * time.Second

const (
	fineKept   = 900      // samples of a tenth of a second: a minute and a half
	coarseKept = 3 * 3600 // samples of a second: three hours
	perCoarse  = int(time.Second / Every)
)

// History keeps the samples of each pair: the newest as they were taken, the
// older ones by the second.
type History struct {
	mu    sync.Mutex
	pairs map[string]*past
}

type past struct {
	fine, coarse ring
	open         []Dated // what the next coarse sample is made of
}

// Dated is a sample of a pair with its time, without the models' readings.
type Dated struct {
	At time.Time `json:"at"`
	PairSample
}

// ring keeps the last of many samples.
type ring struct {
	items []Dated
	most  int
}

func (r *ring) push(d Dated) {
	if len(r.items) == 2*r.most {
		r.items = append(r.items[:0], r.items[r.most:]...)
	}
	r.items = append(r.items, d)
}

// Add takes a sample in.
func (h *History) Add(s Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pairs == nil {
		h.pairs = map[string]*past{}
	}
	for _, p := range s.Pairs {
		p.Readings = nil
		k := h.pairs[p.Name]
		if k == nil {
			k = &past{fine: ring{most: fineKept}, coarse: ring{most: coarseKept}}
			h.pairs[p.Name] = k
		}
		d := Dated{s.Time, p}
		k.fine.push(d)
		if k.open = append(k.open, d); len(k.open) == perCoarse {
			k.coarse.push(fold(k.open))
			k.open = k.open[:0]
		}
	}
}

// Since returns the samples after t: fine ones as far as they reach, coarse
// ones before.
func (h *History) Since(pair string, t time.Time) []Dated {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.pairs[pair]
	if k == nil {
		return nil
	}
	fine := after(k.fine.items, t)
	if len(fine) == 0 || len(fine) < len(k.fine.items) {
		return slices.Clone(fine)
	}
	coarse := after(k.coarse.items, t)
	end, _ := slices.BinarySearchFunc(coarse, fine[0].At, func(d Dated, t time.Time) int { return d.At.Compare(t) })
	return append(slices.Clone(coarse[:end]), fine...)
}

func after(items []Dated, t time.Time) []Dated {
	i, _ := slices.BinarySearchFunc(items, t, func(d Dated, t time.Time) int { return d.At.Compare(t) })
	return items[i:]
}

// fold makes one sample of several: mean rates, greatest delays, all losses.
func fold(of []Dated) Dated {
	last := of[len(of)-1]
	out := Dated{last.At, PairSample{Name: last.Name, Lateness: last.Lateness}}
	for _, d := range of {
		if d.Fault != "" {
			out.Fault = d.Fault
		}
		foldWay(&out.Down, d.Down, len(of))
		foldWay(&out.Up, d.Up, len(of))
	}
	return out
}

func foldWay(into *WaySample, w WaySample, n int) {
	into.Offered += w.Offered / float64(n)
	into.Delivered += w.Delivered / float64(n)
	into.Granted += w.Granted / float64(n)
	into.Delay = w.Delay
	into.QueueMS = max(into.QueueMS, w.QueueMS)
	into.QueueB = max(into.QueueB, w.QueueB)
	into.Packets += w.Packets
	into.Lost += w.Lost
	into.Held = max(into.Held, w.Held)
	for reason, n := range w.Causes {
		if into.Causes == nil {
			into.Causes = map[string]uint64{}
		}
		into.Causes[reason] += n
	}
}

// Series is a stretch of samples in columns, oldest first.
type Series struct {
	Pair     string               `json:"pair"`
	Time     []float64            `json:"time_s" doc:"Unix time at the end of each sample."`
	Lateness []float64            `json:"lateness_p99_us"`
	Down     WaySeries            `json:"down"`
	Up       WaySeries            `json:"up"`
	Lost     map[string][]float64 `json:"lost" doc:"Frames lost by way.reason, for the reasons that occurred."`
	Fault    []string             `json:"fault,omitempty" doc:"Why the link was not emulated, empty where it was; absent when it was all along."`
}

// WaySeries is one way of a Series.
type WaySeries struct {
	Offered   []float64 `json:"offered_bps"`
	Delivered []float64 `json:"delivered_bps"`
	Granted   []float64 `json:"granted_bps"`
	Delay     []float64 `json:"delay_ms"`
	Queue     []float64 `json:"queue_ms" doc:"The greatest."`
	Packets   []float64 `json:"packets"`
	Lost      []float64 `json:"lost_packets"`
	Held      []float64 `json:"held_packets" doc:"The most."`
}

func (w *WaySeries) push(s WaySample) {
	for _, c := range []struct {
		column *[]float64
		value  float64
	}{{&w.Offered, math.Round(s.Offered)}, {&w.Delivered, math.Round(s.Delivered)}, {&w.Granted, math.Round(s.Granted)},
		{&w.Delay, micro(s.Delay)}, {&w.Queue, micro(s.QueueMS)},
		{&w.Packets, float64(s.Packets)}, {&w.Lost, float64(s.Lost)}, {&w.Held, float64(s.Held)}} {
		*c.column = append(*c.column, c.value)
	}
}

// micro keeps a microsecond of a millisecond.
func micro(ms float64) float64 { return math.Round(ms*1e3) / 1e3 }

// Columns turns samples into a series.
func Columns(pair string, of []Dated) Series {
	s := Series{Pair: pair, Time: []float64{}, Lateness: []float64{}, Lost: map[string][]float64{}}
	for i, d := range of {
		s.Time = append(s.Time, float64(d.At.UnixMilli())/1e3)
		s.Lateness = append(s.Lateness, d.Lateness)
		if d.Fault != "" {
			if s.Fault == nil {
				s.Fault = make([]string, len(of))
			}
			s.Fault[i] = d.Fault
		}
		s.Down.push(d.Down)
		s.Up.push(d.Up)
		for way, causes := range map[string]map[string]uint64{"down.": d.Down.Causes, "up.": d.Up.Causes} {
			for reason, n := range causes {
				if s.Lost[way+reason] == nil {
					s.Lost[way+reason] = make([]float64, len(of))
				}
				s.Lost[way+reason][i] = float64(n)
			}
		}
	}
	return s
}
