package linktest

import "farlink/emulator/link"

// Burst returns n packets of size bytes that come at when.
func Burst(n int, size uint16, when link.Time) []link.Packet {
	out := make([]link.Packet, n)
	for i := range out {
		out[i] = link.Packet{When: when, Seq: uint64(i), Body: link.Body{Size: size}}
	}
	return out
}

// Paced returns n packets of size bytes, gap apart from when on.
func Paced(n int, size uint16, when link.Time, gap link.Duration) []link.Packet {
	out := Burst(n, size, when)
	for i := range out {
		out[i].When += link.Time(i) * link.Time(gap)
	}
	return out
}

// Through drives packets through s until all are out, an hour at most.
func Through(s link.Stage, packets []link.Packet) *Log {
	return Drive(s, packets, EventByEvent(s), packets[len(packets)-1].When.Add(3600*link.Second))
}

// Whens returns when the packets that got through were delivered.
func (l *Log) Whens() []link.Time {
	var out []link.Time
	for _, p := range l.Delivered() {
		out = append(out, p.When)
	}
	return out
}

// Seqs returns the numbers of the packets that got through, in the order in
// which they were delivered.
func (l *Log) Seqs() []uint64 {
	var out []uint64
	for _, p := range l.Delivered() {
		out = append(out, p.Seq)
	}
	return out
}
