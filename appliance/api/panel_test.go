package api

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/api/gate"
	"farlink/appliance/door"
	"farlink/emulator/need"
	"farlink/ui/chromium"
)

// TestPanel goes through the panel as a person does: claim, log in, take the
// lease, apply, undo, cut, freeze.
func TestPanel(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, func(c *Config) { c.State, c.Capture = dir, true })
	web := chromium.Start(t, 1360, 900)
	web.Open(b.url + "/")
	web.Text("Nobody has claimed this box yet")
	web.Type("input[name=code]", b.keys.ClaimCode())
	web.Type("input[name=password]", "correct horse battery")
	web.Click("Claim this box")
	web.Text("EMULATING")
	web.Text("qirse-sat")
	if got := web.Do("document.cookie"); strings.Contains(got, gate.SessionCookie) {
		t.Errorf("a script can read the session: %s", got)
	}

	web.Click("Take lease")
	web.Text("lease: yours")
	if got := b.ask(driveToken, "PUT", "/api/v1/link", `{"profile":"clear"}`); got.StatusCode != 423 {
		t.Errorf("another's write: %d", got.StatusCode)
	}
	begun := time.Now()
	web.Click("qirse-sat")
	web.Text("geo/qirse-sat applied")
	web.Until("the strip at the top says so", `document.querySelector('.profile b').innerText === 'geo/qirse-sat'`)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the effect of a click shows after %s", took)
	}
	checkTools(t, web)
	web.Key("z")
	web.Until("undone", `document.querySelector('.profile b').innerText === 'clear'`)

	web.Key("r")
	web.Text("Stop run")
	web.Key("m")
	web.Text("mark Mark")
	web.Key("r")
	web.Text("has ended")
	if runs := b.server.runs.List(); len(runs) != 1 || len(runs[0].Marks) != 1 {
		t.Errorf("runs %+v", runs)
	}

	web.Key("/")
	web.Insert("qirse-sat")
	web.Until("few are found", `(n => n > 0 && n < 5)(document.querySelectorAll('.profiles li').length)`)
	web.Key("Enter")
	web.Until("applied by Enter", `document.querySelector('.profile b').innerText === 'geo/qirse-sat'`)
	web.Key("Escape") // out of the search
	web.Key("c")
	web.Text("cut goes on until")
	web.Text("CUT")
	web.Click("Freeze")
	web.Text("Go on")
	web.Click("Tables")
	web.Until("tables instead of plots", `document.querySelectorAll('.strip table').length === 4`)
	web.Shot("panel")
	if got := web.Complaints(); len(got) > 0 {
		t.Errorf("the page complained: %s", strings.Join(got, "\n"))
	}
}

// checkTools looks at what the page can copy and export, and at the windows of
// its strips.
func checkTools(t *testing.T, web *chromium.Browser) {
	t.Helper()
	for script, want := range map[string]string{
		`import('/api.js').then(m => m.asCurl())`:                               "curl -X PUT",
		`import('/api.js').then(m => m.asPytest())`:                             "@pytest.mark.link(\"geo/qirse-sat\"",
		`import('/store.js').then(m => m.current().csv(10, m.current().end()))`: "time_s,down_offered",
		`import('/timeline.js').then(m => { const x = m.split('a = 1\n[[timeline]]\nat = "3s"\ncut = "both"\n'); return m.join(x.rest, x.lines) })`: "[[timeline]]\nat = \"3s\"\ncut = \"both\"",
	} {
		if got := web.Do(script); !strings.Contains(got, want) {
			t.Errorf("%s: %s; want %s", script, got, want)
		}
	}
	for _, window := range []string{"10 s", "1 h"} {
		web.Do(`[...document.querySelectorAll('.choice button')].find(b => b.textContent.trim() === '` + window + `').click()`)
		web.Until("a window of "+window, `[...document.querySelectorAll('.choice button[aria-pressed="true"]')].some(b => b.textContent.trim() === '`+window+`')`)
	}
}

// TestPanelSecondUser shows the refusal to who has no lease, in Korean, with
// figures of the engine, on a phone.
func TestPanelSecondUser(t *testing.T) {
	b := newBench(t)
	b.server.Desk.Take("boss", "maintenance", time.Hour, false, false)
	web := chromium.Start(t, 390, 844, "--lang=ko-KR", "--accept-lang=ko-KR")
	web.Open(b.url + "/#token=" + driveToken)
	web.Until("the panel", `!!document.querySelector('.state')`)
	web.Do(`[...document.querySelectorAll('header select')].at(-1).value = 'ko'; [...document.querySelectorAll('header select')].at(-1).dispatchEvent(new Event('change', {bubbles: true}))`)
	web.Text("에뮬레이션")
	web.Click("우회")
	web.Text("다른 사용자가 사용권을 갖고 있습니다")
	if got := web.Do("location.hash"); got != "" {
		t.Errorf("the token stays in the address: %s", got)
	}
	if got := web.Do("document.documentElement.scrollWidth - innerWidth"); got != "0" {
		t.Errorf("the page is %s px wider than the phone", got)
	}
	b.engine.show(appliance.Figures{Up: appliance.WayFigures{BytesIn: 5e6, BytesOut: 5e6, PacketsOut: 4000}},
		appliance.Reading{Link: "main", Way: "up", Name: "rate_bps", Value: 2e6})
	web.Text("/ 2 Mbit/s")
	web.Shot("phone")
}

