package profiles

import (
	"testing"
)

// rate is a queue each way, the way up open for more keys.
const rate = "[down.queue]\nrate = \"8Mbit/s\"\n[up.queue]\nrate = \"8Mbit/s\"\n"

// unwise has, for each rule, a document in which it finds something.
var unwise = map[string]string{
	"mtu-below-ipv4":              "[up]\nmtu = \"296B\"",
	"mtu-below-ipv6":              "[up]\nmtu = \"1000B\"",
	"mtu-differs":                 "[up]\nmtu = \"1400B\"\n[down]\nmtu = \"1500B\"",
	"flap-mostly-down":            "[up.flap]\nperiod = \"3s\"\ndown = \"2s\"",
	"cuts-overlap":                "[up]\ncut = [{at = \"1s\", for = \"2s\"}, {at = \"2s\", for = \"1s\"}]",
	"loss-total":                  "[up.loss]\nprobability = 1.0",
	"loss-heavy":                  "[up.loss]\nprobability = 0.3",
	"loss-twice":                  "[up.loss]\nprobability = 0.1\nber = 1e-7",
	"ber-hopeless":                "[up.loss]\nber = 0.01",
	"gilbert-single":              "[up.loss.gilbert]\nloss = 0.1\nburst = 1.0",
	"gilbert-twice":               "[up.loss.gilbert]\nloss = 0.1\nburst = 2.0\n[up.loss.gilbert_time]\nbad = \"50ms\"\nshare = 0.1",
	"gilbert-shorter-than-packet": rate + "[up.loss.gilbert_time]\nbad = \"1ms\"\nshare = 0.1",
	"corrupt-heavy":               "[up.corrupt]\nprobability = 0.2",
	"jitter-crowded":              rate + "[up.path]\ndelay = \"4s\"\n[down.path]\ndelay = \"4s\"\n[up.path.jitter]\ndistribution = \"uniform\"\nspread = \"200ms\"",
	"delay-looks-like-rtt":        "[up.path]\ndelay = \"600ms\"\n[down.path]\ndelay = \"600ms\"",
	"reorder-heavy":               "[up.reorder]\nprobability = 0.6\ndelay = \"5ms\"",
	"reorder-late":                "[up.reorder]\nprobability = 0.1\ndelay = \"5s\"",
	"duplicate-heavy":             "[up.duplicate]\nprobability = 0.2",
	"trace-short":                 "[up.trace]\nend = \"loop\"\nperiod = \"500ms\"\nstep = [{at = \"0\", rate = \"1Mbit/s\"}]",
	"rate-slow":                   "[up.queue]\nrate = \"8kbit/s\"\n[down.queue]\nrate = \"8kbit/s\"",
	"rate-fast":                   "[up.queue]\nrate = \"40Gbit/s\"\n[down.queue]\nrate = \"40Gbit/s\"",
	"rate-one-way":                "[up.queue]\nrate = \"1Mbit/s\"",
	"limit-without-rate":          "[up.queue]\nlimit = \"60packets\"",
	"limit-tiny":                  rate + "limit = \"2kB\"",
	"limit-deep":                  rate + "limit = \"50MB\"",
	"limit-below-round-trip":      rate + "limit = \"120kB\"\n[up.path]\ndelay = \"100ms\"\n[down.path]\ndelay = \"100ms\"",
	"shallow-without-limit":       "[up]\nshallow_queue = true",
	"codel-target-short":          "[down.queue]\nrate = \"1Mbit/s\"\n[up.queue]\nrate = \"1Mbit/s\"\ndiscipline = \"codel\"",
	"codel-interval-short":        rate + "discipline = \"codel\"\n[up.path]\ndelay = \"300ms\"\n[down.path]\ndelay = \"300ms\"",
	"red-above-limit":             rate + "limit = \"50kB\"\ndiscipline = \"red\"\n[up.queue.red]\nleast = \"20kB\"\nmost = \"60kB\"",
	"cell-without-overhead":       rate + "cell = \"48B\"",
	"carrier-dark":                "[up.carrier]\nsymbol_rate = 1e6\n[up.carrier.downlink]\nes_n0 = -10.0\n[down.queue]\nrate = \"1Mbit/s\"",
	"name-form":                   "name = \"My Link\"",
	"delay-one-way":               "[up.path]\ndelay = \"50ms\"",
	"delay-asymmetric":            "[up.path]\ndelay = \"50ms\"\n[down.path]\ndelay = \"5ms\"",
	"rates-swapped":               "[up.queue]\nrate = \"50Mbit/s\"\n[down.queue]\nrate = \"5Mbit/s\"",
	"rates-far-apart":             "[up.queue]\nrate = \"64kbit/s\"\n[down.queue]\nrate = \"50Mbit/s\"",
	"expect-rtt-too-short":        "[expect]\nrtt = \"10ms\"\n[up.path]\ndelay = \"50ms\"\n[down.path]\ndelay = \"50ms\"",
	"expect-rate-too-high":        rate + "[expect]\ndown = \"9Mbit/s\"",
	"expect-loss-differs":         "[expect]\nloss_up = 0.1\n[up.loss]\nprobability = 0.01",
	"geo-low":                     "[geo]\nsatellite = 50.0\nterminal = {lat = 0.0, lon = 123.0}\ngateway = {lat = 0.0, lon = 50.0}",
	"geo-and-delay":               "[geo]\nsatellite = 50.0\nterminal = {lat = 0.0, lon = 50.0}\ngateway = {lat = 0.0, lon = 50.0}\n[up.path]\ndelay = \"250ms\"",
	"medium-alone":                "medium = \"m\"",
	"weight-without-cell":         "weight = 3",
	"lte-far":                     "[lte]\n[up.path]\ndelay = \"250ms\"\n[down.path]\ndelay = \"250ms\"",
	"return-without-delay":        "[dama.station]\ncra = \"64kbit/s\"\n[down.queue]\nrate = \"1Mbit/s\"",
	"return-hop-differs":          "[dama]\nhop = \"20ms\"\n[dama.station]\ncra = \"64kbit/s\"\n[up.path]\ndelay = \"250ms\"\n[down.path]\ndelay = \"250ms\"\n[down.queue]\nrate = \"1Mbit/s\"",
	"timeline-cut-for-ever":       "[[timeline]]\ncut = \"up\"",
	"timeline-fine":               "[[timeline]]\nevery = \"5ms\"\nset = {\"up.path.delay\" = \"1ms\"}",
	"timeline-unreached":          "[[timeline]]\nat = \"48h\"\ncut = \"up\"\nfor = \"1s\"",
}

