package api

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/box"
	"farlink/appliance/door"
	"farlink/appliance/relays"
	"farlink/pep/bundle"
	"farlink/ui/chromium"
)

// carried are a bundle of two paths without a kernel: they do as they are told,
// and carry one connection.
type carried struct {
	mu     sync.Mutex
	told   []bundle.Carriage
	refuse error
	begun  time.Time
	down   bool
	done   chan struct{}
}

func (r *carried) Configure(c bundle.Carriage) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil {
		return r.refuse
	}
	r.told = append(r.told, c)
	return nil
}

func (r *carried) Paths() ([]bundle.PathState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := uint64(time.Since(r.begun).Seconds() * 1e6) // 8 and 16 Mbit/s up
	return []bundle.PathState{{Name: "lte/skt", Link: "main", Up: !r.down, UpBytes: n}, {Name: "lte/kt", Link: "carrier2", Up: true, Best: true, UpBytes: 2 * n, DownBytes: n / 10}}, nil
}

func (r *carried) Status(offset, most int) (bundle.Status, error) {
	paths, err := r.Paths()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := bundle.Connection{Client: netip.MustParseAddrPort("10.78.0.2:40000"), Server: netip.MustParseAddrPort("10.79.0.2:443"), Mode: bundle.Lab, Scheduler: "blest", Subflows: []bundle.Subflow{
		{Path: "lte/skt", Congestion: "bbr", RTTMs: 31, Up: 1e6, Priority: "backup", State: "silent"},
		{Path: "lte/kt", Congestion: "cubic", RTTMs: 44, Up: 2e6, Priority: "normal", State: "up"}}}
	s := bundle.Status{Scheduler: "arrival", Paths: paths, Total: 1, Totals: bundle.CarriedTotals{Opened: 7, Fallbacks: 2}, Connections: []bundle.Connection{}}
	if len(r.told) > 0 && r.told[len(r.told)-1].Mode == bundle.Wire {
		s.Scheduler, c.Mode, c.Scheduler, c.Fallback = "linux-default", bundle.Wire, "linux-default", true
	}
	if offset == 0 && most > 0 {
		s.Connections = append(s.Connections, c)
	}
	return s, err
}

func (r *carried) PID() int              { return 4712 }
func (r *carried) Done() <-chan struct{} { return r.done }
func (r *carried) Stop() error           { return nil }

func (r *carried) last() bundle.Carriage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) == 0 {
		return bundle.Carriage{}
	}
	return r.told[len(r.told)-1]
}

// newRelays is a bench with them.
func newRelays(t *testing.T, change ...func(*Config)) (*bench, *carried) {
	t.Helper()
	r := &carried{begun: time.Now(), done: make(chan struct{})}
	path := func(name, link string, n byte) bundle.Path {
		return bundle.Path{Name: name, Link: link, NearDev: "c", FarDev: "c", Near: netip.AddrFrom4([4]byte{10, 77, n, 1}), Far: netip.AddrFrom4([4]byte{10, 77, n, 2})}
	}
	site := bundle.Site{Far: bundle.Far{Netns: "f", LAN: "l"}, Paths: []bundle.Path{path("lte/skt", "main", 1), path("lte/kt", "carrier2", 2)},
		Near: bundle.Near{Netns: "n", LAN: "l", Net: netip.MustParsePrefix("10.78.0.0/24"), Intercept: "i", Devices: "d", Router: "r", Pins: "/p"}}
	b := newBenchWith(t, []string{"main"}, func(p *box.Parts) {
		p.Multipath = &appliance.MultipathConfig{Site: site, Boot: bundle.Carriage{Mode: bundle.Lab}}
		p.Carry = func(_ bundle.Site, c bundle.Carriage) (relays.Carrying, error) { return r, r.Configure(c) }
	}, change...)
	for end := time.Now().Add(5 * time.Second); len(b.box.State().Paths) == 0 || b.box.State().Paths[0].UpBytes == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the relays do not start")
		}
	}
	return b, r
}

// bundleChanges are asked for in this order, of relays in mode lab.
var bundleChanges = []struct {
	method, query, body string
	status              int
	says                string // in the answer
	mode                bundle.Mode
	scheduler           string // afterwards
}{
	{"PATCH", "", `{"scheduler":"blest"}`, 200, "blest", bundle.Lab, "blest"},
	{"PATCH", "?dry_run=true", `{"scheduler":"ecf"}`, 200, "ecf", bundle.Lab, "blest"},
	{"PATCH", "", `{"scheduler":"best","window":"1B","paths":{"lte/lgu":{}},"rules":[{"path":"x"}]}`, 422, "4 problems", bundle.Lab, "blest"},
	{"PATCH", "", `{"schedule":"ecf"}`, 422, "scheduler", bundle.Lab, "blest"},
	{"PATCH", "", `{"window":7}`, 422, `"location":"body.window"`, bundle.Lab, "blest"},
	{"PUT", "", `{"mode":"wire","paths":{"lte/skt":{"congestion":"cubic","backup":true}},"rules":[{"protocol":"udp","port":443,"path":"lte/kt"}]}`, 200, "linux-default", bundle.Wire, ""},
	{"PATCH", "", `{"congestion":"lia"}`, 422, "bbr", bundle.Wire, ""},
	{"PUT", "", `{`, 422, "", bundle.Wire, ""},
	{"PUT", "", `{"mode":"both"}`, 422, "off, wire or lab", bundle.Wire, ""},
	{"PATCH", "", `{"mode":"off"}`, 200, "one path", bundle.Off, ""},
}

