package plot

import (
	"math"
	"strings"
)

// Column is a named series, as a run keeps it: "down.delivered_bps".
type Column struct {
	Name   string
	Values []float64
}

// quantity is a panel that a link can have, and which columns belong to it.
type quantity struct {
	name, title string // name is by what it is asked for
	free, whole bool
	members     []member
}

// member is a column of a panel: the end of its name, after the way. A legend
// that begins with "(" is left out where the column is alone.
type member struct {
	column, legend string
	style          Style
}

// quantities are in the order in which panels stand: cause before effect.
var quantities = []quantity{
	{"signal", "Signal", true, false, []member{{"es_n0_db", "Es/N0", Solid}, {"sinr_db", "SINR", Solid}, {"rain_db", "rain", Area}}},
	{"modcod", "MODCOD", true, true, []member{{"modcod", "", Stairs}}},
	{"cqi", "CQI and MCS", true, true, []member{{"cqi", "CQI", Stairs}, {"mcs", "MCS", Stairs}}},
	{"grants", "Capacity", false, false, []member{{"requested_bps", "requested", Dashed}, {"granted_bps", "granted", Stairs}}},
	{"rate", "Rate", false, false, []member{{"offered_bps", "offered", Area}, {"delivered_bps", "delivered", Solid}, {"rate_bps", "link", Dashed}}},
	{"queue", "Queue", false, false, []member{{"queue_bytes", "", Solid}}},
	{"delay", "One-way delay", false, false, []member{{"one_way_ms", "(one way)", Solid}, {"queueing_ms", "queueing", Area}}},
	{"loss", "Lost packets", false, false, []member{{"loss_packets", "", Bars}}},
}

// flows are panels of senders: columns of any prefix with that end.
var flows = []quantity{
	{"window", "Window", false, false, []member{{"cwnd_packets", "", Solid}}},
	{"rtt", "Smoothed round trip", false, false, []member{{"srtt_ms", "", Solid}}},
}

// Names lists what can be asked for.
func Names() []string {
	var out []string
	for _, q := range append(append([]quantity(nil), quantities...), flows...) {
		out = append(out, q.name)
	}
	return out
}

// Choice says what of a run to show.
type Choice struct {
	Ways []string // "down", "up", or "link.down" of several links; nil is each that carries packets
	Show []string // of Names; nil is all that there is
}

// Choose makes panels of the columns of a run.
func Choose(columns []Column, c Choice) []Panel {
	ways := c.Ways
	if ways == nil {
		ways = busy(columns)
	}
	var out []Panel
	for _, w := range ways {
		for _, q := range quantities {
			if wanted(c.Show, q.name) {
				out = append(out, q.panel(columns, w, len(ways) > 1)...)
			}
		}
	}
	for _, q := range flows {
		if wanted(c.Show, q.name) {
			out = append(out, q.ofFlows(columns)...)
		}
	}
	return out
}

func wanted(show []string, name string) bool {
	for _, s := range show {
		if s == name {
			return true
		}
	}
	return show == nil
}

// busy returns the ways to which something was offered.
func busy(columns []Column) []string {
	var out []string
	for _, c := range columns {
		if way, ok := strings.CutSuffix(c.Name, ".offered_bps"); ok && any(c.Values) {
			out = append(out, way)
		}
	}
	return out
}

// any reports whether a value is neither missing nor zero.
func any(values []float64) bool {
	for _, v := range values {
		if v != 0 && !math.IsNaN(v) {
			return true
		}
	}
	return false
}

// panel returns the panel of a quantity on a way; none if there is nothing
// to show.
func (q quantity) panel(columns []Column, way string, several bool) []Panel {
	p := Panel{Title: q.title, Free: q.free, Whole: q.whole}
	if several {
		p.Title += " " + way
	}
	unit := ""
	for _, m := range q.members {
		for _, c := range columns {
			if c.Name != way+"."+m.column || !any(c.Values) {
				continue
			}
			unit = m.column
			p.Lines = append(p.Lines, Line{Name: strings.Trim(m.legend, "()"), Style: m.style, Values: c.Values})
		}
	}
	if len(p.Lines) == 1 && strings.HasPrefix(q.members[0].legend, "(") {
		p.Lines[0].Name = ""
	}
	return p.measured(unit)
}

// ofFlows returns the panel of a quantity of senders.
func (q quantity) ofFlows(columns []Column) []Panel {
	p := Panel{Title: q.title}
	unit := ""
	for _, c := range columns {
		if flow, ok := strings.CutSuffix(c.Name, "."+q.members[0].column); ok && any(c.Values) {
			unit = c.Name
			p.Lines = append(p.Lines, Line{Name: flow, Style: q.members[0].style, Values: c.Values})
		}
	}
	if len(p.Lines) == 1 {
		p.Lines[0].Name = ""
	}
	return p.measured(unit)
}

// measured scales a panel to a unit that fits; none if it has no lines.
func (p Panel) measured(column string) []Panel {
	if len(p.Lines) == 0 {
		return nil
	}
	greatest := 0.0
	for _, l := range p.Lines {
		for _, v := range l.Values {
			if a := math.Abs(v); a > greatest { // false for NaN
				greatest = a
			}
		}
	}
	unit, factor := unitFor(column, greatest)
	p.Unit = unit
	for i, l := range p.Lines {
		values := make([]float64, len(l.Values))
		for k, v := range l.Values {
			values[k] = v / factor
		}
		p.Lines[i].Values = values
	}
	return []Panel{p}
}

// unitFor returns the unit of a column and what to divide by.
func unitFor(column string, greatest float64) (unit string, factor float64) {
	name := column[strings.LastIndexByte(column, '_')+1:]
	switch {
	case name == "bps" && greatest >= 1e9:
		return "Gbit/s", 1e9
	case name == "bps" && greatest >= 1e6:
		return "Mbit/s", 1e6
	case name == "bps" && greatest >= 1e3:
		return "kbit/s", 1e3
	case name == "bps":
		return "bit/s", 1
	case name == "bytes" && greatest >= 1e6:
		return "MB", 1e6
	case name == "bytes" && greatest >= 1e3:
		return "kB", 1e3
	case name == "bytes":
		return "B", 1
	case name == "ms" && greatest >= 1e4:
		return "s", 1e3
	case name == "ms":
		return "ms", 1
	case name == "db":
		return "dB", 1
	case strings.HasSuffix(column, "loss_packets"):
		return "per step", 1
	case name == "packets":
		return "packets", 1
	case name == "modcod":
		return "number", 1
	}
	return "", 1
}
