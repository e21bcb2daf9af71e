// Package metrics shows a box to Prometheus. Everything is collected at the
// scrape from one state; names and units are a promise (docs/metrics.md), and
// there are no labels per flow.
package metrics

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"farlink/appliance"
	"farlink/appliance/run"
)

// Counts is what the API counts of itself. The zero value is ready.
type Counts struct {
	mu       sync.Mutex
	requests map[requestKey]float64
}

type requestKey struct {
	operation string
	code      int
}

// Request counts a request that was answered.
func (c *Counts) Request(operation string, code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[requestKey]float64{}
	}
	c.requests[requestKey{operation, code}]++
}

// metric is one metric: name, help, labels. Names and units are a promise
// (docs/metrics.md); there are no labels per flow.
func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("farlink_"+name, help, labels, nil)
}

var (
	mBuild    = metric("build_info", "Version of the program; always 1.", "version", "go")
	mStart    = metric("start_time_seconds", "When the daemon started, as Unix time.")
	mState    = metric("pair_state", "1 for the word that the pair's state is.", "pair", "word")
	mVerdict  = metric("pair_verdict", "1 for the ledger's verdict.", "pair", "verdict")
	mEffect   = metric("pair_effective", "1 if the link is as asked.", "pair")
	mLink     = metric("link_info", "Profile of a link; always 1.", "pair", "link", "profile", "hash", "seed")
	mPackets  = metric("link_packets_total", "Frames by fate: delivered, a reason of loss, or engine for the box's own fault.", "pair", "way", "fate")
	mArrived  = metric("link_arrived_packets_total", "Frames that came.", "pair", "way")
	mBytes    = metric("link_bytes_total", "Bytes of frames that left.", "pair", "way")
	mOffered  = metric("link_arrived_bytes_total", "Bytes of frames that came.", "pair", "way")
	mHeld     = metric("link_held_packets", "Frames inside.", "pair", "way")
	mHeldB    = metric("link_held_bytes", "Bytes of frames inside.", "pair", "way")
	mReading  = metric("link_reading", "A live figure of a model; its name ends in the unit.", "pair", "link", "way", "reading")
	mLateness = metric("wire_lateness_seconds", "Actual minus intended departure, since the engine started.", "pair", "quantile")
	mFloor    = metric("wire_floor_seconds", "The box's own latency at zero delay, measured before the ports were opened.", "pair", "quantile")
	mRestarts = metric("engine_restarts_total", "How often the engine had to be started again.", "pair")
	mRun      = metric("run_info", "A run that goes on; always 1.", "run", "pair", "profile", "hash", "seed")
	mLease    = metric("lease_held", "1 if somebody holds the lease.")
	mStreams  = metric("stream_clients", "Open event streams.")
	mDropped  = metric("stream_dropped_total", "Event streams dropped for being slow.")
	mRequests = metric("api_requests_total", "Requests by operation and status.", "operation", "code")

	allMetrics = []*prometheus.Desc{mBuild, mStart, mState, mVerdict, mEffect, mLink, mPackets, mArrived, mBytes, mOffered,
		mHeld, mHeldB, mReading, mLateness, mFloor, mRestarts, mRun, mLease, mStreams, mDropped, mRequests}
)

// words and verdicts in the order in which they are shown.
var (
	words    = []appliance.Word{appliance.Starting, appliance.Emulating, appliance.Bypassing, appliance.Cutting, appliance.Fault}
	verdicts = []appliance.Standing{appliance.Valid, appliance.Degraded, appliance.Invalid}
)

// Source is where the figures come from.
type Source struct {
	State func() appliance.State
	PEP   func(pair string) (appliance.PEPState, error)
	// Multipath is the bundle of paths; an error where there is none.
	Multipath func() (appliance.MultipathState, error)
	Held      func() bool // whether somebody holds the lease
	Streams   func() (open int, dropped uint64)
	Runs      func() []run.Run
	Counts    *Counts
}