// TestPanelSettings changes network and TLS, with what is wrong shown beside
// it, and looks at tokens and the audit log.
func TestPanelSettings(t *testing.T) {
	dir := t.TempDir()
	d, err := door.Open(dir, appliance.APIConfig{Listen: "127.0.0.1:0", Open: "none", TLS: "off"}, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	b := newBench(t, func(c *Config) { c.State, c.Door = dir, d })
	web := chromium.Start(t, 1360, 1400)
	web.Open(b.url + "/#token=" + adminToken)
	web.Text("EMULATING")
	web.Do(`location.hash = '#/settings'`)
	web.Text("NETWORK AND TLS")
	enter := func(name, text string) {
		web.Until("a field "+name, `!!document.querySelector('[name=`+name+`]')`)
		web.Do(`{ const x = document.querySelector('[name=` + name + `]'); x.value = '` + text + `'; x.dispatchEvent(new Event('input', {bubbles: true})) }`)
	}
	enter("listen", "nowhere")
	enter("hosts", "bench-3.lab.example, http://x")
	b.ask(driveToken, "PATCH", "/api/v1/link", `{"seed":9}`) // the page is drawn anew
	web.Text("seed 9")
	web.Click("Apply")
	web.Text("an IP address of the machine and a port")
	web.Text("a name without scheme and port")
	enter("listen", "127.0.0.1:0")
	enter("hosts", "bench-3.lab.example")
	web.Click("Apply")
	web.Text("Settings are in force")
	if got := d.Allowed(); len(got) != 1 || got[0] != "bench-3.lab.example" {
		t.Errorf("allowed: %v", got)
	}
	enter("tls", "own")
	web.Click("Apply")
	web.Text("upload one first")
	web.Do(`{
		const give = (name, text) => { const f = new DataTransfer(); f.items.add(new File([text], 'x.pem')); document.querySelector('input[name=' + name + ']').files = f.files }
		document.querySelector('#network').closest('section').querySelector('details').open = true
		give('certificate', 'no certificate'); give('key', 'no key')
	}`)
	web.Do(`document.querySelector('input[name=key]').form.querySelector('button').click()`)
	web.Text("PEM that begins with -----BEGIN CERTIFICATE-----")
	web.Do(`[...document.querySelectorAll('summary')].filter(s => s.innerText.includes('before')).at(0).click()`)
	web.Shot("settings")
	if got := web.Complaints(); len(got) > 0 && !strings.Contains(strings.Join(got, ""), "422") {
		t.Errorf("the page complained: %s", strings.Join(got, "\n"))
	}
}

// TestPanelAccessible has axe-core look at every page, light and dark.
func TestPanelAccessible(t *testing.T) {
	axe := chromium.Axe(t)
	b := newBench(t, func(c *Config) { c.Door = door.Still(door.Settings{Open: "admin", TLS: "off"}) })
	web := chromium.Start(t, 1360, 900)
	// Two profiles look like sixty, and axe takes its time with each.
	for _, at := range []struct{ page, theme string }{{"/", "light"}, {"/", "dark"}, {"/#/settings", "light"}} {
		web.Open(b.url + "/healthz") // so that the next is loaded anew
		web.Open(b.url + at.page)
		web.Until("the page", `!!document.querySelector('main') && !!document.querySelector('.state')`)
		web.Do(`document.documentElement.dataset.theme = '` + at.theme + `'; document.querySelectorAll('.profiles li:nth-child(n+3)').forEach(x => x.hidden = true)`)
		web.Do(axe)
		got := web.Do(`axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r =>
			r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target.join(' ')).join(', ')).join('\n') || r.passes.length + ' passed')`)
		if !strings.HasSuffix(got, " passed") {
			t.Errorf("%s, %s: %s", at.page, at.theme, got)
		}
	}
}

// npmDir installs packages in a directory that later tests find again.
func npmDir(t *testing.T, pkgs ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "farlink-test", strings.NewReplacer("/", "-", "@", "-").Replace(strings.Join(pkgs, "_")))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return dir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("npm", append([]string{"install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir}, pkgs...)...)
	if out, err := c.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		need.That(t, false, fmt.Sprintf("npm to fetch %v: %v: %s", pkgs, err, out))
	}
	return dir
}
