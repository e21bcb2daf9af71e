package dama

import (
	"fmt"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// swap puts next in the place of old, as a link does.
func swap(old, next *Station, now link.Time) {
	next.Inherit(now, old)
	old.Drain(func(p link.Packet) { next.Adopt(now, p) })
}

// A swap in the middle loses nothing and keeps the order.
func TestSucceed(t *testing.T) {
	for name, cfg := range cases {
		_, s := alone(t, cfg)
		_, next := alone(t, cfg)
		log := &linktest.Log{}
		arrivals := linktest.Arrivals(6, 1000, 14*link.Millisecond)
		var stage link.Stage = s
		for i, p := range arrivals {
			stage.Put(p, log)
			if i == 500 {
				swap(s, next, p.When)
				stage = next
			}
		}
		stage.Run(link.Time(300*link.Second), log)
		linktest.Ordered(t, log)
		if held, _ := next.Held(); len(log.Fates) != len(arrivals) || held != 0 {
			t.Errorf("%s: %d fates of %d, %d still held", name, len(log.Fates), len(arrivals), held)
		}
	}
}

// With the same configuration a swap is not to be seen at all.
func TestSucceedUnseen(t *testing.T) {
	cfg := cases["conserve"]
	arrivals := linktest.Arrivals(6, 1000, 14*link.Millisecond)
	_, s := alone(t, cfg)
	want := linktest.Drive(s, arrivals, linktest.Every(link.Second), link.Time(60*link.Second))
	_, a := alone(t, cfg)
	_, b := alone(t, cfg)
	log := &linktest.Log{}
	var stage link.Stage = a
	for i, p := range arrivals {
		if stage.Put(p, log); i == 500 {
			swap(a, b, p.When)
			stage = b
		}
	}
	stage.Run(link.Time(60*link.Second), log)
	if got := fmt.Sprint(len(log.Delivered()), log.Digest()); got != fmt.Sprint(len(want.Delivered()), want.Digest()) {
		t.Errorf("fates differ: %d delivered, want %d", len(log.Delivered()), len(want.Delivered()))
	}
}
