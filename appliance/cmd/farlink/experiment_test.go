package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"farlink/appliance/experiment/shelf"
	"farlink/emulator/need"
)

// echoTwice is six short cells.
const echoTwice = "name = \"echo\"\nprofiles = [\"geo/qirse-t\"]\nrepetitions = 3\nsettle = \"100ms\"\n" +
	"[[settings]]\nname = \"near\"\n[[settings]]\nname = \"far\"\n[settings.overrides.down.path]\ndelay = \"115ms\"\n" +
	"[[traffic]]\nname = \"echo\"\nkind = \"ping\"\nevery = \"50ms\"\nduration = \"500ms\"\n"

// TestExperimentOverAPI: the box of a lab makes an experiment itself; it is
// stopped and gone on with, its report fetched, the lease given back as it
// was, and the link left as it was.
func TestExperimentOverAPI(t *testing.T) {
	t.Parallel()
	need.Root(t)
	l := labUp(t)
	box, err := target{api: l.API, token: l.Token}.dial()
	if err != nil {
		t.Fatal(err)
	}
	call := func(method, path string, in, out any) {
		t.Helper()
		if err := box.Call(t.Context(), method, path, in, out); err != nil {
			t.Fatal(err)
		}
	}
	call("PUT", "/lease", map[string]string{"purpose": "mine", "ttl": "10m"}, nil)
	wish := map[string]string{"document": echoTwice}
	var st shelf.ExperimentState
	call("PUT", "/experiments/night", wish, &st)
	if st.Phase != shelf.Running || st.Cells != 6 || st.Left <= 0 {
		t.Fatalf("begun: %+v", st)
	}
	follow := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not within a minute: %s; %+v", what, st)
			}
			call("GET", "/experiments/night", nil, &st)
		}
	}
	follow("two cells", func() bool { return st.Measured >= 2 })
	if st.Now == "" {
		t.Errorf("no cell is under way: %+v", st)
	}
	call("PUT", "/experiments/night", map[string]string{"phase": "stopped"}, nil)
	follow("stopped", func() bool { return st.Phase == shelf.Stopped })
	if st.Error != "" || st.Measured == 6 {
		t.Errorf("stopped: %+v", st)
	}
	had := st.Measured
	call("PUT", "/experiments/night", map[string]string{}, &st) // goes on
	if st.Phase != shelf.Running || st.Measured != had {
		t.Errorf("goes on: %+v", st)
	}
	follow("all cells", func() bool { return st.Phase == shelf.Ended })
	if st.Measured != 6 || st.Passed != 6 {
		t.Errorf("ended: %+v", st)
	}
	for format, want := range map[string]string{"html": "95 %", "csv": "echo.rtt_mean_ms", "json": `"summaries"`, "junit": `tests="6" failures="0"`} {
		if got := fetch(t, l.API, l.Token, "/experiments/night/report?format="+format); !strings.Contains(got, want) {
			t.Errorf("report as %s: %.300s", format, got)
		}
	}
	checkAsBefore(t, call)
	call("DELETE", "/experiments/night", nil, nil)
}

// checkAsBefore finds lease and link as the experiment found them.
func checkAsBefore(t *testing.T, call func(method, path string, in, out any)) {
	t.Helper()
	var lease struct {
		Purpose   string
		Remaining float64 `json:"remaining_s"`
	}
	call("GET", "/lease", nil, &lease)
	if lease.Purpose != "mine" || lease.Remaining < 60 || lease.Remaining > 600 {
		t.Errorf("the lease is not as it was: %+v", lease)
	}
	var want struct{ Profile string }
	if call("GET", "/link", nil, &want); want.Profile != "clear" {
		t.Errorf("the link is left at %s", want.Profile)
	}
}

func fetch(t *testing.T, api, token, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, api+"/api/v1"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("%s: %s: %s: %w", path, answer.Status, b, err))
	}
	return string(b)
}