// Reading, changing whole and in part, with versions and without effect when
// anything is wrong.
func TestMultipath(t *testing.T) {
	b, r := newRelays(t)
	var first, s appliance.MultipathState
	read := func(body string, into *appliance.MultipathState) {
		t.Helper()
		*into = appliance.MultipathState{}
		if err := json.Unmarshal([]byte(body), into); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	got := b.ask(readToken, "GET", "/api/v1/multipath", "")
	read(got.body, &first)
	if got.StatusCode != 200 || first.Want.Mode != bundle.Lab || !first.Effective || first.PID != 4712 || len(first.Connections) != 1 ||
		len(first.Paths) != 2 || !strings.Contains(first.Note, "not MPTCP on the wire") || got.Header.Get("ETag") != `"`+first.ETag+`"` {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if read(b.ask(readToken, "GET", "/api/v1/multipath?offset=1", "").body, &s); s.Total != 1 || len(s.Connections) != 0 {
		t.Errorf("the page behind the end: %+v", s)
	}
	for _, c := range bundleChanges {
		a := b.ask(driveToken, c.method, "/api/v1/multipath"+c.query, c.body)
		if a.StatusCode != c.status || !strings.Contains(a.body, c.says) || r.last().Mode != c.mode || r.last().Scheduler != c.scheduler {
			t.Errorf("%s %s: %d %s; relays %+v", c.method, c.body, a.StatusCode, a.body, r.last())
		}
	}
	if a := b.ask(readToken, "PATCH", "/api/v1/multipath", `{"mode":"lab"}`); a.StatusCode != 403 {
		t.Errorf("a reader changes: %d", a.StatusCode)
	}
	if a := b.ask(driveToken, "PATCH", "/api/v1/multipath", `{"mode":"lab"}`, "If-Match", `"`+first.ETag+`"`); a.StatusCode != 412 {
		t.Errorf("an old version: %d %s", a.StatusCode, a.body)
	}
	r.mu.Lock()
	r.refuse = errors.New("no such interface")
	r.mu.Unlock()
	if a := b.ask(driveToken, "PATCH", "/api/v1/multipath", `{"mode":"lab"}`); a.StatusCode != 503 || !strings.Contains(a.body, "no such interface") {
		t.Errorf("relays that refuse: %d %s", a.StatusCode, a.body)
	}
	if read(b.ask(readToken, "GET", "/api/v1/multipath", "").body, &s); s.Want.Mode != bundle.Off {
		t.Errorf("after a refusal the want is %+v", s.Want)
	}
	metrics := b.ask(readToken, "GET", "/metrics", "").body
	for _, line := range []string{`farlink_multipath_mode{mode="off"} 1`, `farlink_multipath_path_up{path="lte/skt"} 1`, "farlink_multipath_connections 1", `farlink_multipath_connections_total{fate="fallback"} 2`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
	if a := newBench(t).ask(readToken, "GET", "/api/v1/multipath", ""); a.StatusCode != 404 {
		t.Errorf("a box without paths: %d %s", a.StatusCode, a.body)
	}
}

// The panel shows paths, their shares and subflows, says what a mode is, and
// changes it; in Korean too; axe finds nothing.
func TestMultipathPanel(t *testing.T) {
	b, r := newRelays(t, func(c *Config) { c.Door = door.Still(door.Settings{Open: "drive", TLS: "off"}) })
	web := chromium.Start(t, 1360, 1800)
	web.Open(b.url + "/")
	web.Text("This is not MPTCP on the wire")
	web.Text("10.78.0.2:40000 → 10.79.0.2:443")
	web.Until("subflows with path, priority and state", `(x => x.includes('lte/skt · bbr') && x.includes('backup') && x.includes('silent') && x.includes('lte/kt · cubic'))(document.querySelector('[aria-labelledby=multipath]').innerText)`)
	web.Until("live shares, a third and two thirds", `(x => /lte.skt.*3\d %.*8\.?\d* Mbit/s.test(x) && /lte.kt.*6\d %/.test(x))(document.querySelector('[aria-labelledby=multipath] table').innerText.replaceAll(/\s+/g, ' '))`)
	web.Until("shares over time", `!!document.querySelector('[aria-labelledby=shares] canvas') && document.querySelector('[aria-labelledby=shares] .plot').ariaLabel.includes('lte/kt')`)
	web.Do(`const s = [...document.querySelectorAll('[aria-labelledby=multipath] select')][0]; s.value = 'ecf'; s.dispatchEvent(new Event('change', {bubbles: true})); 1`)
	web.Text("multipath lab, scheduler ecf")
	web.Until("the scheduler is changed", `document.querySelector('[aria-labelledby=multipath] select').value === 'ecf'`)
	if got := r.last(); got.Scheduler != "ecf" {
		t.Errorf("the relays were told %+v", got)
	}
	web.Shot("multipath")
	web.Click("MPTCP (wire)")
	web.Text("linux-default")
	web.Text("fallback: plain TCP")
	r.mu.Lock()
	r.down = true
	r.mu.Unlock()
	web.Text("path lte/skt is down")
	web.Do(`[...document.querySelectorAll('header select')].at(-1).value = 'ko'; [...document.querySelectorAll('header select')].at(-1).dispatchEvent(new Event('change', {bubbles: true})); 1`)
	web.Text("다중 경로")
	web.Text("폴백: 일반 TCP")
	if got := web.Complaints(); len(got) > 0 {
		t.Errorf("the page complained: %s", strings.Join(got, "\n"))
	}
	axe := chromium.Axe(t)
	for _, theme := range []string{"light", "dark"} {
		web.Do(`document.documentElement.dataset.theme = '` + theme + `'; 1`)
		web.Do(axe)
		got := web.Do(`axe.run('[aria-labelledby=multipath]', {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r =>
			r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ')).join('\n') || r.passes.length + ' passed')`)
		if !strings.HasSuffix(got, " passed") {
			t.Errorf("%s: %s", theme, got)
		}
	}
}
