package api

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/emulator/link"
	"farlink/emulator/pcap"
)

// The bench's engine tells a fate ten times a second in way up: every fifth
// frame is lost at random.
func (e *engine) Tap(link.Way, bool) {}
func (e *engine) Tapped(w link.Way) uint64 {
	return uint64(w) * uint64(e.RunTime()/1e8)
}
func (e *engine) RunTime() link.Time { return link.Time(time.Since(e.born)) }
func (e *engine) Fates(w link.Way, from uint64, yield func(link.Time, link.Fate, []byte) bool) (uint64, uint64) {
	for ; from < e.Tapped(w); from++ {
		f := link.Fate{Packet: link.Packet{When: link.Time(from * 1e8), Seq: from, Body: link.Body{Size: 98}}}
		if from%5 == 4 {
			f.Cause.Reason = link.Random
		}
		if !yield(f.Packet.When, f, make([]byte, 98)) {
			break
		}
	}
	return from, 0
}

func packets(t *testing.T, body string) (all []pcap.Packet) {
	t.Helper()
	in, err := pcap.NewReader(bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestCapture(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, func(c *Config) { c.Capture, c.State = true, dir })
	b.until("frames are kept", func() bool {
		return decoded[CaptureState](t, b.ask(readToken, "GET", "/api/v1/capture", "").body).Packets >= 3
	})
	got := b.ask(driveToken, "GET", "/api/v1/capture/pcap?last=20s", "")
	if got.Header.Get("Content-Type") != typePcapng || !strings.Contains(got.Header.Get("Content-Disposition"), ".pcapng") || !strings.Contains(got.body, "main: clear@") {
		t.Errorf("%v", got.Header)
	}
	if p := packets(t, got.body); len(p) < 3 || !strings.HasPrefix(p[0].Comment, "delivered up, packet ") && !strings.HasPrefix(p[0].Comment, "lost random") {
		t.Errorf("%d packets, %+v", len(p), p)
	}
	if got := b.ask(readToken, "GET", "/api/v1/capture/pcap", ""); got.StatusCode != 403 {
		t.Errorf("others' frames for who may only look: %d", got.StatusCode)
	}
	if got := b.ask(driveToken, "GET", "/api/v1/capture/pcap?last=2m", ""); got.StatusCode != 422 {
		t.Errorf("two minutes: %d", got.StatusCode)
	}

	l := b.listen("")
	set := b.ask(driveToken, "PUT", "/api/v1/capture", `{"armed":true,"trigger":{"lost":"random","wait":"100ms"}}`)
	if set.StatusCode != 200 || !strings.Contains(set.body, `"trigger":{"lost":"random"`) {
		t.Fatalf("%d %s", set.StatusCode, set.body)
	}
	saved := decoded[CaptureSaved](t, l.until(func(m heard) bool { return m.event == "capture" }).data)
	if saved.Pair != "main" || saved.Why != "lost random" {
		t.Errorf("%+v", saved)
	}
	st := decoded[CaptureState](t, b.ask(readToken, "GET", "/api/v1/capture", "").body)
	if len(st.Saved) != 1 || st.Saved[0] != saved.ID || st.Trigger != nil {
		t.Errorf("%+v", st)
	}
	if got := b.ask(driveToken, "GET", "/api/v1/capture/saved/"+saved.ID, ""); len(packets(t, got.body)) == 0 {
		t.Error("nothing saved")
	}
	for _, bad := range []string{"x", "..%2F..%2Fetc%2Fpasswd", "20200101T000000.000-main"} {
		if got := b.ask(driveToken, "GET", "/api/v1/capture/saved/"+bad, ""); got.StatusCode != 404 {
			t.Errorf("%s: %d", bad, got.StatusCode)
		}
	}
	for body, where := range map[string]string{`{"armed":true,"trigger":{"lost":"bad luck"}}`: "body.trigger.lost", `{"armed":true,"trigger":{"wait":"1h"}}`: "body.trigger.wait",
		`{"armed":true,"trigger":{"mark":"x"}}`: "body.trigger.mark", `{"armed":true,"trigger":{"wait":"1s"}}`: "want one of lost, mark",
		`{"armed":true,"trigger":{"rate_below":"0"}}`: "body.trigger.rate_below", `{"armed":true,"trigger":{"rate_above":"fast"}}`: "body.trigger.rate_above",
		`{"armed":true,"trigger":{"rtt_above":"2h"}}`: "body.trigger.rtt_above", `{"armed":true,"trigger":{"rtt_above":"1s","way":"up"}}`: "body.trigger.way"} {
		if got := b.ask(driveToken, "PUT", "/api/v1/capture", body); got.StatusCode != 422 || !strings.Contains(got.body, where) {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
		}
	}
	b.ask(driveToken, "PUT", "/api/v1/capture", `{"armed":false}`)
	if st := decoded[CaptureState](t, b.ask(readToken, "GET", "/api/v1/capture", "").body); st.Armed || st.Packets != 0 {
		t.Errorf("%+v", st)
	}
}

// TestCaptureFigures: what the box measures and what its users mark saves a
// capture, too.
func TestCaptureFigures(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, func(c *Config) { c.Capture, c.State = true, dir })
	l := b.listen("")
	fires := func(trigger, why string, then func()) {
		t.Helper()
		if got := b.ask(driveToken, "PUT", "/api/v1/capture", `{"armed":true,"trigger":`+trigger+`}`); got.StatusCode != 200 {
			t.Fatalf("%s: %d %s", trigger, got.StatusCode, got.body)
		}
		then()
		if got := decoded[CaptureSaved](t, l.until(func(m heard) bool { return m.event == "capture" }).data); got.Pair != "main" || !strings.HasPrefix(got.Why, why) {
			t.Errorf("%s: %+v, want %s", trigger, got, why)
		}
	}
	// 300 ms up, 280 + 20 ms of queue down.
	fires(`{"rtt_above":"599ms","wait":"0s"}`, "rtt 600ms above 599ms", func() {
		b.engine.show(appliance.Figures{}, appliance.Reading{Link: "main", Way: "up", Name: "delay_ms", Value: 300},
			appliance.Reading{Link: "main", Way: "down", Name: "delay_ms", Value: 280}, appliance.Reading{Link: "main", Way: "down", Name: "queue_ms", Value: 20})
	})
	// 100 Mbit/s or more for a tenth of a second are 10 Mbit/s of the second.
	fires(`{"way":"up","rate_above":"2Mbit/s","wait":"0s"}`, "rate up ", func() {
		b.engine.show(appliance.Figures{Up: appliance.WayFigures{BytesIn: 5e6, BytesOut: 5e6, PacketsOut: 4000}})
	})
	if got := b.ask(driveToken, "PUT", "/api/v1/runs/one", `{}`); got.StatusCode != 200 {
		t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	fires(`{"run_mark":"moved","wait":"0s"}`, "mark moved", func() {
		for _, text := range []string{"begin", "moved"} {
			b.ask(driveToken, "POST", "/api/v1/runs/one/marks", `{"text":"`+text+`"}`)
		}
	})
}
