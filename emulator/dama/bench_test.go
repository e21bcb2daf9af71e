package dama

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// BenchmarkPacket is one frame of 1000 bytes through a station that is busy
// all the time, 8 Mbit/s on waveform 14: six bursts a packet.
func BenchmarkPacket(b *testing.B) {
	for _, v := range []struct {
		name string
		s    StationConfig
	}{
		{"cra", StationConfig{CRA: 10 * link.MegabitPerSecond}},
		{"rbdc", StationConfig{RBDC: 10 * link.MegabitPerSecond, Agent: "predict", Window: 4}},
		{"vbdc", StationConfig{VBDC: 10_000_000}},
	} {
		b.Run(v.name, func(b *testing.B) {
			_, s := alone(b, Config{SymbolRate: 12_000_000, Station: v.s})
			linktest.Benchmark(b, s, link.Millisecond)
		})
	}
}

// crowd is a carrier of 256 terminals, with random access, that is nearly
// full.
func crowd() Config {
	return Config{
		Carriers: 40, Sharing: "fair", FCA: 1, Access: Access{Slots: 100, Copies: 2, Window: 64},
		Station: StationConfig{RBDC: 300 * link.KilobitPerSecond, VBDC: 100_000, FCA: true, Piggy: true, Period: 38},
		Background: []Background{
			{Count: 100, Traffic: "on_off", Rate: 256 * link.KilobitPerSecond},
			{Count: 100, Traffic: "self_similar", Rate: 256 * link.KilobitPerSecond},
			{Count: 55, Traffic: "poisson", Rate: 64 * link.KilobitPerSecond},
		},
	}
}

// BenchmarkCarrier is a second of the crowd with nothing in the real
// station; x_realtime tells how much faster than real that is.
func BenchmarkCarrier(b *testing.B) {
	_, s := alone(b, crowd())
	var log linktest.Log
	now := link.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(link.Second)
		s.Run(now, &log)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "x_realtime")
}

// BenchmarkStations is a second of 256 real stations, each with a packet of
// 576 bytes every 50 ms.
func BenchmarkStations(b *testing.B) {
	cfg := crowd()
	cfg.Background = nil
	c, s := alone(b, cfg)
	m := &team{stations: []*Station{s}}
	for range 255 {
		m.stations = append(m.stations, c.Station(cfg.Station, link.NewDraw(1, "more")))
	}
	p := link.Packet{Body: link.Body{Size: 576}}
	var sink sinkhole
	b.ReportAllocs()
	for b.Loop() {
		for end := p.When.Add(link.Second); p.When < end; p.When = p.When.Add(50 * link.Millisecond / 256) {
			m.Put(p, &sink)
			p.Seq++
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "x_realtime")
}

type sinkhole struct{ n int }

func (s *sinkhole) Deliver(link.Packet)          { s.n++ }
func (s *sinkhole) Lose(link.Packet, link.Cause) { s.n++ }
func (s *sinkhole) Copy(link.Packet)             {}

// BenchmarkIdle is an hour of a quiet carrier.
func BenchmarkIdle(b *testing.B) {
	_, s := alone(b, Config{Station: StationConfig{CRA: 100_000, VBDC: 100_000}})
	var sink sinkhole
	now := link.Time(0)
	for b.Loop() {
		now = now.Add(3600 * link.Second)
		s.Run(now, &sink)
	}
}