// Handler answers a scrape.
func Handler(from Source) http.Handler {
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(collector{from})
	// Processors belong to the frames; a scrape is some tens of kB.
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{DisableCompression: true})
}

type collector struct{ Source }

func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range slices.Concat(allMetrics, pepMetrics, multipathMetrics) {
		out <- d
	}
}

// emitter sends constant metrics.
type emitter chan<- prometheus.Metric

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) count(d *prometheus.Desc, v float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func (c collector) Collect(out chan<- prometheus.Metric) {
	e := emitter(out)
	st := c.State()
	e.gauge(mBuild, 1, st.Version, runtime.Version())
	e.gauge(mStart, float64(st.Started.UnixMilli())/1e3)
	e.gauge(mLease, one(c.Held()))
	clients, dropped := c.Streams()
	e.gauge(mStreams, float64(clients))
	e.count(mDropped, float64(dropped))
	c.Counts.collect(e)
	for _, p := range st.Pairs {
		collectPair(e, p)
		if s, err := c.PEP(p.Name); err == nil {
			collectPEP(e, p.Name, s)
		}
	}
	if s, err := c.Multipath(); err == nil {
		collectMultipath(e, s)
	}
	for _, r := range c.Runs() {
		if r.Phase == run.Running && len(r.Links) > 0 {
			l := r.Links[0]
			e.gauge(mRun, 1, r.ID, r.Pair, l.Profile, l.Hash, strconv.FormatUint(l.Seed, 10))
		}
	}
}

func (c *Counts) collect(e emitter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, n := range c.requests {
		e.count(mRequests, n, k.operation, strconv.Itoa(k.code))
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func collectPair(e emitter, p appliance.PairState) {
	for _, w := range words {
		e.gauge(mState, one(p.Word == w), p.Name, string(w))
	}
	for _, v := range verdicts {
		e.gauge(mVerdict, one(p.Verdict.Word == v), p.Name, string(v))
	}
	e.gauge(mEffect, one(p.Effective), p.Name)
	e.count(mRestarts, float64(p.Engine.Restarts), p.Name)
	for _, l := range p.Links {
		e.gauge(mLink, 1, p.Name, l.Name, l.Profile, l.Hash, strconv.FormatUint(l.Seed, 10))
	}
	for _, r := range p.Readings {
		e.gauge(mReading, r.Value, p.Name, r.Link, r.Way, r.Name)
	}
	if f := p.Figures; f != nil {
		collectWay(e, p.Name, "down", f.Down)
		collectWay(e, p.Name, "up", f.Up)
		e.gauge(mLateness, f.LatenessP50/1e6, p.Name, "0.5")
		e.gauge(mLateness, f.LatenessP99/1e6, p.Name, "0.99")
		e.gauge(mLateness, f.LatenessMax/1e6, p.Name, "1")
	}
	if f := p.Engine.Floor; f != nil && f.Why == "" {
		e.gauge(mFloor, f.P50/1e6, p.Name, "0.5")
		e.gauge(mFloor, f.P99/1e6, p.Name, "0.99")
	}
}

func collectWay(e emitter, pair, way string, f appliance.WayFigures) {
	e.count(mPackets, float64(f.PacketsOut), pair, way, "delivered")
	e.count(mPackets, float64(f.EngineLost), pair, way, run.EngineReason)
	e.count(mPackets, float64(f.LinkDown), pair, way, run.LinkDownReason)
	for reason, n := range f.Lost {
		e.count(mPackets, float64(n), pair, way, reason)
	}
	e.count(mArrived, float64(f.PacketsIn), pair, way)
	e.count(mBytes, float64(f.BytesOut), pair, way)
	e.count(mOffered, float64(f.BytesIn), pair, way)
	e.gauge(mHeld, float64(f.HeldPackets), pair, way)
	e.gauge(mHeldB, float64(f.HeldBytes), pair, way)
}
