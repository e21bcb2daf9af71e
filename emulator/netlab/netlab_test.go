package netlab

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"farlink/emulator/need"
	"farlink/emulator/netspace"
)

func lab(t *testing.T, o Options) *Lab {
	t.Helper()
	need.Root(t)
	l, err := New(fmt.Sprintf("n%x%x", os.Getpid()&0xffff, rand.N(0xfff)), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// On a plain bridge everything that measures must find nothing wrong.
func TestMeasuresOnABridge(t *testing.T) {
	l := lab(t, Options{})
	if err := l.Bridge(); err != nil {
		t.Fatal(err)
	}
	out, err := l.A.Output("ping", "-c", "2", "-i", "0.01", l.B.V6.String())
	if err != nil {
		t.Fatalf("ping: %v\n%s", err, out)
	}
	d, err := Probe(l.A, l.B, ProbeOptions{Count: 50, Every: time.Millisecond, VLAN: 7})
	if err != nil || len(d.NS) != 50 {
		t.Errorf("probe: %v, %d of 50 came", err, len(d.NS))
	}
	if least := d.Quantile(0); least <= 0 || least > 10*time.Millisecond {
		t.Errorf("least delay of a bridge %v", least)
	}
	f, err := Flood(l.B, l.A, FloodOptions{Rate: 20000, Most: 2000, For: 5 * time.Second})
	if err != nil || f.Sent < 2000 || f.Received < f.Sent || f.Received > f.Sent+10 {
		t.Errorf("flood: %v, %+v; want the asked 2000 and a few of the stack, none lost", err, f)
	}
	if err := netspace.Do(l.Box, func() error { return poll(l.PortB) }); err != nil {
		t.Fatal(err)
	}
	f, err = Flood(l.B, l.A, FloodOptions{Rate: 20000, Most: 2000, For: 300 * time.Millisecond, Driver: true})
	if err != nil || f.Sent != 2000 || f.Received < f.Sent || f.Received > f.Sent+10 || f.For < 90*time.Millisecond {
		t.Errorf("flood by the driver: %v, %+v; want the asked 2000 in 100 ms or more, none lost", err, f)
	}
	tr, err := TCP(l.A, l.B, 200*time.Millisecond)
	if err != nil || tr.Mbits() < 50 {
		t.Errorf("TCP: %v, %.0f Mbit/s", err, tr.Mbits())
	}
	if err := l.Unbridge(); err != nil {
		t.Error(err)
	}
	if _, err := l.A.Output("ping", "-c", "1", "-W", "1", l.B.IP.String()); err == nil {
		t.Error("without the bridge there is still a way")
	}
}

// What a process looking at a tap sees is the frame that was sent, tag
// included.
func TestTapKeepsTheTag(t *testing.T) {
	l := lab(t, Options{MTU: 9216})
	if err := l.Bridge(); err != nil {
		t.Fatal(err)
	}
	a, err := l.A.Tap()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.B.Tap()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sent := probeFrame(ProbeOptions{Size: 9000, VLAN: 100})
	if err := a.Send(sent); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	for {
		f, err := b.Receive(buf, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Bytes) > 12 && f.Bytes[11] == 0xfe {
			if !bytes.Equal(f.Bytes, sent) {
				t.Errorf("%d bytes came, head % x; %d were sent", len(f.Bytes), f.Bytes[:20], len(sent))
			}
			return
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	need.Root(t)
	state := func() string {
		out, err := exec.Command("sh", "-c", "ip -o link | cut -d: -f2; ls /run/netns 2>/dev/null | grep ^gone").CombinedOutput()
		if err != nil && len(out) == 0 {
			t.Fatal(err)
		}
		return string(out)
	}
	before := state()
	name := fmt.Sprintf("gone%x", os.Getpid()&0xffff)
	l, err := New(name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(name, Options{}); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the same name again: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
	if after := state(); strings.Contains(after, name) || len(after) > len(before) && !strings.Contains(after, "@") {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
