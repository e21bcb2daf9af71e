package opportunity

import (
	"math"
	"slices"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
	"farlink/emulator/queue"
)

const ms = link.Time(link.Millisecond)

// frame is a packet whose IP bytes are size, as Mahimahi counts.
func frame(seq uint64, when link.Time, size int) link.Packet {
	return link.Packet{When: when, Seq: seq, Body: link.Body{Size: uint16(size + 14)}}
}

func delivery(times ...int64) *Delivery {
	return NewDelivery(DeliveryConfig{Times: times, QueueConfig: QueueConfig{Limit: queue.Limit{Packets: 10_000}}}, link.NewDraw(7, "d"))
}

// TestDelivery has the vectors MM-1 to MM-4 of the reference sheet, and what
// wraps: with 0, 0, 5, 10 a round is 10 ms, so there are three at 10 ms.
func TestDelivery(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []int64
		in    []link.Packet
		want  []link.Time
	}{
		{"MM-1", []int64{1}, []link.Packet{frame(0, 0, 1500), frame(1, 0, 1500), frame(2, 0, 1500)}, []link.Time{1 * ms, 2 * ms, 3 * ms}},
		{"MM-2", []int64{0, 0, 5, 10}, []link.Packet{frame(0, 6*ms, 1500)}, []link.Time{10 * ms}},
		{"wrap", []int64{0, 0, 5, 10}, []link.Packet{frame(0, 6*ms, 1500), frame(1, 6*ms, 1500), frame(2, 6*ms, 1500), frame(3, 6*ms, 1500)},
			[]link.Time{10 * ms, 10 * ms, 10 * ms, 15 * ms}},
		{"MM-3", []int64{1}, []link.Packet{frame(0, 0, 500), frame(1, 0, 500), frame(2, 0, 500)}, []link.Time{1 * ms, 1 * ms, 1 * ms}},
		{"MM-4", []int64{1}, []link.Packet{frame(0, 0, 100), frame(1, 0, 1500)}, []link.Time{1 * ms, 2 * ms}},
		// The rest of an opportunity is gone when nothing waits.
		{"no credit", []int64{1}, []link.Packet{frame(0, 0, 100), frame(1, 1500000, 1500), frame(2, 1500000, 100)}, []link.Time{1 * ms, 2 * ms, 3 * ms}},
		{"jumbo", []int64{1}, []link.Packet{frame(0, 0, 4000)}, []link.Time{3 * ms}},
		{"much later", []int64{3, 7}, []link.Packet{frame(0, 70_001*ms, 1500)}, []link.Time{70_003 * ms}},
	} {
		if got := linktest.Through(delivery(c.times...), c.in).Whens(); !slices.Equal(got, c.want) {
			t.Errorf("%s: left at %v, want %v", c.name, got, c.want)
		}
	}
}

// TestDeliverySleeps: nothing waits, nothing is due.
func TestDeliverySleeps(t *testing.T) {
	d := delivery(1)
	if d.Next() != link.Never {
		t.Errorf("next %d in an empty server", d.Next())
	}
	d.Put(frame(0, 0, 2000), nil)
	if d.Next() != 1*ms {
		t.Errorf("next %d, want 1 ms", d.Next())
	}
	d.Run(5*ms, &linktest.Log{})
	if d.Next() != link.Never {
		t.Errorf("next %d after all is sent", d.Next())
	}
}

// TestDeliveryRate: MM-1 is 12 Mbit/s of IP bytes, MM-2 4.8.
func TestDeliveryRate(t *testing.T) {
	for _, c := range []struct {
		times []int64
		want  float64
	}{{[]int64{1}, 12e6}, {[]int64{0, 0, 5, 10}, 4.8e6}} {
		d := NewDelivery(DeliveryConfig{Times: c.times, QueueConfig: QueueConfig{Limit: queue.Limit{Packets: 100}}}, link.NewDraw(7, "d"))
		got := linktest.Saturate(d, link.Rate(c.want), 1514, 10*link.Second) * 1500 / 1514
		if math.Abs(got/c.want-1) > 0.003 {
			t.Errorf("%v: %.0f bit/s, want %.0f", c.times, got, c.want)
		}
		if rate := d.Capacity(0).Rate; float64(rate) != c.want {
			t.Errorf("%v: capacity %v", c.times, rate)
		}
	}
}

// TestParseTimes has MM-5 and the other malformed traces.
func TestParseTimes(t *testing.T) {
	got, err := ParseTimes("0\n0\n5\n10\n")
	if err != nil || !slices.Equal(got, []int64{0, 0, 5, 10}) {
		t.Errorf("got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"5\n3\n": "line 2: 3 after 5: not monotonic",
		"":       `line 1: ""`,
		"1\n\n2": `line 2: ""`,
		"0\n0\n": "the last time is 0",
		"-1\n2":  `line 1: "-1"`,
		"1.5":    `line 1: "1.5"`,
	} {
		if _, err := ParseTimes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
