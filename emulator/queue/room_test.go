package queue

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

// A room of three packets: droptail refuses the fourth, drop-head lets the
// first go for it, at the instant of the arrival.
func TestRoomFull(t *testing.T) {
	for _, v := range []struct {
		discipline string
		lost       uint64
		reason     link.Reason
	}{{"droptail", 3, link.QueueFull}, {"drophead", 0, link.HeadDropped}} {
		r, log := NewRoom(Config{Limit: Limit{Packets: 3}, Discipline: v.discipline}, link.Draw{}), &linktest.Log{}
		for i := range uint64(4) {
			r.Join(link.Packet{When: link.Time(i), Seq: i, Body: link.Body{Size: 100}}, log)
		}
		if len(log.Fates) != 1 || log.Fates[0].Packet.Seq != v.lost || log.Fates[0].Cause.Reason != v.reason || log.Fates[0].Packet.When != 3 {
			t.Errorf("%s: %+v", v.discipline, log.Fates)
		}
		if r.Len() != 3 || r.Bytes() != 300 {
			t.Errorf("%s: %d packets, %d bytes", v.discipline, r.Len(), r.Bytes())
		}
	}
}

// A limit in time follows the rate: 100 ms at 80 kbit/s are 1000 bytes.
func TestRoomLimitInTime(t *testing.T) {
	r, log := NewRoom(Config{Limit: Limit{Time: 100 * link.Millisecond}}, link.Draw{}), &linktest.Log{}
	r.ServeAt(80_000)
	for i := range uint64(12) {
		r.Join(link.Packet{Seq: i, Body: link.Body{Size: 100}}, log)
	}
	if r.Len() != 10 || log.Lost(link.QueueFull) != 2 {
		t.Errorf("%d wait, %d lost", r.Len(), log.Lost(link.QueueFull))
	}
	if d := r.Delay(); d != 100*link.Millisecond {
		t.Errorf("the queue stands for %v", d)
	}
	r.ServeAt(160_000)
	r.Join(link.Packet{Seq: 12, Body: link.Body{Size: 100}}, log)
	if r.Len() != 11 || r.Delay() != 55*link.Millisecond {
		t.Errorf("at twice the rate %d wait, for %v", r.Len(), r.Delay())
	}
}

// server takes one packet each millisecond, more slowly than they come.
type server struct {
	Room
	next link.Time
}

func (s *server) Put(p link.Packet, out link.Sink) {
	s.Run(p.When, out)
	s.Join(p, out)
}
func (s *server) Next() link.Time { return s.next }
func (s *server) Run(now link.Time, out link.Sink) {
	for ; s.next <= now; s.next = s.next.Add(link.Millisecond) {
		if p, ok := s.Take(s.next, out); ok {
			p.When = s.next
			out.Deliver(p)
		}
	}
}

// Packets that wait cost no allocation, under any discipline.
func TestRoomNoAllocs(t *testing.T) {
	for _, d := range []string{"droptail", "drophead", "red", "codel", "pie"} {
		s := &server{Room: NewRoom(Config{Rate: 8 * link.MegabitPerSecond, Limit: Limit{Packets: 100}, Discipline: d}, link.NewDraw(1, d))}
		linktest.NoAllocs(t, s, 900*link.Microsecond)
		if s.full+s.early == 0 {
			t.Errorf("%s: nothing lost at an overload of a tenth", d)
		}
	}
}

// TestBears: 25 full packets; 30000 bytes; 20 ms and CoDel's 5 ms of 8 Mbit/s;
// a twelfth of 60000 bytes, where RED begins; any number.
func TestBears(t *testing.T) {
	const rate = 8 * link.MegabitPerSecond
	for _, c := range []struct {
		config Config
		want   link.Size
	}{
		{Config{Rate: rate, Limit: Limit{Packets: 25}}, 25 * 1514},
		{Config{Rate: rate, Limit: Limit{Bytes: 30000}}, 30000},
		{Config{Rate: rate, Limit: Limit{Time: 20 * link.Millisecond}}, 20000},
		{Config{Rate: rate, Limit: Limit{Bytes: 30000}, Discipline: "codel"}, 5000},
		{Config{Rate: rate, Limit: Limit{Bytes: 60000}, Discipline: "red"}, 5000},
		{Config{Rate: rate, Limit: Limit{Bytes: 30000}, Discipline: "pie"}, 15000},
		{Config{}, 0},
	} {
		r := NewRoom(c.config, link.NewDraw(1, "room"))
		if got := r.Bears(); got != c.want {
			t.Errorf("%+v bears %d, want %d", c.config, got, c.want)
		}
	}
}
