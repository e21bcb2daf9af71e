package pep

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"farlink/pep/intercept"
)

// TestRules: each kind of rule splits, or lets pass, what it is for, and
// nothing else.
func TestRules(t *testing.T) {
	r := newRig(t, Config{})
	yes, no, ef := true, false, uint8(46)
	mac := hardware(r.A)
	prefix := netip.MustParsePrefix
	for _, c := range []struct {
		name string
		rule intercept.Rule
		by   string // how connections that match differ from others
		want [2]bool
	}{
		// What is split: a connection that matches, and one that does not.
		{"port", intercept.Rule{Ports: [2]uint16{7000, 7001}}, "port", [2]bool{true, false}},
		{"source prefix", intercept.Rule{Source: prefix("10.77.0.4/32")}, "source", [2]bool{true, false}},
		{"target prefix", intercept.Rule{Target: prefix("10.77.0.0/28")}, "target", [2]bool{true, false}},
		{"DSCP", intercept.Rule{DSCP: &ef}, "dscp", [2]bool{true, false}},
		{"client's MAC", intercept.Rule{ClientMAC: mac}, "", [2]bool{true, true}},
		{"another client's MAC", intercept.Rule{ClientMAC: "02:00:00:00:00:99"}, "", [2]bool{false, false}},
		{"MPTCP", intercept.Rule{MPTCP: &yes}, "mptcp", [2]bool{true, false}},
		{"not MPTCP", intercept.Rule{MPTCP: &no}, "mptcp", [2]bool{false, true}},
		{"port and DSCP", intercept.Rule{Ports: [2]uint16{7000, 7001}, DSCP: &ef}, "port", [2]bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, splits := range []bool{true, false} { // as a rule that splits, and as one that excepts
				config := Config{Enabled: true, Handshake: intercept.Deferred}
				c.rule.Handshake = intercept.Pass
				if splits {
					config.Handshake, c.rule.Handshake = intercept.Pass, intercept.Deferred
				}
				config.Rules = []Policy{{Rule: c.rule}}
				if err := r.proxy.Configure(config); err != nil {
					t.Fatal(err)
				}
				for i, want := range c.want {
					if got := r.splits(t, c.by, i == 0); got != (want == splits) {
						t.Errorf("rule that splits %v, connection that differs by %q %v: split is %v", splits, c.by, i == 0, got)
					}
				}
			}
		})
	}
}

// TestRulesIPv6: prefixes of the other family, and the first rule that matches.
func TestRulesIPv6(t *testing.T) {
	rule := func(target string, a intercept.Action) Policy {
		return Policy{Rule: intercept.Rule{Target: netip.MustParsePrefix(target), Handshake: a}}
	}
	r := newRig(t, Config{Enabled: true, Rules: []Policy{rule("fd77::2/128", intercept.Deferred), rule("fd77::/16", intercept.Pass)}})
	before := r.accepted(t)
	r.connect(t, true)
	r.connect(t, false)
	if got := r.accepted(t) - before; got != 1 {
		t.Errorf("%d connections were split, want the one over IPv6", got)
	}
}

// splits reports whether a new connection is split; how it differs from
// another is by, if differs.
func (r *rig) splits(t *testing.T, by string, differs bool) bool {
	t.Helper()
	x := &trial{a: r.A, b: r.B}
	before := r.accepted(t)
	got := ""
	talk := func() string { return x.with(pingPong) }
	switch {
	case by == "mptcp" && differs:
		if got = multipath(x); got == "MPTCP true true" || got == "MPTCP false true" {
			got = "pingpong"
		}
	case by == "port" && differs:
		got = x.fromTo(t, "10.77.0.1", "10.77.0.2", 7001)
	case by == "source" && differs:
		r.A.Output("ip", "addr", "add", "10.77.0.4/24", "dev", r.A.Dev)
		got = x.fromTo(t, "10.77.0.4", "10.77.0.2", 7100)
	case by == "target" && !differs:
		r.B.Output("ip", "addr", "add", "10.77.0.20/24", "dev", r.B.Dev)
		got = x.fromTo(t, "10.77.0.1", "10.77.0.20", 7100)
	case by == "dscp" && differs:
		got = x.withFrom(0, x.class(46), pingPong)
	default:
		got = talk()
	}
	if got != "pingpong" {
		t.Errorf("a connection that differs by %q %v: %s", by, differs, got)
	}
	return r.accepted(t) > before
}

func (r *rig) accepted(t *testing.T) uint64 {
	t.Helper()
	s, err := r.proxy.Status()
	if err != nil {
		t.Fatal(err)
	}
	return s.Accepted
}

// fromTo tries a connection between two addresses, to a port.
func (x *trial) fromTo(t *testing.T, from, to string, port int) string {
	t.Helper()
	l, err := x.listenTo(fmt.Sprintf("%s:%d", to, port), nil)
	if err != nil {
		return err.Error()
	}
	defer l.Close()
	c, err := x.dialFrom(from, l.Addr().String(), 5*time.Second)
	if err != nil {
		return why(err)
	}
	defer c.Close()
	s, err := l.AcceptTCP()
	if err != nil {
		return why(err)
	}
	defer s.Close()
	return pingPong(c.(*net.TCPConn), s)
}

func pingPong(c, s *net.TCPConn) string { return say(c, s, "ping") + say(s, c, "pong") }
