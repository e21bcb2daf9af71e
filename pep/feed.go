package pep

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/relay"
)

// Fault is how wrong what xlayer hears of a link's capacity is. The parts
// work together.
type Fault struct {
	// Stale holds what was heard when the fault began.
	Stale bool `toml:"stale" json:"stale,omitempty"`
	// Delay is how late it is, up to 10 s.
	Delay link.Duration `toml:"delay" json:"delay,omitempty"`
	// Factor multiplies it, 0.1 to 10; 0 is 1.
	Factor float64 `toml:"factor" json:"factor,omitempty"`
}

// On reports whether anything is wrong.
func (f Fault) On() bool { return f.Stale || f.Delay > 0 || f.Factor != 0 && f.Factor != 1 }

func (f Fault) check(report link.Report) {
	if f.Delay < 0 || f.Delay > 10*link.Second {
		report("fault.delay", f.Delay.String(), "up to 10s")
	}
	if f.Factor != 0 && (f.Factor < 0.1 || f.Factor > 10) {
		report("fault.factor", fmt.Sprint(f.Factor), "0.1 to 10")
	}
}

// FeedStatus is what a proxy knows of the link's capacity, and how close the
// windows over it are to what they should be.
type FeedStatus struct {
	Links []FeedLink `json:"links,omitempty"`
	// Error is the mean over some ten seconds of how far the windows of
	// xlayer's flows, without their gain, are from granted rate times RTT,
	// as a part of it; Samples is how many there were.
	Error   float64 `json:"oracle_error"`
	Samples uint64  `json:"oracle_samples"`
	Fault   Fault   `json:"fault,omitzero"`
}

// FeedLink is a link's capacity as the feed has it.
type FeedLink struct {
	Link       int     `json:"link"`
	Way        string  `json:"way"`
	GrantedBps float64 `json:"granted_bps"`
	RTTms      float64 `json:"rtt_ms"` // 0 also where it is not known
	QueueBytes int64   `json:"queue_bytes"`
	AgeMs      float64 `json:"age_ms"` // since it was told
}

// SavedPath is what the control "resume" has saved of a link for new
// connections (RFC 9959), and what became of those that used it.
type SavedPath struct {
	Link      int     `json:"link"`
	Way       string  `json:"way"`
	Bytes     uint64  `json:"bytes"` // used within a round trip; half of it is jumped to
	MinRTTms  float64 `json:"min_rtt_ms"`
	AgeMs     float64 `json:"age_ms"` // since it was saved; of a path that is saved
	Jumps     uint32  `json:"jumps"`
	Validated uint32  `json:"validated"` // jumps that the path carried
	Retreats  uint32  `json:"retreats"`  // jumps that met congestion
}

// savedPaths lists the links of which there is something to tell.
func (p *Proxy) savedPaths(c *Config) (all []SavedPath, err error) {
	now := monotonic()
	for _, n := range c.links() {
		s, wrong := p.shelf.Saved(congestion.Column(n, p.way))
		if wrong != nil {
			err = wrong
		}
		if s.At == 0 && s.Jumps == 0 {
			continue
		}
		shown := SavedPath{Link: n, Way: p.way.String(), Jumps: s.Jumps, Validated: s.Validated, Retreats: s.Retreats}
		if s.At != 0 {
			shown.Bytes, shown.MinRTTms, shown.AgeMs = s.Bytes, float64(s.MinRTT)/1e6, float64(max(now-s.At, 0))/1e6
		}
		all = append(all, shown)
	}
	return all, err
}

func openFeed(path string) (*congestion.Feed, error) {
	if path == "" {
		return congestion.NewFeed()
	}
	return congestion.OpenFeed(path)
}

// Grant tells xlayer the capacity of links where no engine does.
func (p *Proxy) Grant(grants []Grant) error {
	for _, g := range grants {
		if g.Link < 0 || g.Link >= congestion.MostLinks {
			return fmt.Errorf("capacity of link %d: want 0 to %d", g.Link, congestion.MostLinks-1)
		}
		rate := link.Rate(g.RateBps)
		p.feed.Tell(g.Link, p.way, monotonic(), math.MaxInt64, link.Capacity{Rate: rate, NextRate: rate, RTT: -1})
	}
	return nil
}

// monotonic is CLOCK_MONOTONIC in ns.
func monotonic() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0
	}
	return t.Nano()
}

