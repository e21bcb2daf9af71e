package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/lab"
	"farlink/emulator/netspace"
)

// talk is a connection from the lab's device to its network, whose other end
// says back what it hears.
type talk struct{ net.Conn }

func newTalk(t *testing.T, l lab.Lab) *talk {
	t.Helper()
	var server net.Listener
	err := netspace.Do(l.Name+"-b", func() (err error) {
		server, err = net.Listen("tcp4", "10.77.0.2:0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		if c, err := server.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	k := &talk{}
	err = netspace.Do(l.Name+"-a", func() (err error) {
		k.Conn, err = net.DialTimeout("tcp4", server.Addr().String(), 10*time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// echoes reports what is wrong with the connection.
func (k *talk) echoes(word string) error {
	k.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(k, word); err != nil {
		return err
	}
	got := make([]byte, len(word))
	if _, err := io.ReadFull(k, got); err != nil || string(got) != word {
		return fmt.Errorf("%q came back, %v", got, err)
	}
	return nil
}

func pepOf(t *testing.T, l lab.Lab) (s appliance.PEPState) {
	t.Helper()
	status, body := ask(t, l, http.MethodGet, "/pep", "")
	if err := json.Unmarshal([]byte(body), &s); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	return s
}

// TestPEPLive: changes of rules and legs are whole or not at all, connections
// that are split survive them, and flows are shown page by page.
func TestPEPLive(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "clear", "--pep")
	talks := []*talk{newTalk(t, l), newTalk(t, l), newTalk(t, l)}
	for _, c := range []struct {
		method, body string
		status       int
	}{
		{http.MethodPatch, `{"handshake": "pass", "wan": {"congestion": "hybla"}}`, 200},
		{http.MethodPatch, `{"handshake": "early", "wan": {"congestion": "nosuch"}}`, 422},
		{http.MethodPut, `{"near": true, "far": true, "enabled": true, "handshake": "deferred", "rules": [{"ports": [5, 1]}]}`, 422},
		{http.MethodPut, `{"near": true, "far": true, "enabled": true, "handshake": "early", "wan": {"congestion": "resume"}}`, 200},
	} {
		before := pepOf(t, l)
		status, body := ask(t, l, c.method, "/pep", c.body)
		after := pepOf(t, l)
		if status != c.status || (before.ETag == after.ETag) != (status != 200) {
			t.Errorf("%s %s: %d %s; etag %s, then %s", c.method, c.body, status, body, before.ETag, after.ETag)
		}
		for i, k := range talks {
			if err := k.echoes("still here"); err != nil {
				t.Errorf("connection %d after %s: %v", i, c.body, err)
			}
		}
	}
	if s := pepOf(t, l); s.Want.Handshake.String() != "early" || s.Want.WAN.Congestion != "resume" || s.Proxies[0].Flows != 3 {
		t.Errorf("%+v", s)
	}
	young := newTalk(t, l)
	if err := young.echoes("young"); err != nil {
		t.Error(err)
	}
	var page struct {
		Total int
		Flows []appliance.Split
	}
	_, body := ask(t, l, http.MethodGet, "/flows?side=near&offset=2&limit=5", "")
	if err := json.Unmarshal([]byte(body), &page); err != nil || page.Total != 4 || len(page.Flows) != 2 ||
		page.Flows[1].Client != young.LocalAddr().String() || page.Flows[1].ToServer.Congestion != "resume" ||
		page.Flows[0].ToClient.State != "established" || page.Flows[0].ToServer.RTTms == 0 || page.Flows[0].UpBytes != 40 {
		t.Errorf("flows from the third on: %s", body)
	}
	if out := must(t, "flows", "--lab", l.Name, "--limit", "1"); !strings.Contains(out, talks[0].LocalAddr().String()) || !strings.Contains(out, "1 of 4 split connections") {
		t.Errorf("flows:\n%s", out)
	}
	if out := must(t, "pep", "status", "--lab", l.Name); !strings.Contains(out, "proxies near and far, on") || !strings.Contains(out, "near") {
		t.Errorf("pep status:\n%s", out)
	}
}

// TestPEPSwitched: proxies come and go under an echo each 5 ms; no port loses
// its carrier, and what was to cross goes on crossing.
func TestPEPSwitched(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "clear")
	least(t, ping(t, l, "10.77.0.2", 1))
	carriers := strings.ReplaceAll("for d in NS-a/a0 NS-b/b0 NS-box/a1 NS-box/b1; do ip netns exec ${d%/*} cat /sys/class/net/${d#*/}/carrier_changes; done", "NS", l.Name)
	before := sh(t, carriers)
	for _, what := range []string{"on --sides both", "on --sides near", "off"} {
		echoes := make(chan string)
		go func() {
			out, _, _ := farlink(t, "lab", "exec", "--name", l.Name, "a", "--", "ping", "-n", "-q", "-i", "0.005", "-c", "600", "-W", "1", "10.77.0.2")
			echoes <- out
		}()
		time.Sleep(200 * time.Millisecond)
		must(t, append(strings.Fields("pep set "+what), "--lab", l.Name)...)
		if err := newTalk(t, l).echoes("hello"); err != nil {
			t.Errorf("after %s: %v", what, err)
		}
		var sent, received int
		out := <-echoes
		_, counts, _ := strings.Cut(out, "statistics ---\n")
		if n, _ := fmt.Sscanf(counts, "%d packets transmitted, %d received", &sent, &received); n != 2 || received < sent*8/10 {
			t.Errorf("pep %s: %d of %d echoes came back\n%s", what, received, sent, out)
		}
		t.Logf("pep %s: %d of %d echoes, one each 5 ms at most, did not come back", what, sent-received, sent)
	}
	if after := sh(t, carriers); after != before {
		t.Errorf("carrier changes %q, then %q", before, after)
	}
}

// TestHungProxy: one that hangs does not keep figures from being shown, nor
// new connections from crossing.
func TestHungProxy(t *testing.T) {
	t.Parallel()
	l := labUp(t, "--profile", "clear", "--pep")
	if e := state(t, l).Engine; (e.DriverWhy == "") != strings.HasPrefix(e.Driver, "native") {
		t.Errorf("driver %q, why %q", e.Driver, e.DriverWhy)
	}
	pid := pepOf(t, l).Proxies[0].PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	s := pepOf(t, l)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the proxies are shown after %v", took)
	}
	if s.Proxies[0].Silent == "" || s.Proxies[1].Silent != "" {
		t.Errorf("%+v: want the near proxy to be silent", s.Proxies)
	}
	if err := newTalk(t, l).echoes("past it"); err != nil {
		t.Error(err)
	}
	eventually(t, 30*time.Second, "another proxy is in its place", func() bool {
		s := pepOf(t, l)
		return s.Proxies[0].PID != pid && s.Proxies[0].Silent == ""
	})
}
