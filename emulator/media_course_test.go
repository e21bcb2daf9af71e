package emulator

import (
	"testing"

	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// trickle sends a packet each 20 ms for a time and returns the log.
func trickle(e *Emulator, w link.Way, length link.Duration) *linktest.Log {
	s := &wayStage{e, w}
	var packets []link.Packet
	for at := link.Time(0); at < link.Time(length); at = at.Add(20 * link.Millisecond) {
		packets = append(packets, link.Packet{When: at, Seq: uint64(len(packets)), Body: link.Body{Size: 200}})
	}
	return linktest.Drive(s, packets, linktest.EventByEvent(s), link.Time(length)+link.Time(20*link.Second))
}

// A handover in a cell interrupts both ways: what comes meanwhile waits until
// its end, 1.2 s, and nothing is lost.
func TestTimelineHandoverInCell(t *testing.T) {
	const doc = "[lte.harq]\nbler = -1.0\n[lte.access]\ngrants = \"prescheduled\"\n[[timeline]]\nat = \"1s\"\nhandover = \"200ms\"\n"
	for _, w := range link.Ways {
		log := trickle(one(t, parse(t, doc), 1), w, 2*link.Second)
		if n := len(log.Delivered()); n != 100 {
			t.Fatalf("%s: %d of 100 delivered", w, n)
		}
		linktest.Ordered(t, log)
		for _, p := range log.Delivered() {
			sent := link.Time(p.Seq) * link.Time(20*link.Millisecond)
			in := sent >= link.Time(link.Second) && sent < link.Time(1180*link.Millisecond)
			if end := link.Time(1200 * link.Millisecond); in && (p.When < end || p.When > end+link.Time(30*link.Millisecond)) || !in && p.When-sent > link.Time(40*link.Millisecond) {
				t.Errorf("%s: the packet of %v ms arrives at %v ms", w, sent/1000000, p.When/1000000)
			}
		}
	}
}

// A terminal that is logged off loses what comes; it logs on again.
func TestTimelineStation(t *testing.T) {
	const doc = "[dama.station]\ncra = \"256kbit/s\"\n[up.path]\ndelay = \"250ms\"\n" +
		"[[timeline]]\nat = \"4s\"\nstation = \"logoff\"\n[[timeline]]\nat = \"6s\"\nstation = \"logon\"\n"
	log := trickle(one(t, parse(t, doc), 1), link.Up, 12*link.Second)
	var first, last link.Time
	for _, f := range log.Fates {
		sent := link.Time(f.Packet.Seq) * link.Time(20*link.Millisecond)
		if f.Cause.Reason == link.NoStation {
			if first == 0 {
				first = sent
			}
			last = sent
		}
	}
	if first < link.Time(3900*link.Millisecond) || first > link.Time(4100*link.Millisecond) || last < link.Time(5900*link.Millisecond) || last > link.Time(9*link.Second) {
		t.Errorf("lost for want of a station from %v to %v ms, want from 4000 to somewhat behind 6000", first/1000000, last/1000000)
	}
}

// A fade of 8 dB, from 13 to 5, takes the terminal from waveform 22 to 16: 16
// slots of 599 bytes in 26.5 ms are 2893 kbit/s, of 298 bytes 1439; a packet
// of 1500 costs 1511 and 1517 of them, 1514 of Ethernet. One of 16 dB leaves
// nothing.
func TestTimelineFadesTerminal(t *testing.T) {
	const doc = "[dama]\nwaveform = 22\n[dama.station]\nvbdc_max = \"500kB\"\nes_n0_db = 13.0\n[up.path]\ndelay = \"250ms\"\n" +
		"[[timeline]]\nat = \"20s\"\nfor = \"20s\"\nfade_db = 8.0\n[[timeline]]\nat = \"50s\"\nfor = \"10s\"\nfade_db = 16.0\n"
	s := &wayStage{one(t, parse(t, doc), 1), link.Up}
	var packets []link.Packet
	for at := link.Time(0); at < link.Time(80*link.Second); at = at.Add(4 * link.Millisecond) {
		packets = append(packets, link.Packet{When: at, Seq: uint64(len(packets)), Body: link.Body{Size: 1514}})
	}
	log := linktest.Drive(s, packets, linktest.EventByEvent(s), link.Time(90*link.Second))
	for _, v := range []struct{ from, to, want float64 }{
		{5, 20, 2_899_000}, {22, 40, 1_436_000}, {42, 50, 2_899_000}, {51, 60, 0}, {63, 80, 2_899_000},
	} {
		bits := 0.0
		for _, p := range log.Delivered() {
			if at := p.When.Seconds(); at >= v.from && at < v.to {
				bits += 8 * float64(p.Size)
			}
		}
		if rate := bits / (v.to - v.from); rate < 0.98*v.want || rate > 1.02*v.want {
			t.Errorf("%v..%v s: %.0f bit/s, want %.0f ± 2 %%", v.from, v.to, rate, v.want)
		}
	}
}

// No kind of link allocates for a packet.
func TestNoAllocsOfMedia(t *testing.T) {
	for name, doc := range map[string]string{
		"cell":        "[lte]\nprb = 50\n",
		"return link": "[dama.station]\ncra = \"700kbit/s\"\n[up.path]\ndelay = \"250ms\"\n",
		"low orbit":   "[leo]\nup = \"20Mbit/s\"\nspread = 1.6\n",
		"carrier":     "[up.carrier]\nsymbol_rate = 10e6\n[up.carrier.downlink]\nes_n0 = 9.0\n[up.path]\ndelay = \"250ms\"\n",
		"wlan":        "[up.wlan]\nrate = \"20Mbit/s\"\ndistance_m = 80.0\n",
		"delivery":    "[up.delivery]\ntimes_ms = [1, 2, 3, 4]\n",
		"trace":       "[up.trace]\nend = \"loop\"\nperiod = \"2s\"\nstep = [{at = \"0\", rate = \"9Mbit/s\", delay = \"20ms\"}, {at = \"1s\", rate = \"5Mbit/s\", loss = 0.1}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			linktest.NoAllocs(t, &wayStage{one(t, parse(t, doc), 1), link.Up}, 13*link.Millisecond)
		})
	}
}