// links lists the links that the configuration's legs follow.
func (c *Config) links() []int {
	all := []int{c.LAN.Link, c.WAN.Link}
	for _, r := range c.Rules {
		all = append(all, r.LAN.Link, r.WAN.Link)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (p *Proxy) feedStatus(c *Config) FeedStatus {
	s := FeedStatus{Fault: c.Fault}
	s.Error, s.Samples = p.oracle.read()
	now := monotonic()
	for _, n := range c.links() {
		t := p.feed.Now(congestion.Column(n, p.way))
		if t.At == 0 {
			continue
		}
		s.Links = append(s.Links, FeedLink{
			Link: n, Way: p.way.String(), GrantedBps: float64(t.Rate), RTTms: float64(max(t.RTT, 0)) / 1e6,
			QueueBytes: int64(t.Queue), AgeMs: float64(max(now-t.At, 0)) / 1e6,
		})
	}
	return s
}

// heard is a rate at a time.
type heard struct {
	at   int64
	rate link.Rate
}

// mislead puts the configured fault between the feed and xlayer.
func (p *Proxy) mislead(ctx context.Context) error {
	const idle, busy = 50 * time.Millisecond, time.Millisecond
	every := time.NewTicker(idle)
	defer every.Stop()
	past := map[uint32][]heard{}
	on := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
		c := p.config.Load()
		if !c.Fault.On() {
			if on {
				on, past = false, map[uint32][]heard{}
				for column := range uint32(2 * congestion.MostLinks) {
					p.feed.Believe(column)
				}
				every.Reset(idle)
			}
			continue
		}
		if !on {
			on = true
			every.Reset(busy)
		}
		for _, n := range c.links() {
			column := congestion.Column(n, p.way)
			past[column] = c.Fault.step(past[column], heard{monotonic(), p.feed.Now(column).Rate})
			p.feed.Pretend(column, c.Fault.rate(past[column]))
		}
	}
}

// step keeps of the past what the fault still needs.
func (f Fault) step(past []heard, now heard) []heard {
	if f.Stale && len(past) > 0 {
		return past
	}
	past = append(past, now)
	for len(past) > 1 && past[1].at <= now.at-int64(f.Delay) {
		past = past[1:]
	}
	return past
}

// rate is what is believed.
func (f Fault) rate(past []heard) link.Rate {
	if f.Factor == 0 {
		return past[0].rate
	}
	return link.Rate(float64(past[0].rate) * f.Factor)
}

// oracle scores the windows against what the link truly grants.
type oracle struct {
	mu      sync.Mutex
	mean    float64
	samples uint64
}

const (
	scoreEvery = 100 * time.Millisecond
	scoreOver  = 100 // samples
	scoreFlows = 64  // looked at, at most, at a time
)

func (o *oracle) add(err float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.samples++
	o.mean += (err - o.mean) / float64(min(o.samples, scoreOver))
}

func (o *oracle) read() (mean float64, samples uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mean, o.samples
}

// compare adds a sample for each link that flows of xlayer load.
func (p *Proxy) compare(ctx context.Context) error {
	every := time.NewTicker(scoreEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
		c := p.config.Load()
		if p.flows.len() == 0 || p.flows.len() > scoreFlows || !slices.Contains(c.controls(), "xlayer") {
			continue
		}
		p.score(c)
	}
}

// score compares, for the link of the wan leg, the sum of the windows with
// granted rate times RTT, in bytes of frames.
func (p *Proxy) score(c *Config) {
	told := p.feed.Now(congestion.Column(c.WAN.Link, p.way))
	gain := c.WAN.Gain
	if gain == 0 {
		gain = 1.25
	}
	if told.Carry > 0 && !told.Demand {
		gain *= 2 // cwnd.Follower
	}
	var sum, rtt float64
	flows := 0
	for _, s := range p.flows.list() {
		i := s.overLink()
		if i == nil || i.Snd_mss == 0 || i.Unacked <= 8 || i.Min_rtt == 0 {
			continue
		}
		flows++
		sum += float64(i.Snd_cwnd) * float64(i.Snd_mss+66) / gain
		rtt = float64(i.Min_rtt)/1e6 + told.Wait.Seconds()
	}
	if want := float64(told.Rate) / 8 * rtt; flows > 0 && told.At != 0 && want > 0 {
		p.oracle.add(math.Abs(sum-want) / want)
	}
}

// overLink is TCP_INFO of the leg that xlayer rules, nil if none is.
func (s *Split) overLink() *unix.TCPInfo {
	for _, l := range []struct {
		conn *net.TCPConn
		used string
	}{{s.relay.Client, s.clientCC}, {s.relay.Server, s.serverCC}} {
		if l.used == "xlayer" {
			return relay.Info(l.conn)
		}
	}
	return nil
}
