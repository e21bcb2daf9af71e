package dama

import (
	"testing"

	"farlink/emulator/dama/traffic"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// pick chooses among what may stand in a configuration.
type pick struct {
	d link.Draw
	n uint64
}

func (p *pick) upTo(n int) int { p.n++; return int(p.d.Uint64(p.n) % uint64(n)) }
func (p *pick) often() bool    { return p.upTo(3) > 0 }

func choose[T any](p *pick, from ...T) T { return from[p.upTo(len(from))] }

func (p *pick) station() StationConfig {
	s := StationConfig{
		Weight: 1 + p.upTo(4), Agent: choose(p, "follow", "conserve", "predict"), Horizon: p.upTo(60),
		Window: 1 + p.upTo(20), Period: p.upTo(5), Piggy: p.often(), Logon: choose(p, "on", "on", "begin", "traffic"),
	}
	if p.often() {
		s.RBDC = link.Rate(10_000 + p.upTo(300_000))
	}
	if p.often() {
		s.CRA = link.Rate(1000 + p.upTo(30_000))
	}
	if s.CRA+s.RBDC == 0 || p.often() {
		s.VBDC = link.Size(2000 + p.upTo(200_000))
	}
	if s.Logon == "traffic" {
		s.Leave = link.Duration(p.upTo(3)) * link.Second
	}
	s.Queue.Discipline = choose(p, "droptail", "droptail", "drophead", "red", "codel", "pie")
	s.Queue.Limit.Bytes = link.Size(3000 + p.upTo(100_000))
	return s
}

func (p *pick) config() Config {
	c := Config{
		Superframe: link.Duration(20+p.upTo(80)) * link.Millisecond, Frames: 1 + p.upTo(4), Carriers: 1 + p.upTo(6),
		SymbolRate: 500_000 + p.upTo(3_000_000), Hop: link.Duration(p.upTo(400)) * link.Millisecond, Processing: p.upTo(4),
		Sharing: choose(p, "proportional", "fair"), FCA: p.upTo(3), Persistence: choose(p, 0, 8), Coding: choose(p, "", "exact"),
		Station: p.station(),
	}
	if p.often() {
		c.Waveform = 3 + p.upTo(20)
		c.Encapsulation = choose(p, "", "rle-crc", "gse", "gse-label6")
	} else {
		c.Standard, c.Encapsulation = "rcs", choose(p, "", "aal5-snap", "mpe", "mpe-packed", "ule")
		c.CodeRate = choose(p, "", "1/3", "6/7")
	}
	if p.often() {
		c.Access = Access{Slots: 5 + p.upTo(40), Copies: 1 + p.upTo(4), Load: float64(p.upTo(10)) / 10, Data: p.upTo(6), Window: 1 + p.upTo(60)}
	}
	for range p.upTo(3) {
		b := Background{Count: 1 + p.upTo(6), Traffic: choose(p, traffic.Kinds()...), Rate: link.Rate(1000 + p.upTo(200_000)), Replay: []link.Rate{50_000, 0}}
		if p.often() {
			b.Station = p.station()
		}
		c.Background = append(c.Background, b)
	}
	return c
}

// Whatever the configuration: either Check finds fault with it, or fates do
// not depend on the driver, nothing is lost unaccounted, and order is kept.
func TestAnyConfiguration(t *testing.T) {
	p, good := &pick{d: link.NewDraw(2026, "configurations")}, 0
	for i := 0; good < 60; i++ {
		if i == 400 {
			t.Fatalf("%d good configurations among %d", good, i)
		}
		cfg := p.config()
		if len(problems(cfg)) > 0 {
			continue
		}
		good++
		arrivals := linktest.Arrivals(uint64(i), 400, link.Duration(1+p.upTo(40))*link.Millisecond)
		build := func() link.Stage {
			c, s := alone(t, cfg)
			return &team{stations: []*Station{s, c.Station(cfg.Station, link.NewDraw(2, "second"))}}
		}
		log := linktest.Independent(t, build, arrivals, link.Time(90*link.Second))
		if t.Failed() {
			t.Fatalf("configuration %d: %+v", i, cfg)
		}
		if len(log.Delivered()) == 0 {
			t.Errorf("configuration %d delivers nothing: %+v", i, cfg)
		}
		one := func() link.Stage { _, s := alone(t, cfg); return s }
		linktest.Ordered(t, linktest.Drive(one(), arrivals, linktest.Every(50*link.Millisecond), link.Time(90*link.Second)))
	}
}
