package dama

import (
	"strconv"

	"farlink/emulator/dama/burst"
	"farlink/emulator/dama/ncc"
	"farlink/emulator/link"
)

// bound is a setting with a range.
type bound struct {
	path           string
	value, lo, hi  float64
	show, from, to string
}

func whole(path string, value, lo, hi int) bound {
	return bound{path, float64(value), float64(lo), float64(hi), strconv.Itoa(value), strconv.Itoa(lo), strconv.Itoa(hi)}
}

func length(path string, value, lo, hi link.Duration) bound {
	return bound{path, float64(value), float64(lo), float64(hi), value.String(), lo.String(), hi.String()}
}

func number(path string, value, lo, hi float64) bound {
	f := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return bound{path, value, lo, hi, f(value), f(lo), f(hi)}
}

// within reports the settings out of range and returns whether there are none.
func within(report link.Report, bounds ...bound) bool {
	good := true
	for _, b := range bounds {
		if !(b.value >= b.lo && b.value <= b.hi) {
			report(b.path, b.show, b.from+".."+b.to)
			good = false
		}
	}
	return good
}

// Check reports all that is wrong with c.
func (c Config) Check(report link.Report) {
	c = c.Complete()
	if c.Standard != "rcs" && c.Standard != "rcs2" {
		report("standard", c.Standard, `"rcs2" or "rcs"`)
		return
	}
	good := within(report,
		length("superframe", c.Superframe, 5*link.Millisecond, link.Second),
		whole("frames", c.Frames, 1, 32), whole("carriers", c.Carriers, 1, 256),
		whole("symbol_rate_bd", c.SymbolRate, 10_000, 100_000_000),
		length("hop", c.Hop, 0, 2*link.Second), whole("processing", c.Processing, 0, 100),
		whole("fca_slots", c.FCA, 0, 1<<20), whole("rbdc_timeout", c.RBDCTimeout, 1, 1000),
		whole("vbdc_timeout", c.Persistence, 0, 1000))
	if c.Sharing != "proportional" && c.Sharing != "fair" {
		report("sharing", c.Sharing, `"proportional" or "fair"`)
	}
	if _, ok := ncc.Code(c.Coding); !ok {
		report("coding", c.Coding, `"rcs2", "rcs" or "exact"`)
	}
	c.Access.check(report.Under("random_access"))
	c.Logon.check(report.Under("logon"))
	if c.checkBurst(report) && good {
		c.checkSlots(report)
	}
}

// checkBurst checks what a burst is and what it carries.
func (c *Config) checkBurst(report link.Report) bool {
	e, ok := burst.Encapsulate(c.Encapsulation)
	cell, _ := e.Cell()
	rcs := c.Standard == "rcs"
	if !ok || rcs != (cell != 0) {
		want := `"rle", "rle-crc", "rle-suppressed", "gse", "gse-label3" or "gse-label6"`
		if rcs {
			want = `"aal5", "aal5-snap", "mpe", "mpe-packed" or "ule"`
		}
		report("encapsulation", c.Encapsulation, want)
		return false
	}
	if !rcs {
		if c.CodeRate != "" || c.Units != 0 || c.Overhead != 0 {
			report("code_rate", c.CodeRate, `standard = "rcs" beside code_rate, burst_units and burst_overhead; DVB-RCS2 has waveform`)
		}
		return within(report, whole("waveform", c.Waveform, 3, 22))
	}
	if c.Waveform != 0 {
		report("waveform", strconv.Itoa(c.Waveform), `standard = "rcs2"; DVB-RCS has code_rate`)
	}
	if _, ok := burst.Turbo(c.CodeRate, cell, 1, 0); !ok {
		report("code_rate", c.CodeRate, `"1/3", "2/5", "1/2", "2/3", "3/4", "4/5" or "6/7"`)
		return false
	}
	return within(report, whole("burst_units", c.Units, 1, 100), whole("burst_overhead", c.Overhead, 0, 10000))
}

