package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"farlink/ui/chromium"
)

// TestPanelOnALab goes through the panel in front of real ports, as its user
// does: lease, profile, cut, undo, freeze, capture; and a second user.
func TestPanelOnALab(t *testing.T) {
	l := labUp(t, "--profile", "clear")
	web := chromium.Start(t, 1360, 900)
	web.Open(l.API + "/#token=" + l.Token)
	web.Text("EMULATING")
	web.Click("Take lease")
	web.Text("lease: yours")
	if rtt := least(t, ping(t, l, "10.77.0.2", 3)); rtt > 40 {
		t.Errorf("round trip through a clear wire is %v ms", rtt)
	}
	web.Click("qirse-sat")
	web.Text("geo/qirse-sat applied")
	if rtt := least(t, ping(t, l, "10.77.0.2", 3)); rtt < 600 || rtt > 640 {
		t.Errorf("round trip through the satellite is %v ms, want 600", rtt)
	}
	web.Until("the page shows the delay", `document.querySelector('.way[data-way=up]').innerText.includes('300 ms')`)

	web.Key("c")
	web.Text("CUT")
	web.Until("the cut is over", `document.querySelector('.state').dataset.word === 'EMULATING'`)
	web.Key("z")
	web.Until("undone", `document.querySelector('.profile b').innerText === 'clear'`)
	if rtt := least(t, ping(t, l, "10.77.0.2", 3)); rtt > 40 {
		t.Errorf("round trip after the undo is %v ms", rtt)
	}
	web.Key(" ")
	web.Text("Go on")
	if bad := web.Complaints(); len(bad) > 0 {
		t.Errorf("the page complained: %s", strings.Join(bad, "\n"))
	}

	var other struct{ Token string }
	if status, body := ask(t, l, http.MethodPut, "/tokens/other", `{"scope": "drive"}`); status != http.StatusOK || json.Unmarshal([]byte(body), &other) != nil {
		t.Fatalf("%d %s", status, body)
	}
	second := l
	second.Token = other.Token
	if status, body := ask(t, second, http.MethodPut, "/link", `{"profile": "geo/qirse-sat"}`); status != http.StatusLocked || !strings.Contains(body, "lab") {
		t.Errorf("the second user gets %d %s", status, body)
	}
	status, capture := ask(t, l, http.MethodGet, "/capture/pcap", "")
	if status != http.StatusOK {
		t.Fatalf("capture: %d %s", status, capture)
	}
	inTshark(t, capture)
}

// inTshark has an independent reader look for the pings and their fates.
func inTshark(t *testing.T, capture string) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("no tshark in CI")
		}
		t.Log("no tshark here: the capture is not read by another")
		return
	}
	file := filepath.Join(t.TempDir(), "x.pcapng")
	if err := os.WriteFile(file, []byte(capture), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("tshark", "-r", file, "-Y", "icmp", "-T", "fields", "-e", "frame.interface_name", "-e", "frame.comment").Output()
	if err != nil || strings.Count(string(out), "b\tdelivered up") < 8 || strings.Count(string(out), "a\tdelivered down") < 8 {
		t.Errorf("tshark: %v\n%s", err, out)
	}
}
