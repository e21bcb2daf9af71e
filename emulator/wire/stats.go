package wire

import (
	"bytes"
	"fmt"
	"runtime"

	"farlink/emulator/ledger"
	"farlink/emulator/link"
)

// Stats is the state of an engine at an instant.
type Stats struct {
	Runs    uint64    // runs begun by this engine
	Now     link.Time // time of the run
	Ways    [2]Way
	Verdict ledger.Verdict // the worse of the ways'
	Reason  string         // of the verdict; "" when valid

	// NotEffective says which way does not do what its emulator promises;
	// "" when both do.
	NotEffective string
}

// Way is the state of one way. Counts are since the run began.
type Way struct {
	Book     ledger.Book
	Verdict  ledger.Verdict
	Reason   string
	Interval Interval
	Probes   []link.Probe
	Switched link.Time // when the present emulator took over
	Checks   []Check   // of each link: what was seen since then, and of what it promises
	Down     bool      // the port to leave by is down or gone
}

// Check is what was seen of one link since the present emulator took over.
type Check struct {
	Timed    int           // frames of known delay
	Least    link.Duration // the least of these delays
	Early    int           // how many were sooner than the emulator promised
	Paced    int           // spans whose rate could be held against a promise
	Slow     int           // of these, slower than promised while frames waited
	Fast     int           // of these, faster than promised
	Missed   link.Rate     // rate of the last span that was either
	Asked    link.Rate     // what was promised of it
	Out      int           // frames that left, copies among them
	Copies   int
	Before   int // frames held when the emulator took over
	Held     int // frames held at the last publication
	Lost     [link.Reasons]int
	Balanced int // how often offered = left + lost + held was looked at
	Uneven   int // and was not so
}

// Interval is the last interval of publication: a third of the patience, 100 ms at
// most.
type Interval struct {
	From, To      link.Time
	In, InBytes   uint64
	Out, OutBytes uint64
	Lost          uint64
	Delayed       uint64        // frames that the delays are of: those which stayed in the UMEM
	DelayMin      link.Duration // from arrival to departure
	DelayMean     link.Duration
	DelayMax      link.Duration
	Held          uint64 // bytes inside at To
}

// Stats reads the shared memory; the loops do not notice. It works after the
// engine has ended too, and then shows its last state.
func (e *Engine) Stats() Stats {
	s := Stats{Runs: e.page.Runs, Now: link.Time(nanotime() - e.page.Epoch)}
	defer runtime.KeepAlive(e) // its end unmaps the page
	view := new(wayView)
	for _, w := range link.Ways {
		e.page.Ways[w].read(view)
		s.Ways[w] = view.way(e.config.Limits)
		if v := s.Ways[w].Verdict; v > s.Verdict {
			s.Verdict, s.Reason = v, fmt.Sprintf("%v: %s", w, s.Ways[w].Reason)
		}
		if s.Ways[w].Down {
			s.NotEffective = fmt.Sprintf("way %v: port %s has no link: no frame leaves by it", w, e.port(1-portOf(w)))
		} else if why := s.Ways[w].broken(); why != "" {
			s.NotEffective = fmt.Sprintf("way %v: %s", w, why)
		}
	}
	return s
}

// port names a port.
func (e *Engine) port(i int) string { return [2]string{e.config.A, e.config.B}[i] }

// broken says which promise the way does not keep, "" when it keeps all.
func (w *Way) broken() string {
	for i := range w.Checks {
		if why := w.Checks[i].Broken(); why != "" && i > 0 {
			return fmt.Sprintf("link %d: %s", i, why)
		} else if why != "" {
			return why
		}
	}
	return ""
}

// Broken says which promise the link does not keep, "" when it keeps all.
func (w *Check) Broken() string {
	switch {
	case w.Uneven > 0:
		return fmt.Sprintf("frames offered were not those delivered, lost and held, in %d of %d looks", w.Uneven, w.Balanced)
	case w.Early > 0:
		return fmt.Sprintf("%d of %d frames left sooner than the link promises, the soonest after %v", w.Early, w.Timed, w.Least)
	case w.Slow > 0:
		return fmt.Sprintf("%v in %d intervals with frames waiting, asked %v", rounded(w.Missed), w.Slow, w.Asked)
	case w.Fast > 0:
		return fmt.Sprintf("%v in %d intervals, asked at most %v", rounded(w.Missed), w.Fast, w.Asked)
	}
	return ""
}

func (v *checkView) check() Check {
	c := Check{
		Timed: int(v.Timed), Early: int(v.Early), Least: link.Duration(v.LeastNs), Paced: int(v.Paced), Slow: int(v.Slow), Fast: int(v.Fast),
		Missed: link.Rate(v.MissBps), Asked: link.Rate(v.AskedBps), Out: int(v.Out), Copies: int(v.Copies), Before: int(v.Before), Held: int(v.Held), Balanced: int(v.Balanced), Uneven: int(v.Uneven),
	}
	for i, n := range v.Lost {
		c.Lost[i] = int(n)
	}
	return c
}

// rounded gives a measured rate four digits.
func rounded(r link.Rate) link.Rate {
	unit := link.Rate(1)
	for r/unit >= 10000 {
		unit *= 10
	}
	return (r + unit/2) / unit * unit
}

func (v *wayView) way(limits ledger.Limits) Way {
	r := v.Recent
	w := Way{
		Book: v.Book, Switched: link.Time(v.Switched),
		Down: v.Down != 0,
		Interval: Interval{
			From: link.Time(r.Since), To: link.Time(v.At), In: r.In, InBytes: r.InBytes,
			Out: r.Out, OutBytes: r.OutBytes, Lost: r.Lost, Delayed: r.Delays,
			DelayMin: link.Duration(r.DelayMin), DelayMax: link.Duration(r.DelayMax), Held: r.HeldMax,
		},
	}
	if r.Delays > 0 {
		w.Interval.DelayMean = link.Duration(r.DelaySum / int64(r.Delays))
	}
	w.Verdict, w.Reason = w.Book.Judge(limits)
	for i := range v.Check[:min(max(v.Checks, 0), maxChecks)] {
		w.Checks = append(w.Checks, v.Check[i].check())
	}
	for _, p := range v.Probe[:min(v.Probes, maxProbes)] {
		name, _, _ := bytes.Cut(p.Name[:], []byte{0})
		w.Probes = append(w.Probes, link.Probe{Name: string(name), Value: p.Value})
	}
	return w
}
