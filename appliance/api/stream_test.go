package api

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"farlink/appliance"
	"farlink/appliance/stream"
)

// heard is one message as a client hears it.
type heard struct {
	id    uint64
	event string
	data  string
}

// listener is a client of the stream.
type listener struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
	res    *http.Response
}

func (b *bench) listen(lastID string) *listener {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", b.url+Base+"/stream", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+readToken)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return &listener{b.t, lines, cancel, res}
}

// next returns the next message.
func (l *listener) next() (m heard) {
	l.t.Helper()
	for l.lines.Scan() {
		key, value, _ := strings.Cut(l.lines.Text(), ": ")
		switch key {
		case "id":
			m.id, _ = strconv.ParseUint(value, 10, 64)
		case "event":
			m.event = value
		case "data":
			m.data = value
		case "":
			if m.event != "" {
				return m
			}
		}
	}
	l.t.Fatalf("the stream ended: %v", l.lines.Err())
	return m
}

// until returns the first message that satisfies ok.
func (l *listener) until(ok func(heard) bool) heard {
	l.t.Helper()
	for {
		if m := l.next(); ok(m) {
			return m
		}
	}
}

func TestStream(t *testing.T) {
	b := newBench(t)
	l := b.listen("")
	first := l.next()
	hello := decoded[Hello](t, first.data)
	if first.event != "hello" || hello.Resumed || hello.Interval != 100 || hello.Status.Pairs[0].Word != appliance.Emulating {
		t.Fatalf("first message %+v", first)
	}
	last := first.id
	samples := 0
	for samples < 3 {
		m := l.next()
		if m.id != last+1 {
			t.Fatalf("id %d after %d", m.id, last)
		}
		last = m.id
		if m.event == "sample" {
			samples++
		}
	}
	b.ask(driveToken, "PUT", "/api/v1/link", `{"profile":"clear","seed":3}`)
	var state, applied bool
	for !state || !applied {
		m := l.next()
		state = state || m.event == "state" && strings.Contains(m.data, `"seed":3`)
		applied = applied || m.event == "event" && strings.Contains(m.data, `"applied"`)
	}
}

func TestStreamResumes(t *testing.T) {
	b := newBench(t)
	l := b.listen("")
	seen := l.until(func(m heard) bool { return m.event == "sample" })
	l.cancel()
	time.Sleep(350 * time.Millisecond) // some samples nobody hears
	l = b.listen(strconv.FormatUint(seen.id, 10))
	if hello := l.next(); !decoded[Hello](t, hello.data).Resumed || hello.id != seen.id {
		t.Fatalf("hello %+v after %d", hello, seen.id)
	}
	for want := seen.id + 1; want < seen.id+5; want++ {
		if m := l.next(); m.id != want {
			t.Fatalf("id %d, want %d", m.id, want)
		}
	}
	for _, id := range []string{"999999", "-1", "x"} { // of another life, or none
		if hello := b.listen(id).next(); decoded[Hello](t, hello.data).Resumed {
			t.Errorf("resumed after id %s", id)
		}
	}
}

func TestStreamBound(t *testing.T) {
	b := newBench(t)
	for range stream.Most {
		b.server.hub.Join(0)
	}
	l := b.listen("")
	if l.res.StatusCode != http.StatusServiceUnavailable || l.res.Header.Get("Retry-After") == "" {
		t.Errorf("status %d", l.res.StatusCode)
	}
}

func TestLongPoll(t *testing.T) {
	b := newBench(t)
	first := b.ask(readToken, "GET", "/api/v1/status", "")
	tag := first.Header.Get("ETag")
	if again := b.ask(readToken, "GET", "/api/v1/status", "", "If-None-Match", tag); again.StatusCode != http.StatusNotModified || again.body != "" {
		t.Errorf("status %d: %s", again.StatusCode, again.body)
	}
	if late := b.ask(readToken, "GET", "/api/v1/status", "", "If-None-Match", tag, "Prefer", "wait=1"); late.StatusCode != http.StatusNotModified {
		t.Errorf("status %d after a wait in vain", late.StatusCode)
	}
	go func() {
		time.Sleep(100 * time.Millisecond)
		b.box.Apply(context.Background(), "", appliance.Want{Link: appliance.Link{Profile: "clear", Seed: 5}}, appliance.Options{})
	}()
	begun := time.Now()
	woken := b.ask(readToken, "GET", "/api/v1/status", "", "If-None-Match", tag, "Prefer", "respond-async, wait=30")
	if woken.StatusCode != http.StatusOK || !strings.Contains(woken.body, `"seed":5`) || woken.Header.Get("Preference-Applied") != "wait=30" {
		t.Errorf("status %d: %.200s", woken.StatusCode, woken.body)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("woken after %s", took)
	}
}
