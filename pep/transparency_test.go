package pep

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"farlink/emulator/netlab"
	"farlink/pep/intercept"
)

// behaviour is one thing that TCP does, seen from its two ends. It returns
// what they saw.
type behaviour struct {
	name string
	see  func(x *trial) string
}

// trial is where a behaviour is tried.
type trial struct {
	a, b netlab.End
	v6   bool
	seen int // sequence number, for ports and names of its own
}

const transparencyDoc = "../docs/pep-transparency.md"

// TestTransparency tries every behaviour through the bypass and through the
// proxy, over IPv4 and IPv6: the ends must see the same. It writes what it
// found as docs/pep-transparency.md, and in CI demands that it is that.
func TestTransparency(t *testing.T) {
	r := newRig(t, Config{})
	prepareEnds(t, r)
	bypass := tryAll(r.Lab, 0)
	c := splitAll()
	multipath := true
	c.Rules = []Policy{{Rule: intercept.Rule{Name: "mptcp passes", MPTCP: &multipath}}}
	if err := r.proxy.Configure(c); err != nil {
		t.Fatal(err)
	}
	proxied := tryAll(r.Lab, 1000)
	s, err := r.proxy.Status()
	if err != nil || s.Accepted < uint64(len(behaviours)) {
		t.Errorf("%d connections were split, %v; want at least one for each of %d behaviours", s.Accepted, err, len(behaviours))
	}
	for key, want := range bypass {
		if strings.Contains(want, "connect: ") || strings.Contains(want, "silence") && !strings.Contains(key, "silent") {
			t.Errorf("%s: through the bypass %q: the rig is broken", key, want)
		}
		if got := proxied[key]; got != want {
			t.Errorf("%s: through the proxy %q, through the bypass %q", key, got, want)
		}
	}
	compareDoc(t, bypass, proxied)
}

// prepareEnds makes the ends negotiate all that they can, and gives the
// device an address to which the network's side has no way back.
func prepareEnds(t *testing.T, r *rig) {
	t.Helper()
	for _, end := range []struct {
		at       netlab.End
		commands []string
	}{
		{r.A, []string{"ip addr add 10.77.0.4/24 dev " + r.A.Dev, "ip -6 addr add fd77::4/64 dev " + r.A.Dev + " nodad preferred_lft 0"}},
		{r.B, []string{"ip route add blackhole 10.77.0.4/32", "ip -6 route add blackhole fd77::4/128"}},
	} {
		for _, c := range append(end.commands, "sysctl -qw net.ipv4.tcp_ecn=1", "sysctl -qw net.ipv4.tcp_fastopen=3") {
			if out, err := end.at.Output("sh", "-c", c); err != nil {
				t.Fatalf("%s: %s", c, out)
			}
		}
	}
}

// tryAll tries all behaviours at the same time.
func tryAll(lab *netlab.Lab, first int) map[string]string {
	var mu sync.Mutex
	var all sync.WaitGroup
	seen := map[string]string{}
	room := make(chan struct{}, 16)
	for i, b := range behaviours {
		for j, family := range []string{"IPv4", "IPv6"} {
			all.Add(1)
			go func() {
				defer all.Done()
				room <- struct{}{}
				defer func() { <-room }()
				got := b.see(&trial{a: lab.A, b: lab.B, v6: j == 1, seen: first + 2*i + j})
				mu.Lock()
				defer mu.Unlock()
				seen[b.name+", "+family] = got
			}()
		}
	}
	all.Wait()
	return seen
}

// compareDoc writes the document, or compares it in CI.
func compareDoc(t *testing.T, bypass, proxied map[string]string) {
	t.Helper()
	var d strings.Builder
	differ := 0
	fmt.Fprintf(&d, "# Transparency of the proxies\n\nWritten by `TestTransparency` of package `pep`: each behaviour is tried through the bypass and through a proxy that splits\nevery connection, and what the two ends saw is compared. A deferred handshake; one proxy; both families.\n\n")
	fmt.Fprintf(&d, "| behaviour | family | the ends see | through the proxy |\n|---|---|---|---|\n")
	for _, b := range behaviours {
		for _, family := range []string{"IPv4", "IPv6"} {
			key := b.name + ", " + family
			same := "the same"
			if bypass[key] != proxied[key] {
				same, differ = "**"+proxied[key]+"**", differ+1
			}
			fmt.Fprintf(&d, "| %s | %s | %s | %s |\n", b.name, family, bypass[key], same)
		}
	}
	fmt.Fprintf(&d, "\n%d behaviours in two families, %d differences.\n", len(behaviours), differ)
	fmt.Fprint(&d, knownDifferences)
	old, _ := os.ReadFile(transparencyDoc)
	if string(old) == d.String() {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Errorf("%s is not what was found: run the test and commit it", transparencyDoc)
		return
	}
	if err := os.WriteFile(transparencyDoc, []byte(d.String()), 0o644); err != nil {
		t.Error(err)
	}
}

const knownDifferences = `
## What a split connection cannot keep

- Bytes are acknowledged by the proxy before the far end has them. When the path breaks, a sender may have been told that up
  to a buffer of bytes is received which the far end never gets; it then sees a reset or a time-out.
- The urgent pointer is not passed on: the urgent byte stays in its place in the stream, as with SO_OOBINLINE.
- Sequence numbers, initial windows and timestamps are each leg's own; options are negotiated per leg. ECN marks of one leg
  slow that leg down, not the other.
- An ICMP error that answers the first SYN (host or network unreachable, prohibited) ends the attempt by silence: the client
  times out instead of hearing the error. A refusal (reset) is passed on.
- MPTCP is split only where a rule says so, and then as plain TCP. TCP with a Fast Open cookie or data in its SYN, TCP-MD5, IP
  fragments and IPv6 extension headers cross unsplit. Simultaneous open is not tried here.
`
