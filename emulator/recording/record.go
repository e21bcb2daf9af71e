package recording

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/trace/lines"
)

// recordHeader begins the file of a recording.
const recordHeader = "seq,arrived_ns,left_ns,size,fate,marks"

// Recorder writes what became of the packets of one way of a link: the
// channel as it was. A line is a fate, in the order in which they came about:
//
//	seq,arrived_ns,left_ns,size,fate,marks
//	0,0,250003000,1514,delivered,
//	1,1000,1000,1514,queue_full,
//	2,2000,250603000,1514,delivered,corrupted
type Recorder struct {
	out *bufio.Writer
	buf []byte
	err error
}

// NewRecorder begins a recording.
func NewRecorder(out io.Writer) *Recorder {
	r := &Recorder{out: bufio.NewWriter(out)}
	_, r.err = r.out.WriteString(recordHeader + "\n")
	return r
}

// markNames name the marks that a recording keeps, as the names in captures.
var markNames = []struct {
	mark link.Mark
	name string
}{{link.CE, "ce"}, {link.Corrupted, "corrupted"}, {link.Duplicate, "duplicate"}, {link.Reordered, "reordered"}, {link.Stripped, "stripped"}}

// Meet records a fate; arrived is when the packet came.
func (r *Recorder) Meet(arrived link.Time, f link.Fate) {
	r.line(row(r.buf[:0], arrived, f))
}

// line writes a row.
func (r *Recorder) line(row []byte) {
	r.buf = append(row, '\n')
	if _, err := r.out.Write(r.buf); err != nil && r.err == nil {
		r.err = err
	}
}

// row appends a line of a recording.
func row(b []byte, arrived link.Time, f link.Fate) []byte {
	p := f.Packet
	b = append(strconv.AppendUint(b, p.Seq, 10), ',')
	b = append(strconv.AppendInt(b, int64(arrived), 10), ',')
	b = append(strconv.AppendInt(b, int64(p.When), 10), ',')
	b = append(strconv.AppendInt(b, int64(p.Size), 10), ',')
	if f.Lost() {
		b = append(b, f.Cause.Reason.String()...)
	} else {
		b = append(b, "delivered"...)
	}
	separator := byte(',')
	for _, m := range markNames {
		if p.Mark&m.mark != 0 {
			b = append(append(b, separator), m.name...)
			separator = '+'
		}
	}
	if separator == ',' {
		b = append(b, ',')
	}
	return b
}

// Flush writes what is buffered and returns the first error of all writes.
func (r *Recorder) Flush() error {
	if err := r.out.Flush(); r.err == nil {
		r.err = err
	}
	return r.err
}

// Recording is a channel as it was: what became of each packet.
type Recording struct {
	fates []fate   // by packet, those of one in their order
	first []uint32 // where the fates of a packet begin; one more at the end
}

// fate is what became of a packet, or of a copy of it.
type fate struct {
	after  link.Duration // its arrival
	rank   uint32        // its place among all
	mark   link.Mark
	reason link.Reason
}

// Read reads what a Recorder wrote.
func Read(f lines.File) (*Recording, error) {
	l := reader{lines.New(f)}
	l.Most = lines.Most
	var seqs []uint32
	var all []fate
	err := l.Rows(func(at map[string]int) error { return l.Need(at, strings.Split(recordHeader, ",")...) },
		func(get func(string) lines.Field) error {
			seq, one, err := l.fate(get)
			one.rank = uint32(len(all))
			seqs, all = append(seqs, seq), append(all, one)
			return err
		}, strings.Split(recordHeader, ",")...)
	if err == nil && len(all) == 0 {
		err = l.Whole("no rows, want what became of one packet or more")
	}
	if err != nil {
		return nil, err
	}
	return arrange(seqs, all), nil
}

// reader reads the fields of fates.
type reader struct{ *lines.Reader }

// fate reads a row.
func (l reader) fate(get func(string) lines.Field) (seq uint32, one fate, err error) {
	const most = int64(lines.MaxSeconds * link.Second)
	n, err := l.Count(get("seq"), "seq", lines.Most-1)
	if err != nil {
		return 0, one, err
	}
	arrived, err := l.Count(get("arrived_ns"), "arrived_ns", most)
	if err != nil {
		return 0, one, err
	}
	left, err := l.Count(get("left_ns"), "left_ns", most)
	if err != nil {
		return 0, one, err
	}
	if left < arrived {
		return 0, one, l.Fault(get("left_ns").Column, "left_ns %d before arrived_ns %d", left, arrived)
	}
	one.after = link.Duration(left - arrived)
	if one.reason, err = l.reason(get("fate")); err != nil {
		return 0, one, err
	}
	one.mark, err = l.marks(get("marks"))
	return uint32(n), one, err
}

func (l reader) reason(f lines.Field) (link.Reason, error) {
	if f.Text == "delivered" {
		return link.None, nil
	}
	for r := link.None + 1; int(r) < link.Reasons; r++ {
		if r.String() == f.Text {
			return r, nil
		}
	}
	return 0, l.Fault(f.Column, `fate %q: want "delivered" or the reason of a loss`, f.Text)
}

func (l reader) marks(f lines.Field) (link.Mark, error) {
	var marks link.Mark
	if f.Text == "" {
		return 0, nil
	}
next:
	for _, name := range strings.Split(f.Text, "+") {
		for _, m := range markNames {
			if m.name == name {
				marks |= m.mark
				continue next
			}
		}
		return 0, l.Fault(f.Column, "mark %q: want ce, corrupted, duplicate or reordered", name)
	}
	return marks, nil
}

// arrange sorts fates by packet, by counting.
func arrange(seqs []uint32, all []fate) *Recording {
	packets := uint32(0)
	for _, s := range seqs {
		packets = max(packets, s+1)
	}
	r := &Recording{fates: make([]fate, len(all)), first: make([]uint32, packets+1)}
	for _, s := range seqs {
		r.first[s+1]++
	}
	for s := range packets {
		r.first[s+1] += r.first[s]
	}
	next := append([]uint32(nil), r.first...)
	for i, s := range seqs {
		r.fates[next[s]] = all[i]
		next[s]++
	}
	return r
}

// Packets returns of how many packets the recording tells, from the first on.
func (r *Recording) Packets() int { return len(r.first) - 1 }