func FuzzArrive(f *testing.F) {
	f.Add(frametest.Of(frametest.VLAN5, frametest.Type4, frametest.IPv4(1, 17, 0, "10.0.0.1", "10.0.0.2", frametest.Ports...)), []byte(`{"rules":[{"vlan":"5","link":"main"},{"prefix":"10.0.0.0/8","link":"pass"}]}`))
	f.Add([]byte{}, []byte(`{"rules":[{"from":"a","mac":"02:00:00:00:00:0a","dscp":"46","protocol":"udp","port":"1-9","link":"main"}],"default":"pass"}`))
	p := parse(f, "[up.corrupt]\nprobability = 1.0\n[down.corrupt]\nprobability = 1.0")
	f.Fuzz(func(t *testing.T, frame, doc []byte) {
		spec, _ := ParseSpec(doc)
		spec.Links = []LinkSpec{{Name: "main", Profile: p}}
		e, err := New(spec)
		if err != nil || len(frame) > 9216 {
			return
		}
		for _, w := range link.Ways {
			var log linktest.Log
			e.Arrive(w, 5, 7, frame, &log)
			e.Run(w, 1e9, &log)
			if len(log.Fates) != 1 {
				t.Fatalf("%d fates of one frame", len(log.Fates))
			}
			e.Finish(log.Fates[0].Packet, w, frame)
		}
	})
}

// So it does on a 5G carrier and over low orbits: packets of the 200 ms wait,
// none is lost, and fates do not depend on the driver.
func TestHandoverElsewhere(t *testing.T) {
	for _, table := range []string{
		"[nr]\nprb = 50\n[nr.down]\nsinr = 20.0\n[nr.up]\nsinr = 20.0\n", "[leo]\ndown = \"20Mbit/s\"\nup = \"20Mbit/s\"\n",
	} {
		doc := table + "[down.queue]\nlimit = \"1MB\"\n[up.queue]\nlimit = \"1MB\"\n[[timeline]]\nat = \"1s\"\nhandover = \"200ms\"\n"
		for _, w := range link.Ways {
			arrivals := linktest.Arrivals(5, 400, 10*link.Millisecond)
			log := linktest.Independent(t, func() link.Stage {
				return &wayStage{one(t, parse(t, doc), 2), w}
			}, arrivals, link.Time(20*link.Second))
			linktest.Ordered(t, log)
			during := 0
			for _, p := range log.Delivered() {
				came := arrivals[p.Seq].When
				if came > link.Time(link.Second) && came < link.Time(1199*link.Millisecond) {
					during++
					if p.When < link.Time(1200*link.Millisecond) {
						t.Errorf("%s %s: what came at %v left at %v", table, w, came.Seconds(), p.When.Seconds())
					}
				}
			}
			if during == 0 || len(log.Delivered()) != 400 {
				t.Errorf("%s %s: %d came during it, %d delivered", table, w, during, len(log.Delivered()))
			}
		}
	}
}

// Timelines over media: fates do not depend on when the driver looks, and no
// packet is unaccounted for.
func TestTimelineIndependentOverMedia(t *testing.T) {
	for name, doc := range map[string]string{
		"carrier":     "[up.carrier]\nsymbol_rate = 2e6\n[up.carrier.downlink]\nes_n0 = 10.0\n[up.path]\ndelay = \"250ms\"\n[[timeline]]\nat = \"300ms\"\nfor = \"1s\"\nramp = \"400ms\"\nfade_db = 12.0\n",
		"low orbit":   "[leo]\nup = \"10Mbit/s\"\n[[timeline]]\nat = \"500ms\"\nevery = \"300ms\"\nrepeat = 3\nhandover = \"100ms\"\n",
		"return link": "[dama.station]\ncra = \"900kbit/s\"\n[up.path]\ndelay = \"250ms\"\n[[timeline]]\nat = \"400ms\"\nstation = \"logoff\"\n[[timeline]]\nat = \"700ms\"\nstation = \"logon\"\n",
		"cell":        "[lte]\nprb = 25\n[lte.harq]\nbler = 0.1\n[[timeline]]\nat = \"400ms\"\nhandover = \"150ms\"\n[[timeline]]\nat = \"800ms\"\nset = {\"up.path.delay\" = \"20ms\"}\n",
		"stages": "[up.queue]\nrate = \"8Mbit/s\"\n[up.loss.gilbert]\nloss = 0.05\nburst = 3.0\n[up.path]\ndelay = \"20ms\"\n[up.path.jitter]\ndistribution = \"uniform\"\nspread = \"2ms\"\nhalf_life = \"50ms\"\n" +
			"[up.reorder]\nprobability = 0.05\ndelay = \"5ms\"\n[[timeline]]\nat = \"200ms\"\nevery = \"100ms\"\nfor = \"50ms\"\nset = {\"up.path.jitter.spread\" = \"1ms\", \"up.reorder.probability\" = 0.5, \"up.duplicate.probability\" = 0.2, \"up.loss.gilbert.burst\" = 9.0}\n",
	} {
		t.Run(name, func(t *testing.T) {
			linktest.Independent(t, func() link.Stage {
				return &wayStage{one(t, parse(t, doc), 3), link.Up}
			}, linktest.Arrivals(8, 800, 2*link.Millisecond), link.Time(60*link.Second))
		})
	}
}
