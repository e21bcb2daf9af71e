package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/pcap"
	"farlink/emulator/trace/lines"
)

// noteMark begins, in the comment of a packet of a box's capture, what Note
// says of it.
const noteMark = "; channel "

// Note is what the comment of a packet in a box's capture says for ReadTape:
// its way, the index of its link, and its row of a recording.
//
//	delivered up, packet 7; channel up 0 7,1000000123,1250003123,1514,delivered,
func Note(w link.Way, arrived link.Time, f link.Fate) string {
	return noteMark + w.String() + " " + strconv.Itoa(f.Packet.Mark.Link()) + " " + string(row(nil, arrived, f))
}

// Tape is what the capture of a box tells of one way of one link: the fates of
// packets without a gap between their numbers, and the packets as they came.
// Numbers and times are reckoned from the first of them.
type Tape struct {
	LeftOut int  // packets whose like before or behind are not in the capture
	Torn    bool // the capture ends within a packet: its writer was cut off

	fates []taped
	came  []pcap.Packet
}

// taped is a fate as the capture has it.
type taped struct {
	arrived link.Time
	fate    link.Fate
}

// anotherRun is how far the time of a run goes back when another begins. A
// capture orders frames by the time of day to within a tenth of a second.
const anotherRun = link.Time(250 * link.Millisecond)

// ReadTape reads the capture of a box: of its last run, if it tells of
// several. The longest stretch of packets that
// are all there becomes the tape: those still inside when the capture was
// written, and those that came before it began, are not.
func ReadTape(f lines.File, w link.Way, index int) (*Tape, error) {
	in, err := pcap.NewReader(f)
	if err != nil {
		return nil, &lines.Error{File: f.Name, Text: err.Error()}
	}
	var all []taped
	torn := false
	frames := map[uint64]pcap.Packet{}
	l := reader{&lines.Reader{Name: f.Name}}
	prefix := noteMark + w.String() + " " + strconv.Itoa(index) + " "
	for ; ; l.Number++ {
		p, err := in.Next()
		if torn = errors.Is(err, io.ErrUnexpectedEOF) && len(all) > 0; torn || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &lines.Error{File: f.Name, Text: err.Error()}
		}
		_, note, noted := strings.Cut(p.Comment, prefix)
		if !noted {
			continue
		}
		if len(all) == lines.Most {
			return nil, l.Whole("more than %d packets", lines.Most)
		}
		one, err := l.note(note)
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && one.fate.Packet.When < all[n-1].fate.Packet.When-anotherRun {
			all, frames = all[:0], map[uint64]pcap.Packet{}
		}
		all = append(all, one)
		if _, known := frames[one.fate.Packet.Seq]; !known {
			p.Data = slices.Clone(p.Data)
			p.Time += int64(one.arrived.Sub(one.fate.Packet.When))
			frames[one.fate.Packet.Seq] = p
		}
	}
	if len(all) == 0 {
		return nil, l.Whole("no packet on its way %v through link %d with a fate, want the capture of a box", w, index)
	}
	t := newTape(all, frames, w)
	t.Torn = torn
	return t, nil
}

// note reads the row of a packet.
func (l reader) note(text string) (one taped, err error) {
	l.Text = text
	fields := l.Split(',')
	if len(fields) != strings.Count(recordHeader, ",")+1 {
		return one, l.unread(errors.New("as many fields as " + recordHeader))
	}
	p := &one.fate.Packet
	p.Seq, err = strconv.ParseUint(fields[0].Text, 10, 63)
	if err != nil {
		return one, l.unread(err)
	}
	var at [3]int64
	for i := range at {
		if at[i], err = l.Count(fields[1+i], "number", int64(lines.MaxSeconds*link.Second)); err != nil {
			return one, l.unread(err)
		}
	}
	one.arrived, p.When = link.Time(at[0]), link.Time(at[1])
	if p.Size = uint16(at[2]); int64(p.Size) != at[2] || p.When < one.arrived {
		return one, l.unread(errors.New("a size of at most 65535, and no fate before the arrival"))
	}
	if one.fate.Cause.Reason, err = l.reason(fields[4]); err != nil {
		return one, l.unread(err)
	}
	if p.Mark, err = l.marks(fields[5]); err != nil {
		return one, l.unread(err)
	}
	return one, nil
}

// unread is the error of the packet at hand.
func (l reader) unread(why error) error {
	return l.Whole("packet %d: comment %q: %v", l.Number, l.Text, why)
}

// newTape keeps the longest stretch of numbers without a gap.
func newTape(all []taped, frames map[uint64]pcap.Packet, w link.Way) *Tape {
	numbers := make([]uint64, 0, len(frames))
	for i := range all {
		numbers = append(numbers, all[i].fate.Packet.Seq)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	first, count := longestRun(numbers)
	t := &Tape{LeftOut: len(numbers) - count}
	begin := link.Never
	for i := range all {
		if s := all[i].fate.Packet.Seq; s >= first && s < first+uint64(count) {
			begin = min(begin, all[i].arrived)
			all[i].fate.Packet.Seq -= first
			t.fates = append(t.fates, all[i])
		}
	}
	for i := range t.fates {
		t.fates[i].arrived -= begin
		t.fates[i].fate.Packet.When -= begin
	}
	slices.SortStableFunc(t.fates, func(a, b taped) int { return cmp.Compare(a.fate.Packet.When, b.fate.Packet.When) })
	t.arrivals(frames, first, count, w)
	return t
}

// longestRun returns the longest stretch of consecutive numbers, which are
// sorted.
func longestRun(numbers []uint64) (first uint64, count int) {
	for from := 0; from < len(numbers); {
		to := from + 1
		for to < len(numbers) && numbers[to] == numbers[to-1]+1 {
			to++
		}
		if to-from > count {
			first, count = numbers[from], to-from
		}
		from = to
	}
	return first, count
}

// arrivals sets the packets as they came, at the times of their arrival.
func (t *Tape) arrivals(frames map[uint64]pcap.Packet, first uint64, count int, w link.Way) {
	arrived := make([]link.Time, count)
	for i := range t.fates {
		arrived[t.fates[i].fate.Packet.Seq] = t.fates[i].arrived
	}
	base := frames[first].Time
	for i := range count {
		p := frames[first+uint64(i)]
		t.came = append(t.came, pcap.Packet{Interface: 0, Time: base + int64(arrived[i]), Data: p.Data, Length: p.Length,
			Direction: pcap.Inbound, ID: uint64(i), HasID: true, Comment: "came " + w.String()})
	}
}

// Packets returns how many packets are on the tape.
func (t *Tape) Packets() int { return len(t.came) }

// Record writes the tape as a recording.
func (t *Tape) Record(out io.Writer) error {
	r := NewRecorder(out)
	for i := range t.fates {
		r.Meet(t.fates[i].arrived, t.fates[i].fate)
	}
	return r.Flush()
}

// Arrivals writes the packets as they came, as pcapng.
func (t *Tape) Arrivals(out io.Writer) error {
	w, err := pcap.NewWriter(out, pcap.Header{Comment: "packets as they came", Application: "farlink"},
		pcap.Interface{Name: "came", LinkType: pcap.LinkEthernet})
	for i := 0; err == nil && i < len(t.came); i++ {
		err = w.Write(t.came[i])
	}
	if err != nil {
		return fmt.Errorf("write arrivals: %w", err)
	}
	return nil
}