// checkSlots checks what depends on the layout of the superframe: that there
// are slots, and enough for what is promised.
func (c *Config) checkSlots(report link.Report) {
	w, _ := c.waveform()
	e, _ := burst.Encapsulate(c.Encapsulation)
	g := burst.NewGrid(c.Superframe, c.Frames, c.Carriers, c.SymbolRate, w.Symbols)
	if g.Total() == 0 {
		report("symbol_rate_bd", strconv.Itoa(c.SymbolRate), "a burst of "+strconv.Itoa(w.Symbols)+" symbols to fit a frame of "+
			(c.Superframe/link.Duration(c.Frames)).String())
		return
	}
	room := e.Room(w.Payload)
	slot := link.Rate(muldiv(int64(room), 8e9, int64(c.Superframe)))
	whole := slot * link.Rate(g.Total())
	c.Station.check(c, w, slot*link.Rate(g.Limit()), report.Under("station"))
	promised, terminals := c.Station.CRA, 1
	for i := range c.Background {
		b := &c.Background[i]
		at := report.Under("background[" + strconv.Itoa(i) + "]")
		b.check(at)
		b.Station.check(c, w, slot*link.Rate(g.Limit()), at.Under("station"))
		promised += link.Rate(b.Count) * b.Station.CRA
		terminals += b.Count
	}
	if promised > whole {
		report("station.cra", c.Station.CRA.String(), "all terminals' constant rates ("+promised.String()+") within the carrier's "+whole.String())
	}
	if terminals > 4096 {
		report("background", strconv.Itoa(terminals), "at most 4096 terminals")
	}
}

func (a Access) check(report link.Report) {
	within(report, whole("slots", a.Slots, 0, 4096), whole("copies", a.Copies, 1, 4),
		number("load", a.Load, 0, 2), whole("data", a.Data, 0, 15), whole("window", a.Window, 1, 65535))
	if a.Slots == 0 && (a.Data > 0 || a.Load > 0) {
		report("slots", "0", "slots, for the data or load in them")
	}
	if a.Slots > 0 && a.Slots < a.Copies {
		report("slots", strconv.Itoa(a.Slots), "as many slots as copies, "+strconv.Itoa(a.Copies))
	}
}

func (l Logon) check(report link.Report) {
	within(report, whole("slots", l.Slots, 1, 4096), length("wait", l.Wait, link.Millisecond, 60*link.Second),
		length("window", l.Window, 0, 600*link.Second))
}

// check reports what is wrong with a station on a carrier where one terminal
// can have the rate most.
func (s StationConfig) check(c *Config, w burst.Waveform, most link.Rate, report link.Report) {
	within(report, whole("weight", s.Weight, 1, 1000), whole("horizon", s.Horizon, 0, 10000),
		whole("window", s.Window, 1, maxWindow), whole("period", s.Period, 0, 1000), number("es_n0_db", s.EsN0, -20, 40))
	if _, ok := AgentOf(s.Agent); !ok {
		report("agent", s.Agent, `"follow", "conserve" or "predict"`)
	}
	if s.CRA > most {
		report("cra", s.CRA.String(), "at most "+most.String()+", all slots of one carrier")
	}
	if s.RBDC > most {
		report("rbdc_max", s.RBDC.String(), "at most "+most.String()+", all slots of one carrier")
	}
	if s.CRA == 0 && s.RBDC == 0 && s.VBDC == 0 && !s.FCA && c.Access.Data == 0 {
		report("cra", "none", "a capacity: cra, rbdc_max, vbdc_max, fca, or random_access.data")
	}
	if s.FCA && c.FCA == 0 {
		report("fca", "true", "fca_slots of the carrier")
	}
	if s.Period == 0 && s.CRA == 0 && !s.FCA && c.Access.Slots == 0 {
		report("piggyback", "true", "a first slot to ride in: cra, fca, period, or random_access.slots")
	}
	if s.RBDC > 0 && s.Period >= c.RBDCTimeout {
		report("period", strconv.Itoa(s.Period), "less than rbdc_timeout ("+strconv.Itoa(c.RBDCTimeout)+"), or the rate expires between two requests")
	}
	if s.VBDC > 0 && c.Persistence > 0 && s.Period >= c.Persistence {
		report("period", strconv.Itoa(s.Period), "less than vbdc_timeout ("+strconv.Itoa(c.Persistence)+"), or the volume is forgotten between two requests")
	}
	if _, ok := burst.Best(w.Symbols, s.EsN0); s.EsN0 != 0 && (!ok || c.Standard == "rcs") {
		report("es_n0_db", strconv.FormatFloat(s.EsN0, 'g', -1, 64), "what a waveform of "+strconv.Itoa(w.Symbols)+" symbols bears (rcs2)")
	}
	switch s.Logon {
	case "on", "begin", "traffic":
	default:
		report("logon", s.Logon, `"on", "begin" or "traffic"`)
	}
	if s.Leave > 0 && s.Logon != "traffic" {
		report("leave", s.Leave.String(), `logon = "traffic"`)
	}
	s.checkQueue(report.Under("queue"))
}

func (s StationConfig) checkQueue(report link.Report) {
	q := s.Queue
	if q.Rate != 0 {
		report("rate", q.Rate.String(), "no rate: the grants are it")
	}
	q.Rate = link.MegabitPerSecond
	q.Check(report)
}
