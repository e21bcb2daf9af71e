package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/lab"
	"farlink/emulator/need"
)

// TestMain lets the test's binary be farlink itself, so that labs run the
// code under test.
func TestMain(m *testing.M) {
	if os.Getenv("FARLINK_ROLE") != "" || os.Getenv("FARLINK_TEST") != "" {
		main()
		return
	}
	// The labs' tests wait far more than they work.
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// farlink runs the command and returns what it printed and its status.
func farlink(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	c := another(args...)
	c.Stdout, c.Stderr = &out, &err
	failure := c.Run()
	var exit *exec.ExitError
	if failure != nil && !errors.As(failure, &exit) {
		t.Fatal(failure)
	}
	return out.String(), err.String(), c.ProcessState.ExitCode()
}

// another is the command for another process to be farlink.
func another(args ...string) *exec.Cmd {
	c := exec.Command("/proc/self/exe", args...)
	c.Env = append(os.Environ(), "FARLINK_TEST=1")
	return c
}

// must is farlink where it may not fail.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, stderr, status := farlink(t, args...)
	if status != 0 {
		t.Fatalf("farlink %s: status %d\n%s%s", strings.Join(args, " "), status, out, stderr)
	}
	return out
}

// labUp makes a lab with a name of its own, and takes it down in the end.
func labUp(t *testing.T, args ...string) lab.Lab {
	t.Helper()
	need.Root(t)
	name := fmt.Sprintf("t%x", rand.Uint32())
	t.Cleanup(func() {
		if _, err := lab.Find(name); err == nil {
			must(t, "lab", "down", "--name", name)
		}
	})
	var l lab.Lab
	out := must(t, append([]string{"lab", "up", "--name", name, "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &l); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return l
}

// ping returns the round trips in ms of n echoes, and how many were sent.
func ping(t *testing.T, l lab.Lab, to string, n int) []float64 {
	t.Helper()
	out, _, _ := farlink(t, "lab", "exec", "--name", l.Name, "a", "--", "ping", "-c", fmt.Sprint(n+1), "-i", "0.2", "-W", "3", to)
	return echoes(out)
}

// echoes reads what ping says. The first echo also waits for the neighbour to
// be found: not counted.
func echoes(out string) (rtts []float64) {
	for line := range strings.Lines(out) {
		var ms float64
		_, at, found := strings.Cut(line, "time=")
		if _, err := fmt.Sscanf(at, "%f", &ms); found && err == nil && !strings.Contains(line, "icmp_seq=1 ") {
			rtts = append(rtts, ms)
		}
	}
	return rtts
}

// least is the smallest of them; of none it is an error.
func least(t *testing.T, rtts []float64) float64 {
	t.Helper()
	if len(rtts) == 0 {
		t.Fatal("no echo came back")
	}
	m := rtts[0]
	for _, x := range rtts {
		m = min(m, x)
	}
	return m
}

// ask asks the lab's API.
func ask(t *testing.T, l lab.Lab, method, path, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequest(method, l.API+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+l.Token)
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var b bytes.Buffer
	b.ReadFrom(a.Body)
	return a.StatusCode, b.String()
}

// state is that of the lab's pair.
func state(t *testing.T, l lab.Lab) appliance.PairState {
	t.Helper()
	_, body := ask(t, l, http.MethodGet, "/status", "")
	var s appliance.State
	if err := json.Unmarshal([]byte(body), &s); err != nil || len(s.Pairs) != 1 {
		t.Fatalf("%v in %s", err, body)
	}
	return s.Pairs[0]
}

// eventually waits until f holds: as long as it may take, and three times that
// before it gives up, for what is asked is that it comes.
func eventually(t *testing.T, d time.Duration, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * d); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", 3*d, what)
		}
	}
}

func sh(t *testing.T, script string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// ended reports whether the process has ended, though nobody may have waited
// for it yet (state Z).
func ended(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

// Each line of an error says who speaks, but those that are indented.
func TestComplain(t *testing.T) {
	var out strings.Builder
	complain(&out, errors.Join(errors.New("one is wrong"), errors.New("two is wrong\n  here")))
	if want := "farlink: one is wrong\nfarlink: two is wrong\n  here\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
