package bus

import (
	"testing"

	"farlink/appliance"
)

func ids(events []appliance.Event) (first, last uint64, n int) {
	if len(events) == 0 {
		return 0, 0, 0
	}
	return events[0].ID, events[len(events)-1].ID, len(events)
}

func TestBusResumes(t *testing.T) {
	var b Bus
	for range 3000 {
		b.Publish(appliance.Event{Kind: appliance.KindLink})
	}
	cases := []struct {
		after       uint64
		first, last uint64
		missed      bool
	}{
		{3000, 0, 0, false},
		{2999, 3000, 3000, false},
		{1976, 1977, 3000, false}, // the oldest of the 1024 kept
		{1975, 1977, 3000, true},
		{0, 1977, 3000, true},
		{9999, 1977, 3000, true}, // an id of an earlier life
	}
	for _, c := range cases {
		s := b.Subscribe(c.after)
		first, last, _ := ids(s.Past)
		if first != c.first || last != c.last || s.Missed != c.missed {
			t.Errorf("after %d: %d to %d, missed %v", c.after, first, last, s.Missed)
		}
		s.Close()
		s.Close()
	}
	if len(b.subs) != 0 {
		t.Errorf("%d subscriptions left", len(b.subs))
	}
}

func TestBusDropsTheSlow(t *testing.T) {
	var b Bus
	slow, quick := b.Subscribe(0), b.Subscribe(0)
	for i := range uint64(queued + 1) {
		b.Publish(appliance.Event{})
		if e := <-quick.C; e.ID != i+1 {
			t.Fatalf("event %d came as %d", i+1, e.ID)
		}
	}
	n := 0
	for range slow.C {
		n++
	}
	if n != queued || len(b.subs) != 1 {
		t.Errorf("slow one got %d events, %d subscriptions left", n, len(b.subs))
	}
}
