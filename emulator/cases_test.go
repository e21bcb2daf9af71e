package emulator

import (
	"fmt"
	"testing"

	"farlink/emulator/frame/frametest"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// The cases are complaints about other emulators, made into tests of whole
// links; those of single stages stand in emulator/stage.

// paced offers full frames at a rate for a time and returns the log.
func paced(e *Emulator, w link.Way, rate link.Rate, length, rest link.Duration) *linktest.Log {
	log := &linktest.Log{}
	gap := rate.Time(1514)
	for now := link.Time(0); now < link.Time(length); now = now.Add(gap) {
		e.Run(w, now, log)
		e.Arrive(w, now, 0, blank[:1514], log)
	}
	e.Run(w, link.Time(length+rest), log)
	return log
}

// 200 ms of delay turned 1.1 Gbit/s into 100 Mbit/s elsewhere: here the rate
// through them is the rate without.
func TestCase02DelayLeavesTheRate(t *testing.T) {
	got := [2]int{}
	for i, delay := range []string{"0", "200ms"} {
		e := one(t, parse(t, "[up.queue]\nrate = \"1Gbit/s\"\n[up.path]\ndelay = \""+delay+"\""), 1)
		log := paced(e, link.Up, link.GigabitPerSecond, link.Second, 0)
		for _, p := range log.Delivered() {
			if p.When > link.Time(300*link.Millisecond) && p.When <= link.Time(900*link.Millisecond) {
				got[i]++
			}
		}
	}
	near(t, "frames in 0.6 s behind 200 ms", got[1], got[0], 0.001)
}

// Old packets came out 10 s after the load had stopped elsewhere: here the
// queue is empty when its own length in time has passed.
func TestCase10QueueDrainsInTime(t *testing.T) {
	e := one(t, parse(t, "[up.queue]\nrate = \"2Mbit/s\"\nlimit = \"250ms\"\n[up.path]\ndelay = \"20ms\""), 1)
	log := paced(e, link.Up, 20*link.MegabitPerSecond, 2*link.Second, 280*link.Millisecond)
	if n, _ := e.Held(link.Up); n != 0 {
		t.Errorf("%d packets inside 280 ms after the load stopped", n)
	}
	if log.Lost(link.QueueFull) == 0 {
		t.Error("the load did not fill the queue")
	}
}

// 3 % were dropped that no model lost elsewhere: here the books are even at
// every look, and no reason is unknown.
func TestCase15BooksAreEven(t *testing.T) {
	e := one(t, parse(t, "[up.queue]\nrate = \"8Mbit/s\"\n[up.loss]\nprobability = 0.02\n[up.duplicate]\nprobability = 0.01\n[up.path]\ndelay = \"300ms\""), 1)
	var log linktest.Log
	for i := range 20000 {
		now := link.Time(i) * link.Time(link.Millisecond)
		e.Arrive(link.Up, now, 0, blank[:1514], &log)
		e.Run(link.Up, now, &log)
		held, _ := e.Held(link.Up)
		if i%1000 == 0 && i+1+log.Copies != len(log.Fates)+held {
			t.Fatalf("after %d s: %d in + %d copies != %d fates + %d held", i/1000, i+1, log.Copies, len(log.Fates), held)
		}
	}
	for _, f := range log.Fates {
		if r := f.Cause.Reason; f.Lost() && r != link.Random && r != link.QueueFull {
			t.Fatalf("lost for %v", r)
		}
	}
}

// A frame of more than 1504 bytes ended the emulator elsewhere: here every
// size and every kind passes, byte for byte.
func TestCase16EveryFramePasses(t *testing.T) {
	e := one(t, parse(t, "[up.queue]\nrate = \"1Gbit/s\"\n[up.path]\ndelay = \"1ms\""), 1)
	mpls := append([]byte{0x88, 0x47, 0, 1, 0x11, 64}, frametest.IPv4(0, 6, 0, "10.0.0.1", "10.0.0.2")...)
	kinds := map[string][]byte{
		"VLAN": frametest.Of(frametest.VLAN5, frametest.Type4, make([]byte, 46)), "QinQ": frametest.Of(frametest.QinQ7, frametest.VLAN5, frametest.Type6, make([]byte, 46)),
		"MPLS": frametest.Of(mpls), "PPPoE": frametest.Of([]byte{0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21}, frametest.IPv4(0, 17, 0, "10.0.0.1", "10.0.0.2")),
		"LLDP": frametest.Of([]byte{0x88, 0xCC}, make([]byte, 46)), "802.3": frametest.Of([]byte{0, 46}, make([]byte, 46)),
	}
	for _, size := range []int{60, 64, 1514, 1518, 4096, 9216} {
		kinds[fmt.Sprint("blank ", size)] = blank[:size]
	}
	for name, frame := range kinds {
		var log linktest.Log
		e.Arrive(link.Up, 0, 1, frame, &log)
		e.Run(link.Up, link.Time(link.Second), &log)
		if d := log.Delivered(); len(d) != 1 || int(d[0].Size) != len(frame) || d[0].Mark&^(link.ECT|0xFF00) != 0 {
			t.Errorf("%s of %d bytes: fates %v", name, len(frame), log.Fates)
		}
	}
}

// IPv6 was not shaped, or clashed with the rule for IPv4, elsewhere: here no
// impairment asks the family.
func TestCase21FamiliesAlike(t *testing.T) {
	const doc = "[up.queue]\nrate = \"8Mbit/s\"\n[up.loss]\nprobability = 0.1\n[up.path]\ndelay = \"50ms\"\n[up.reorder]\nprobability = 0.05\ndelay = \"5ms\""
	digest := func(frame []byte) uint64 {
		e := one(t, parse(t, doc), 3)
		var log linktest.Log
		for i := range 2000 {
			e.Arrive(link.Up, link.Time(i)*link.Time(link.Millisecond), uint32(i), frame, &log)
		}
		e.Run(link.Up, link.Time(10*link.Second), &log)
		return log.Digest()
	}
	v4 := append(frametest.Of(frametest.Type4, frametest.IPv4(0, 17, 0, "10.0.0.1", "10.0.0.2", frametest.Ports...)), make([]byte, 958)...)
	v6 := append(frametest.Of(frametest.Type6, frametest.IPv6(0, 17, "fd00::1", "fd00::2", frametest.Ports...)), make([]byte, 938)...)
	if len(v4) != len(v6) || digest(v4) != digest(v6) {
		t.Errorf("frames of %d and %d bytes have other fates", len(v4), len(v6))
	}
}

// Setting the delay reset the loss elsewhere, and changes failed or lost
// frames: here PATCH merges, and 1000 changes under load lose and reorder
// nothing.
func TestCase23ChangesKeepTheRest(t *testing.T) {
	p := parse(t, "[up.queue]\nrate = \"50Mbit/s\"\nlimit = \"100000packets\"\n[up.path]\ndelay = \"50ms\"\n[up.duplicate]\nprobability = 0.0\n")
	e, changes := one(t, p, 1), 0
	var log linktest.Log
	const packets = 50000
	for i := range packets {
		now := link.Time(i) * link.Time(300*link.Microsecond)
		e.Run(link.Up, now, &log)
		e.Arrive(link.Up, now, uint32(i), blank[:1514], &log)
		if i%50 != 49 {
			continue
		}
		patch := `{"up": {"path": {"delay": "60ms"}}}`
		if changes++; changes%2 == 0 {
			patch = `{"up": {"queue": {"rate": "45Mbit/s"}, "path": {"delay": "40ms"}}}`
		}
		q, problems := p.Merge([]byte(patch))
		if q == nil {
			t.Fatal(problems)
		}
		if q.Up.Queue.Limit != p.Up.Queue.Limit {
			t.Fatal("a patch of the delay changed the limit")
		}
		next := one(t, q, 1)
		next.Succeed(e, link.Up, now)
		e, p = next, q
	}
	e.Run(link.Up, link.Time(60*link.Second), &log)
	if changes != 1000 || len(log.Delivered()) != packets {
		t.Errorf("%d changes, %d of %d delivered", changes, len(log.Delivered()), packets)
	}
	linktest.Ordered(t, &log)
}
