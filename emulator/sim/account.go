package sim

import "farlink/emulator/link"

// tally counts what happened to the packets of one way or one flow.
type tally struct {
	in, delivered, lost           int64
	bytesIn, bytesOut, bytesLost  int64
	duplicated, corrupted, marked int64
	reordered                     int64
	window                        int64 // bytes delivered inside the measuring window
	causes                        [link.Reasons][]int64
	delay                         histogram
}

func (t *tally) arrive(size int) {
	t.in++
	t.bytesIn += int64(size)
}

// meet counts a fate; sent is when the packet arrived.
func (t *tally) meet(f link.Fate, sent link.Time, measured bool) {
	p := f.Packet
	if f.Lost() {
		t.lost++
		t.bytesLost += int64(p.Size)
		t.blame(f.Cause)
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
		t.delay.add(p.When.Sub(sent))
	}
}

func bit(m link.Mark) int64 {
	if m != 0 {
		return 1
	}
	return 0
}

// blame counts a loss by reason and stage.
func (t *tally) blame(c link.Cause) {
	if int(c.Reason) >= link.Reasons {
		c.Reason = link.None
	}
	by := &t.causes[c.Reason]
	for len(*by) <= int(c.Stage) {
		*by = append(*by, 0)
	}
	(*by)[c.Stage]++
}

// Loss is how many packets were lost for a reason in a place.
type Loss struct {
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

// totals completes the counts; window is the length of the measuring window,
// names the stages of the way.
func (t *tally) totals(window link.Duration, way link.Way, names []string) Totals {
	out := Totals{
		In: t.in, InBytes: t.bytesIn, Delivered: t.delivered, OutBytes: t.bytesOut,
		Lost: t.lost, LostBytes: t.bytesLost, Held: t.in - t.delivered - t.lost,
		Duplicated: t.duplicated, Corrupted: t.corrupted, Reordered: t.reordered, CEMarked: t.marked,
		Delay: t.delay.distribution(),
	}
	if met := t.delivered + t.lost; met > 0 {
		out.LossRatio = float64(t.lost) / float64(met)
	}
	if window > 0 {
		out.Rate = float64(t.window*8) / window.Seconds()
	}
	for reason := range t.causes {
		for stage, n := range t.causes[reason] {
			if n > 0 {
				out.Losses = append(out.Losses, Loss{link.Reason(reason).String(), place(way, names, stage), n})
			}
		}
	}
	return out
}

// place names a stage of a way: "down/queue", or its number if it has no name.
func place(way link.Way, names []string, stage int) string {
	if stage < len(names) {
		return way.String() + "/" + names[stage]
	}
	return way.String() + "/" + string(rune('0'+stage%10))
}
