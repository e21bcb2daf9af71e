package dama

import (
	"math"
	"testing"

	"farlink/emulator/dama/ncc"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

const superframe = 26500 * link.Microsecond

// alone returns a carrier and its one station.
func alone(t testing.TB, cfg Config) (*Carrier, *Station) {
	t.Helper()
	c, err := NewCarrier(cfg, link.NewDraw(1, "carrier"))
	if err != nil {
		t.Fatal(err)
	}
	return c, c.Station(cfg.Station, link.NewDraw(1, "station"))
}

// team drives several stations of a carrier as one stage: packets go to them
// in turn, and they are run in a given order.
type team struct {
	stations []*Station
	backward bool
}

func (m *team) Put(p link.Packet, out link.Sink) {
	m.stations[p.Seq%uint64(len(m.stations))].Put(p, out)
}

func (m *team) Next() link.Time {
	next := link.Never
	for _, s := range m.stations {
		next = min(next, s.Next())
	}
	return next
}

func (m *team) Run(now link.Time, out link.Sink) {
	for i := range m.stations {
		if m.backward {
			i = len(m.stations) - 1 - i
		}
		m.stations[i].Run(now, out)
	}
}

func (m *team) Held() (packets, bytes int) {
	for _, s := range m.stations {
		n, b := s.Held()
		packets, bytes = packets+n, bytes+b
	}
	return packets, bytes
}

// cases are configurations that between them use all of the model.
var cases = map[string]Config{
	"cra":      {Station: StationConfig{CRA: 512 * link.KilobitPerSecond}},
	"follow":   {Station: StationConfig{RBDC: 800 * link.KilobitPerSecond, Window: 8}},
	"conserve": {Station: StationConfig{CRA: 32 * link.KilobitPerSecond, RBDC: 800 * link.KilobitPerSecond, Agent: "conserve", Piggy: true, Period: 4}},
	"predict":  {SymbolRate: 4_000_000, Frames: 2, Superframe: 53 * link.Millisecond, Station: StationConfig{RBDC: 2 * link.MegabitPerSecond, Agent: "predict"}},
	"vbdc":     {Carriers: 3, Station: StationConfig{VBDC: 100_000}},
	"fca":      {FCA: 4, Station: StationConfig{FCA: true, Period: 8, VBDC: 20_000}},
	"rcs atm":  {Standard: "rcs", Station: StationConfig{RBDC: 400 * link.KilobitPerSecond, VBDC: 50_000}},
	"rcs ule":  {Standard: "rcs", Encapsulation: "ule", Station: StationConfig{VBDC: 50_000}},
	"crdsa": {Access: Access{Slots: 20, Copies: 2, Load: 0.4, Data: 3, Window: 8},
		Station: StationConfig{VBDC: 60_000, Piggy: true}},
	"logon": {Station: StationConfig{VBDC: 60_000, Logon: "traffic", Leave: 2 * link.Second}},
	"crowd": {Carriers: 2, Sharing: "fair", FCA: 2, Station: StationConfig{RBDC: 500 * link.KilobitPerSecond, VBDC: 50_000, Weight: 2}, Background: []Background{
		{Count: 5, Traffic: "on_off", Rate: 200 * link.KilobitPerSecond},
		{Count: 5, Traffic: "poisson", Rate: 50 * link.KilobitPerSecond, Station: StationConfig{VBDC: 50_000, Logon: "begin"}},
		{Count: 3, Traffic: "self_similar", Rate: 200 * link.KilobitPerSecond},
		{Count: 1, Traffic: "replay", Replay: []link.Rate{0, 1_000_000}, Step: 300 * link.Millisecond},
	}},
}

func TestIndependent(t *testing.T) {
	for name, cfg := range cases {
		t.Run(name, func(t *testing.T) {
			arrivals := linktest.Arrivals(3, 1500, 14*link.Millisecond)
			build := func() link.Stage { _, s := alone(t, cfg); return s }
			log := linktest.Independent(t, build, arrivals, link.Time(200*link.Second))
			linktest.Ordered(t, log)
			if n := len(log.Delivered()); n < 200 {
				t.Errorf("%d of %d packets delivered", n, len(arrivals))
			}
		})
	}
}

// Three stations that contend meet the same fates in whatever order they are
// run, however often.
func TestIndependentTeam(t *testing.T) {
	for name, cfg := range cases {
		t.Run(name, func(t *testing.T) {
			arrivals := linktest.Arrivals(4, 1500, 8*link.Millisecond)
			build := func(backward bool) func() link.Stage {
				return func() link.Stage {
					c, s := alone(t, cfg)
					m := &team{stations: []*Station{s}, backward: backward}
					for i := range 2 {
						m.stations = append(m.stations, c.Station(cfg.Station, link.NewDraw(uint64(i), "more")))
					}
					return m
				}
			}
			a := linktest.Independent(t, build(false), arrivals, link.Time(200*link.Second))
			b := linktest.Independent(t, build(true), arrivals, link.Time(200*link.Second))
			if a.Digest() != b.Digest() {
				t.Error("fates depend on the order in which stations are run")
			}
		})
	}
}

func TestNoAllocs(t *testing.T) {
	for name, cfg := range cases {
		t.Run(name, func(t *testing.T) {
			_, s := alone(t, cfg)
			linktest.NoAllocs(t, s, 14*link.Millisecond)
		})
	}
}

// delays sends packets of size bytes at a constant bit rate for so long and
// returns the mean delay of those that arrive from begin on.
func delays(t *testing.T, cfg Config, rate link.Rate, size int, end, begin link.Time) link.Duration {
	_, s := alone(t, cfg)
	var in []link.Packet
	gap := rate.Time(size)
	arrived := map[uint64]link.Time{}
	for at := link.Time(0); at < end; at = at.Add(gap) {
		p := link.Packet{When: at, Seq: uint64(len(in)), Body: link.Body{Size: uint16(size)}}
		arrived[p.Seq] = at
		in = append(in, p)
	}
	log := linktest.Drive(s, in, linktest.EventByEvent(s), end)
	var sum link.Duration
	n := 0
	for _, p := range log.Delivered() {
		if at := arrived[p.Seq]; at >= begin {
			sum += p.When.Sub(at)
			n++
		}
	}
	if n == 0 {
		t.Fatal("nothing delivered")
	}
	return sum / link.Duration(n)
}

// The worked example with packets: 184 bytes of IP are 188 with RLE, one
// burst of waveform 14, so that 512 kbit/s on the air are 198/188 of it in
// Ethernet frames. A carrier of 20 MBd keeps the bursts at the beginning of
// the superframe, as the fluid reckons: some 10 of 327 slots, under 1 ms. The
// hop of the data, 250 ms, is not in the stage.
func TestWorkedExamplePackets(t *testing.T) {
	for _, v := range []struct {
		name string
		s    StationConfig
		want float64 // ms, one way
	}{
		{"cra", StationConfig{CRA: 520 * link.KilobitPerSecond}, 263.25},
		{"follow", StationConfig{RBDC: 4 * link.MegabitPerSecond, Window: 1}, 872.75},
		{"vbdc", StationConfig{VBDC: 1_000_000}, 872.75},
		{"conserve", StationConfig{RBDC: 4 * link.MegabitPerSecond, Agent: "conserve", Window: 1}, 846.25},
		{"predict", StationConfig{RBDC: 4 * link.MegabitPerSecond, Agent: "predict", Window: 4}, 263.25},
	} {
		cfg := Config{Processing: 2, SymbolRate: 20_000_000, Coding: "exact", Station: v.s}
		rate := link.Rate(512_000 * 198 / 188)
		got := 250 + delays(t, cfg, rate, 198, link.Time(20*link.Second), link.Time(8*link.Second)).Milliseconds()
		if math.Abs(got-v.want) > 4 {
			t.Errorf("%s: %.1f ms one way, want %.1f ± 4", v.name, got, v.want)
		}
	}
}

// An isolated packet of an empty terminal: F/2 on average to the next
// superframe, then N superframes (the reference sheet, 2.5). One that comes 10 ms into
// superframe 100 is asked for in 101 and leaves in 101+21.
func TestIsolatedPacket(t *testing.T) {
	_, s := alone(t, Config{Station: StationConfig{VBDC: 100_000}})
	at := link.Time(100 * superframe).Add(10 * link.Millisecond)
	log := linktest.Drive(s, []link.Packet{{When: at, Body: link.Body{Size: 60}}}, linktest.Every(link.Second), link.Time(10*link.Second))
	want := link.Time(122 * superframe).Add(1616 * link.Microsecond)
	if got := log.Delivered()[0].When; got != want {
		t.Errorf("left at %d, want %d: the end of the first slot of superframe 122", got, want)
	}
}

// ask logs what a station asks for and gets in VBDC. Carried without loss,
// what is granted never exceeds what has arrived by more than the roundings
// of the requests, and in the end all has been granted.
func TestVBDCConserved(t *testing.T) {
	for _, coding := range []string{"exact", "rcs"} {
		for _, piggy := range []bool{false, true} {
			// ULE packs without headers per fragment: what a packet
			// costs does not depend on where its bursts begin.
			cfg := Config{Standard: "rcs", Encapsulation: "ule", Coding: coding, Station: StationConfig{VBDC: 1 << 30, Piggy: piggy, Period: 5}}
			c, s := alone(t, cfg)
			log := &linktest.Log{}
			var arrived, granted, asked int64
			before := int64(0)
			arrivals := linktest.Arrivals(9, 2000, 10*link.Millisecond)
			for i, k := 0, 0; k < 4000; k++ {
				end := c.next
				for ; i < len(arrivals) && arrivals[i].When < end; i++ {
					s.Put(arrivals[i], log)
					arrived += s.cost(arrivals[i].Size)
				}
				row := c.grants[c.tick%uint64(len(c.grants))][0]
				s.Run(end, log)
				granted += row.Volume
				asked += s.terminal().asked - before + row.Volume
				before = s.terminal().asked
				if coding == "exact" && (asked > arrived || granted > asked) {
					t.Fatalf("superframe %d: %d arrived, %d asked, %d granted", k, arrived, asked, granted)
				}
				if _, outstanding := c.ncc.Outstanding(0); outstanding < 0 || outstanding > s.terminal().asked {
					t.Fatalf("superframe %d: %d outstanding at the NCC, %d by the terminal's book", k, outstanding, s.terminal().asked)
				}
			}
			if s.terminal().backlog != 0 || s.terminal().asked != 0 || len(log.Delivered()) != len(arrivals) {
				t.Errorf("%s: backlog %d, asked %d, %d of %d delivered", coding, s.terminal().backlog, s.terminal().asked, len(log.Delivered()), len(arrivals))
			}
			if waste := float64(granted-arrived) / float64(arrived); waste > 0.1 {
				t.Errorf("%s: %d granted for %d arrived", coding, granted, arrived)
			}
		}
	}
}

// The terminal's book and the NCC's agree at all times: what was asked and not
// granted is outstanding at the NCC, or under way to it, or as a grant under
// way back. Here with volumes that the NCC would forget, and a sender that
// pauses for long.
func TestVolumesAgree(t *testing.T) {
	cfg := Config{Persistence: 7, Station: StationConfig{CRA: 100_000, RBDC: 300_000, VBDC: 200_000, Agent: "conserve", Piggy: true}}
	c, s := alone(t, cfg)
	d := link.NewDraw(8, "pauses")
	at, sent := link.Time(0), uint64(0)
	for k := range 3000 {
		for ; at < c.next; sent++ {
			s.Put(link.Packet{When: at, Body: link.Body{Size: 1400}}, &sinkhole{})
			at = at.Add(8 * link.Millisecond)
			if d.Chance(sent, 0.01) {
				at = at.Add(700 * link.Millisecond)
			}
		}
		c.step()
		_, outstanding := c.ncc.Outstanding(0)
		for _, box := range c.inbox {
			for _, l := range box {
				if l.Category == ncc.VBDC {
					outstanding += l.Value
				}
			}
		}
		for i := range c.table {
			outstanding += c.grants[(c.tick+uint64(i))%uint64(len(c.grants))][0].Volume
		}
		if outstanding != s.terminal().asked {
			t.Fatalf("superframe %d: %d by the terminal's book, %d by the NCC's", k, s.terminal().asked, outstanding)
		}
	}
}

// Two saturated stations share by weight, whichever category they ask in.
func TestStationsShareByWeight(t *testing.T) {
	for _, v := range []struct {
		sharing string
		s       StationConfig
	}{
		{"proportional", StationConfig{RBDC: 700 * link.KilobitPerSecond}},
		{"fair", StationConfig{RBDC: 700 * link.KilobitPerSecond}},
		{"fair", StationConfig{VBDC: 500_000}},
	} {
		heavy := v.s
		heavy.Weight = 3
		c, s1 := alone(t, Config{Sharing: v.sharing, Station: heavy})
		s2 := c.Station(v.s, link.NewDraw(2, "station"))
		got := [2]int{}
		log := [2]*linktest.Log{{}, {}}
		for at := link.Time(0); at < link.Time(60*link.Second); at = at.Add(8 * link.Millisecond) {
			for i, s := range []*Station{s1, s2} {
				s.Put(link.Packet{When: at, Body: link.Body{Size: 1000}}, log[i])
			}
		}
		for i := range log {
			for _, p := range log[i].Delivered() {
				if p.When > link.Time(10*link.Second) {
					got[i] += int(p.Size)
				}
			}
		}
		if share := float64(got[0]) / float64(got[0]+got[1]); math.Abs(share-0.75) > 0.01 {
			t.Errorf("%s %v: share of weight 3:1 is %.3f, want 0.75", v.sharing, v.s, share)
		}
	}
}

// A station that logs on by its first packet: CSC burst, response N later,
// request, N more; then packets flow.
func TestLogonByTraffic(t *testing.T) {
	_, s := alone(t, Config{Station: StationConfig{VBDC: 100_000, Logon: "traffic"}})
	log := linktest.Drive(s, []link.Packet{{Body: link.Body{Size: 60}}}, linktest.Every(link.Second), link.Time(10*link.Second))
	// At 0 superframe 0 begins before the packet comes: CSC in 1, logged on
	// at 1+21, asked at once, leaves in 22+21.
	want := link.Time(43 * superframe).Add(1616 * link.Microsecond)
	if got := log.Delivered()[0].When; got != want {
		t.Errorf("left at %v, want %v", got, want)
	}
	s.Logoff(link.Time(10 * link.Second))
	if s.terminal().state != off {
		t.Error("still logged on")
	}
}

func TestLoggedOffLoses(t *testing.T) {
	_, s := alone(t, Config{Station: StationConfig{CRA: 100_000}})
	log := &linktest.Log{}
	s.Logoff(0)
	s.Put(link.Packet{When: 5, Body: link.Body{Size: 60}}, log)
	if log.Lost(link.NoStation) != 1 {
		t.Errorf("fates %+v, want one loss for no_station", log.Fates)
	}
	s.Logon(link.Time(link.Second))
	s.Put(link.Packet{When: link.Time(link.Second) + 1, Body: link.Body{Size: 60}}, log)
	s.Run(link.Time(10*link.Second), log)
	if len(log.Delivered()) != 1 {
		t.Errorf("fates %+v, want one delivery after logon", log.Fates)
	}
}

// Capacity tells the rate now and, once the table is there, the next.
func TestCapacity(t *testing.T) {
	_, s := alone(t, Config{Station: StationConfig{VBDC: 100_000}})
	s.Put(link.Packet{When: 1, Body: link.Body{Size: 1514}}, &linktest.Log{})
	c := s.Capacity(link.Time(21*superframe) + link.Time(20*link.Millisecond))
	if c.Rate != 0 || c.NextAt != link.Time(22*superframe) || c.Queue != 1514 || c.Mode != "14 QPSK 1/2" {
		t.Errorf("before the grant: %+v", c)
	}
	// Nine slots of 188 bytes: 1692·8/26.5 ms = 510.79 kbit/s of payload, of
	// which 1514 in 1523 are Ethernet.
	if want := link.Rate(510_792 * 1514 / 1523); c.NextRate < want-2 || c.NextRate > want+2 {
		t.Errorf("next rate %v, want %v", c.NextRate, want)
	}
	after := s.Capacity(c.NextAt)
	if after.Rate != c.NextRate || after.Version <= c.Version {
		t.Errorf("in the grant: %+v, before %+v", after, c)
	}
}

// Fading from waveform 22 to 13 takes the rate from 599 to 123 bytes a slot.
func TestFade(t *testing.T) {
	_, s := alone(t, Config{Station: StationConfig{RBDC: 300_000, CRA: 300_000, EsN0: 15}})
	before := s.Capacity(link.Time(link.Second))
	s.Fade(link.Time(link.Second)+1, 0)
	if w := s.Capacity(link.Time(2 * link.Second)); before.Mode != "22 16QAM 5/6" || w.Mode != "13 QPSK 1/3" {
		t.Errorf("modes %q and %q", before.Mode, w.Mode)
	}
	// At -2 dB none is left: the packet waits until it has cleared up.
	log := &linktest.Log{}
	s.Fade(link.Time(3*link.Second), -2)
	s.Put(link.Packet{When: link.Time(4 * link.Second), Body: link.Body{Size: 100}}, log)
	s.Run(link.Time(8*link.Second), log)
	s.Fade(link.Time(8*link.Second), 5)
	s.Run(link.Time(9*link.Second), log)
	if d := log.Delivered(); len(d) != 1 || d[0].When < link.Time(8*link.Second) {
		t.Errorf("through a fade too deep: %+v, want one delivery after 8 s", log.Fates)
	}
}
