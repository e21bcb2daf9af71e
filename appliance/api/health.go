package api

import (
	"fmt"
	"net/http"

	"farlink/appliance"
)

// check is a node of the tree that /readyz shows: one that fails fails all
// above it, and those below a failed one are not looked at.
type check struct {
	Name   string  `json:"name"`
	OK     bool    `json:"ok"`
	Detail string  `json:"detail,omitempty"`
	Checks []check `json:"checks,omitempty"`
}

// healthz says that the daemon answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", typeJSON)
	writeBody(w, map[string]string{"status": "ok"})
}

// readyz says whether the box may be trusted with a measurement.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	root := ready(s.Box.State())
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Cache-Control", "no-store")
	if !root.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	writeBody(w, root)
}

// ready checks the box.
func ready(st appliance.State) check {
	root := check{Name: "box", OK: true}
	if len(st.Pairs) == 0 {
		root.OK, root.Detail = false, "no pair of ports is configured"
	}
	if st.Storage != "" {
		root.OK = false
		root.Checks = append(root.Checks, check{Name: "state directory", Detail: st.Storage})
	}
	for _, p := range st.Pairs {
		c := readyPair(p)
		root.OK = root.OK && c.OK
		root.Checks = append(root.Checks, c)
	}
	return root
}

// readyPair checks one pair: ports before engine, engine before link, link
// before figures.
func readyPair(p appliance.PairState) check {
	stands := p.Word != appliance.Fault && p.Word != appliance.Starting
	engine := check{Name: "engine", OK: p.Engine.PID != 0 || p.Want.Mode == appliance.Bypass || p.Want.Mode == appliance.CutOff, Detail: "no engine runs"}
	if !stands {
		engine.OK, engine.Detail = false, fmt.Sprintf("%s %s", p.Word, p.Why)
	}
	steps := []check{
		{Name: "ports", OK: stands || p.PortsTaken, Detail: fmt.Sprintf("%s %s", p.Word, p.Why)},
		engine,
		{Name: "link", OK: p.Effective, Detail: "not effective: " + p.NotYet},
		{Name: "figures", OK: p.Verdict.Word != appliance.Invalid, Detail: "verdict INVALID: " + p.Verdict.Reason},
	}
	c := check{Name: "pair " + p.Name, OK: true}
	for i, s := range steps {
		switch {
		case !c.OK:
			s.OK, s.Detail = false, "depends on "+steps[i-1].Name
		case s.OK:
			s.Detail = ""
		}
		c.OK = c.OK && s.OK
		c.Checks = append(c.Checks, s)
	}
	return c
}
