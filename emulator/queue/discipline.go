package queue

import "farlink/emulator/link"

// newDiscipline returns the active queue management that c names; nil for
// droptail and drophead.
func newDiscipline(c Config, draw link.Draw) discipline {
	switch c.Discipline {
	case "red":
		return newRED(c, draw.Sub("red"))
	case "codel":
		return newCoDel(c.CoDel)
	case "pie":
		return newPIE(c.PIE, draw.Sub("pie"))
	}
	return nil
}

func (c Config) checkDiscipline(report link.Report) {
	switch c.Discipline {
	case "", "droptail", "drophead":
		if c.ECN {
			report("ecn", "true", "false, or a discipline that marks: red, codel or pie")
		}
	case "red", "codel", "pie":
		if c.Rate == 0 {
			report("discipline", c.Discipline, "a rate beside it: a queue that is unlimited never stands")
		}
	default:
		report("discipline", c.Discipline, `"droptail", "drophead", "red", "codel" or "pie"`)
	}
	c.checkOwner("red", c.RED != nil, report)
	c.checkOwner("codel", c.CoDel != nil, report)
	c.checkOwner("pie", c.PIE != nil, report)
	if c.RED != nil {
		c.RED.check(report.Under("red"))
	}
	if c.CoDel != nil {
		c.CoDel.check(report.Under("codel"))
	}
	if c.PIE != nil {
		c.PIE.check(report.Under("pie"))
	}
}

// checkOwner reports the settings of a discipline that is not chosen.
func (c Config) checkOwner(name string, set bool, report link.Report) {
	if set && c.Discipline != name {
		report(name, "a table", `discipline = "`+name+`" beside it, or no such table`)
	}
}
