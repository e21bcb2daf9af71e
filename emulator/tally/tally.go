// Package tally counts what became of packets: how many and how many bytes
// were delivered, lost for which reason in which place, copied and marked; how
// long they took; and all that over time.
//
//	Arrive ──▶ Tally ◀── Meet(fate)      ──▶ Totals
//	       └─▶ Recorder ◀┘ ◀── Sample(probe) ──▶ Series
//
// Results are for people and programs: their JSON names end in the unit.
package tally

import (
	"strconv"

	"farlink/emulator/link"
)

// Tally counts what happened to the packets of one way or one flow.
type Tally struct {
	in, delivered, lost           int64
	bytesIn, bytesOut, bytesLost  int64
	duplicated, corrupted, marked int64
	reordered                     int64
	window                        int64 // bytes delivered inside the measuring window
	blames                        []blame
	delay                         Histogram
}

// Arrive counts a packet that came.
func (t *Tally) Arrive(size int) {
	t.in++
	t.bytesIn += int64(size)
}

// Meet counts a fate; sent is when the packet arrived. Only what is measured
// counts for rate and delay.
func (t *Tally) Meet(f link.Fate, sent link.Time, measured bool) {
	p := f.Packet
	if f.Lost() {
		t.lost++
		t.bytesLost += int64(p.Size)
		t.blame(p.Mark.Link(), f.Cause)
		return
	}
	if p.Mark&link.Duplicate != 0 {
		t.duplicated++
	} else {
		t.delivered++
	}
	t.bytesOut += int64(p.Size)
	t.corrupted += bit(p.Mark & link.Corrupted)
	t.marked += bit(p.Mark & link.CE)
	t.reordered += bit(p.Mark & link.Reordered)
	if measured {
		t.window += int64(p.Size)
		t.delay.Add(p.When.Sub(sent))
	}
}

func bit(m link.Mark) int64 {
	if m != 0 {
		return 1
	}
	return 0
}

// blame is how many packets a stage of a link lost for a reason.
type blame struct {
	link  int
	cause link.Cause
	n     int64
}

// blame counts a loss; the places where packets are lost are few.
func (t *Tally) blame(i int, c link.Cause) {
	for k := range t.blames {
		if b := &t.blames[k]; b.link == i && b.cause == c {
			b.n++
			return
		}
	}
	t.blames = append(t.blames, blame{i, c, 1})
}

// Loss is how many packets were lost for a reason in a place.
type Loss struct {
	Link    string `json:"link,omitempty"` // its name, where there are several
	Reason  string `json:"reason"`
	Stage   string `json:"stage"` // "down/queue"
	Packets int64  `json:"packets"`
}

// Totals is what became of the packets of one way or of one flow's way. In =
// Delivered + Lost + Held.
type Totals struct {
	In         int64        `json:"in_packets"`
	InBytes    int64        `json:"in_bytes"`
	Delivered  int64        `json:"delivered_packets"` // extra copies not counted
	OutBytes   int64        `json:"out_bytes"`         // extra copies counted
	Lost       int64        `json:"lost_packets"`
	LostBytes  int64        `json:"lost_bytes"`
	Held       int64        `json:"held_packets"`
	Duplicated int64        `json:"duplicated_packets,omitempty"`
	Corrupted  int64        `json:"corrupted_packets,omitempty"`
	Reordered  int64        `json:"reordered_packets,omitempty"`
	CEMarked   int64        `json:"ce_marked_packets,omitempty"`
	Losses     []Loss       `json:"losses,omitempty"`
	LossRatio  float64      `json:"loss_ratio"` // lost of those that met their fate
	Rate       float64      `json:"rate_bps"`   // delivered, over the measuring window
	Delay      Distribution `json:"delay"`      // arrival to departure, in the window
}

// Names knows how links and their stages are called.
type Names interface {
	// Links names the links, in the order of their index.
	Links() []string
	// Stages names the stages of a link's way, in the order in which
	// link.Cause counts them.
	Stages(w link.Way, link int) []string
}

// Totals completes the counts of way w; window is how long was measured.
func (t *Tally) Totals(n Names, w link.Way, window link.Duration) Totals {
	out := Totals{
		In: t.in, InBytes: t.bytesIn, Delivered: t.delivered, OutBytes: t.bytesOut,
		Lost: t.lost, LostBytes: t.bytesLost, Held: t.in - t.delivered - t.lost,
		Duplicated: t.duplicated, Corrupted: t.corrupted, Reordered: t.reordered, CEMarked: t.marked,
		Delay: t.delay.Distribution(),
	}
	if met := t.delivered + t.lost; met > 0 {
		out.LossRatio = float64(t.lost) / float64(met)
	}
	if window > 0 {
		out.Rate = float64(t.window*8) / window.Seconds()
	}
	for _, b := range t.blames {
		l := Loss{Reason: b.cause.Reason.String(), Stage: Place(n, w, b.link, b.cause), Packets: b.n}
		if names := n.Links(); len(names) > 1 && b.link < len(names) {
			l.Link = names[b.link]
		}
		out.Losses = append(out.Losses, l)
	}
	return out
}

// Place names the stage of a loss on link i: "down/queue", or its number if it has no
// name.
func Place(n Names, w link.Way, i int, c link.Cause) string {
	if names := n.Stages(w, i); int(c.Stage) < len(names) {
		return w.String() + "/" + names[c.Stage]
	}
	return w.String() + "/" + strconv.Itoa(int(c.Stage))
}
