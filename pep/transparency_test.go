package pep

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

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
	d, c netlab.End // behind a and b, which are their routers
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
	bypass := r.tryAll(tried, 0)
	c := splitAll()
	multipath := true
	c.Rules = []Policy{{Rule: intercept.Rule{Name: "mptcp passes", MPTCP: &multipath}}}
	if err := r.proxy.Configure(c); err != nil {
		t.Fatal(err)
	}
	proxied := r.tryAll(tried, 1000)
	s, err := r.proxy.Status()
	if err != nil || s.Accepted < uint64(len(tried)) {
		t.Errorf("%d connections were split, %v; want at least one for each of %d behaviours", s.Accepted, err, len(tried))
	}
	if s.Intercept.Errors < 8 {
		t.Errorf("%d ICMP errors were steered, want those of four routers in two families at least", s.Intercept.Errors)
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

// tried are all behaviours.
var tried = slices.Concat(behaviours, below)

// prepareEnds makes the ends negotiate all that they can; gives the device an
// address to which the network's side has no way back; makes them routers,
// with an end behind each to which smaller packets go, and networks that they
// know no way to; and tells them where those are who play TCP by hand.
func prepareEnds(t *testing.T, r *rig) {
	t.Helper()
	each := `sysctl -qw net.ipv4.tcp_ecn=1 net.ipv4.tcp_fastopen=3 net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.icmp_ratemask=0 net.ipv6.icmp.ratelimit=0
	ip netns add BEHIND; ip link add r0 type veth peer name e0 netns BEHIND; ip link set r0 up
	ip addr add 10.NET.0.1/24 dev r0; ip -6 addr add fdNET::1/64 dev r0 nodad
	ip route replace 10.NET.0.0/24 dev r0 mtu 1300; ip -6 route replace fdNET::/64 dev r0 metric 256 mtu 1300
	ip -n BEHIND link set e0 up; ip -n BEHIND addr add 10.NET.0.2/24 dev e0; ip -n BEHIND -6 addr add fdNET::2/64 dev e0 nodad
	ip -n BEHIND route add default via 10.NET.0.1; ip -n BEHIND -6 route add default via fdNET::1
	for dev in e0 r0; do for o in tso gso gro tx; do ethtool -K $dev $o off 2>/dev/null || ip netns exec BEHIND ethtool -K $dev $o off; done; done`
	for i, end := range []struct {
		at       netlab.End
		commands string
	}{
		{r.A, `ip addr add 10.77.0.4/24 dev a0; ip -6 addr add fd77::4/64 dev a0 nodad preferred_lft 0
			for n in 81 93 94; do ip route add 10.$n.0.0/24 via 10.77.0.2; ip -6 route add fd$n::/64 via fd77::2; done
			ip route add blackhole 10.77.0.5/32; ip -6 route add blackhole fd77::5/128
			for n in 10.77.0.6 fd77::6; do ip neigh replace $n lladdr THERE dev a0; done`},
		{r.B, `ip route add blackhole 10.77.0.4/32; ip -6 route add blackhole fd77::4/128
			ip route add unreachable 10.93.0.0/24; ip -6 route add unreachable fd93::/64
			ip route add prohibit 10.94.0.0/24; ip -6 route add prohibit fd94::/64
			ip route add 10.80.0.0/24 via 10.77.0.1; ip -6 route add fd80::/64 via fd77::1
			ip route add blackhole 10.77.0.6/32; ip -6 route add blackhole fd77::6/128
			for n in 10.77.0.5 fd77::5; do ip neigh replace $n lladdr THERE dev b0; done`},
	} {
		behind := netlab.End{Netns: end.at.Netns + "-r", Dev: "e0", IP: net.IPv4(10, byte(80+i), 0, 2), V6: net.ParseIP(fmt.Sprintf("fd%d::2", 80+i))}
		t.Cleanup(func() { netlab.Remove(behind.Netns) })
		there := hardware([]netlab.End{r.B, r.A}[i])
		commands := strings.NewReplacer("BEHIND", behind.Netns, "NET", fmt.Sprint(80+i), "THERE", there).Replace(each + "\n" + end.commands)
		if out, err := end.at.Output("sh", "-ec", commands); err != nil {
			t.Fatalf("%s: %s", commands, out)
		}
		r.behind[i] = behind
	}
	tags, err := netlab.Tag(r.A, r.B)
	t.Cleanup(func() { tags.Close() })
	if errors.Is(err, ebpf.ErrNotSupported) { // a kernel before 6.6
		t.Log("frames are not tagged:", err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// TestOlderKernel: with clsact in place of tcx, and congestion controls
// registered without links, the proxy is as transparent.
func TestOlderKernel(t *testing.T) {
	r := newRigOf(t, Config{}, Place{Older: true})
	prepareEnds(t, r)
	some := slices.Concat(behaviours[:20], below)
	bypass := r.tryAll(some, 0)
	c := splitAll()
	c.WAN.Congestion = "hybla"
	if err := r.proxy.Configure(c); err != nil {
		t.Fatal(err)
	}
	proxied := r.tryAll(some, 1000)
	for key, want := range bypass {
		if got := proxied[key]; got != want {
			t.Errorf("%s: through the proxy %q, through the bypass %q", key, got, want)
		}
	}
	if s, err := r.proxy.Status(); err != nil || s.Attached != "clsact" || s.Accepted < uint64(len(some)) || len(s.Missing) > 0 {
		t.Errorf("status %+v, %v; want clsact, and connections split", s, err)
	}
	r.uses(t, "hybla")
	// Killed, it leaves its registered control, which the next one takes off.
	unix.Kill(r.proxy.PID(), unix.SIGKILL)
	<-r.proxy.Done()
	r.connect(t, false)
	r.start(t, c)
	r.uses(t, "hybla")
}

// uses expects a new connection to use a congestion control over the link.
func (r *rig) uses(t *testing.T, control string) {
	t.Helper()
	client, server := r.connect(t, false)
	exchange(t, client, server, "hello")
	if f, n, err := r.proxy.Flows(0, 100); err != nil || n == 0 || f[n-1].ToServer.Congestion != control {
		t.Errorf("flows %+v, %v; want one with %s", f, err, control)
	}
}

// TestMissing: where a control cannot be loaded, the one that the rule names
// takes its place, and the status says so.
func TestMissing(t *testing.T) {
	c := splitAll()
	c.Rules = []Policy{{Rule: intercept.Rule{Handshake: intercept.Deferred}, WAN: Leg{Congestion: "hybla", Fallback: "reno"}}}
	r := newRigOf(t, c, Place{Without: []string{"hybla"}})
	r.uses(t, "reno")
	s, err := r.proxy.Status()
	if err != nil || s.Missing["hybla"] == "" || s.Fallbacks != 1 {
		t.Errorf("status %+v, %v; want hybla missing, and one fallback", s, err)
	}
}

// tryAll tries behaviours at the same time.
func (r *rig) tryAll(tried []behaviour, first int) map[string]string {
	var mu sync.Mutex
	var all sync.WaitGroup
	seen := map[string]string{}
	room := make(chan struct{}, 16)
	for i, b := range tried {
		for j, family := range []string{"IPv4", "IPv6"} {
			all.Add(1)
			go func() {
				defer all.Done()
				room <- struct{}{}
				defer func() { <-room }()
				got := b.see(&trial{a: r.A, b: r.B, d: r.behind[0], c: r.behind[1], v6: j == 1, seen: first + 2*i + j})
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
	for _, b := range tried {
		for _, family := range []string{"IPv4", "IPv6"} {
			key := b.name + ", " + family
			same := "the same"
			if bypass[key] != proxied[key] {
				same, differ = "**"+proxied[key]+"**", differ+1
			}
			fmt.Fprintf(&d, "| %s | %s | %s | %s |\n", b.name, family, bypass[key], same)
		}
	}
	fmt.Fprintf(&d, "\n%d behaviours in two families, %d differences.\n", len(tried), differ)
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
- Sequence numbers, initial windows and timestamps are each leg's own; options are negotiated per leg. ECN marks of one leg
  slow that leg down, not the other.
- DSCP, hop limit, MAC addresses and tags of what a proxy sends are those that it saw last of the end it speaks for. An
  acknowledgement that an end sends alone may carry the DSCP of the bytes before it.
- Urgent bytes are passed on as urgent. Of two that are under way at a time the receiver sees the latter as urgent and the
  former in its place in the stream, as between hosts.
- An ICMP error that answers the first SYN is passed on to the client (deferred handshake). With an early handshake the client
  is connected by then, and is reset. Errors about a connection that stands are the leg's whose segment they quote.
- An end's keep-alives are answered by the proxy beside it; the proxies ask the ends themselves, after two idle hours.
- MPTCP is split only where a rule says so, and then as plain TCP. TCP with a Fast Open cookie or data in its SYN, TCP-MD5, IP
  fragments, IPv4 options and IPv6 extension headers cross unsplit.
`