// Each rule finds what it is for, in the line where it stands, and says
// nothing of the shipped profiles but what is listed.
func TestLint(t *testing.T) {
	rules := Rules()
	if len(rules) < 40 {
		t.Errorf("%d rules, want 40 or more", len(rules))
	}
	for _, rule := range rules {
		doc, ok := unwise[rule.Name]
		if !ok || rule.About == "" {
			t.Errorf("%s: no document shows it, or it says nothing of itself", rule.Name)
			continue
		}
		p, problems := Parse([]byte(doc))
		if p == nil {
			t.Errorf("%s: %v", rule.Name, problems)
			continue
		}
		found := false
		for _, problem := range problems {
			found = found || problem.Rule == rule.Name && problem.Line > 0 && problem.Level == Warning
		}
		if !found {
			t.Errorf("%s finds nothing in\n%s\n%v", rule.Name, doc, problems)
		}
	}
	if p, problems := Parse([]byte(rate)); p == nil || len(problems) > 0 {
		t.Errorf("a plain document: %v", problems)
	}
}

// The shipped profiles have no warnings but these, which are meant.
func TestShippedWarnings(t *testing.T) {
	meant := map[string]string{
		"lte/atc-2g-rural":   "delay-looks-like-rtt",  // 650 ms one way, on the ground
		"seed/003-dual-lost": "timeline-cut-for-ever", // the old address's link goes for good
		"seed/003-dual-old":  "timeline-cut-for-ever",
	}
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, problem := range s.Validate() {
			if meant[s.Name] != problem.Rule {
				t.Errorf("%s: %v", s.Name, problem)
			}
		}
	}
}
