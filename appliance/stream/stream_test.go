package stream

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestRing(t *testing.T) {
	h := New()
	for range 3 * ringLength {
		h.Publish("sample", 1)
	}
	if c := h.Join(1); c.Resumed || len(c.past) != 0 || c.from != 3*ringLength {
		t.Error("resumed after a message that is gone")
	}
	if c := h.Join(3*ringLength - 5); !c.Resumed || len(c.past) != 5 || c.past[0].id != 3*ringLength-4 || c.from != 3*ringLength-5 {
		t.Errorf("past %d, from %d, resumed %v", len(c.past), c.from, c.Resumed)
	}
	if c := h.Join(3 * ringLength); !c.Resumed || len(c.past) != 0 {
		t.Error("nothing missed is a resumption too")
	}
	if c := h.Join(3*ringLength + 1); c.Resumed {
		t.Error("resumed after an id of another life")
	}
}

func TestTheSlowAreDropped(t *testing.T) {
	h := New()
	slow, quick := h.Join(0), h.Join(0)
	for range behindMost + 1 {
		h.Publish("sample", 1)
		<-quick.live
	}
	if clients, dropped := h.Load(); clients != 1 || dropped != 1 {
		t.Errorf("%d clients, %d dropped", clients, dropped)
	}
	n := 0
	for range slow.live {
		n++
	}
	if n != behindMost || !slow.slow {
		t.Errorf("the slow client got %d of %d before its end", n, behindMost)
	}
	slow.Leave() // twice is nothing
	quick.Leave()
	if clients, _ := h.Load(); clients != 0 {
		t.Errorf("%d clients left", clients)
	}
}

func TestMost(t *testing.T) {
	h := New()
	for range Most {
		if h.Join(0) == nil {
			t.Fatal("too few clients")
		}
	}
	if h.Join(0) != nil {
		t.Error("one too many")
	}
}

func TestVersion(t *testing.T) {
	h := New()
	changed := h.Changed()
	if !h.Seen("a") || h.Seen("a") {
		t.Error("a is new once")
	}
	select {
	case <-changed:
	default:
		t.Error("who waits was not woken")
	}
	h.Kick()
	h.Kick() // twice is once
	<-h.Kicked()
	select {
	case <-h.Kicked():
		t.Error("kicked twice")
	default:
	}
}

func TestServe(t *testing.T) {
	h := New()
	h.Publish("sample", 1)
	h.Publish("sample", 2)
	c := h.Join(1)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	h.Publish("event", map[string]string{"text": "a\nb"})
	c.Leave() // ends it when all is sent
	w := httptest.NewRecorder()
	c.Serve(ctx, w, "hi")
	want := "retry: 1000\n\nid: 1\nevent: hello\ndata: \"hi\"\n\nid: 2\nevent: sample\ndata: 2\n\nid: 3\nevent: event\ndata: {\"text\":\"a\\nb\"}\n\n"
	if got := w.Body.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if strings.Contains(want, "id: 0") || ctx.Err() != nil {
		t.Error("an id of 0, or it did not end")
	}
}
