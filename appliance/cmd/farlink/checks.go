package main

import (
	"fmt"
	"io"
	"strings"

	"farlink/appliance"
)

// printChecks shows what links promise: for each way of a link a line with
// what is kept and what waits for traffic, and one for each promise that is
// broken, or not made.
func printChecks(w io.Writer, all []appliance.Check) {
	for len(all) > 0 {
		n := 0
		for n < len(all) && all[n].Link == all[0].Link && all[n].Way == all[0].Way {
			n++
		}
		printWay(w, all[:n])
		all = all[n:]
	}
}

func printWay(w io.Writer, checks []appliance.Check) {
	of := map[appliance.Kept][]string{}
	for _, c := range checks {
		of[c.Word] = append(of[c.Word], c.What)
	}
	var parts []string
	if kept := of[appliance.IsKept]; len(kept) > 0 {
		parts = append(parts, strings.Join(kept, ", ")+" as asked")
	}
	if waiting := of[appliance.Waiting]; len(waiting) > 0 {
		parts = append(parts, strings.Join(waiting, ", ")+" to be seen with traffic")
	}
	fmt.Fprintf(w, "check %s %s\t%s\n", checks[0].Link, checks[0].Way, strings.Join(parts, "; "))
	for _, c := range checks {
		switch c.Word {
		case appliance.Broken:
			fmt.Fprintf(w, "\t%s NOT as asked: %s\n", c.What, c.Text)
		case appliance.Unchecked:
			fmt.Fprintf(w, "\t%s %s\n", c.What, c.Text)
		}
	}
}
