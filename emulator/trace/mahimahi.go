package trace

import (
	"bufio"
	"io"
	"strconv"

	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/trace/lines"
)

// Sizes of an opportunity, in bytes of IP.
const (
	mahimahiSize   = 1500 // the tool's 1504 less its tunnel's header
	cellReplaySize = 1400
)

// Mahimahi reads a packet-delivery trace: a line per opportunity, in whole
// milliseconds from the start of a round, not decreasing; the last is also the
// length of a round.
func Mahimahi(f lines.File) (Way, error) {
	times, err := opportunities(f)
	if err != nil {
		return Way{}, err
	}
	return Way{Delivery: &opportunity.DeliveryConfig{Times: times, Size: mahimahiSize}}, nil
}

func opportunities(f lines.File) ([]int64, error) {
	l := lines.New(f)
	l.Most = lines.Most
	var times []int64
	for l.Next() {
		words := l.Words()
		if len(words) != 1 {
			return nil, l.Fault(1, "%d numbers, want one, in milliseconds", len(words))
		}
		t, err := l.Count(words[0], "time", lines.MaxSeconds*1000)
		if err != nil {
			return nil, err
		}
		if n := len(times); n > 0 && t < times[n-1] {
			return nil, l.Fault(words[0].Column, "%d after %d: not monotonic", t, times[n-1])
		}
		times = append(times, t)
	}
	switch {
	case l.Err != nil:
		return nil, l.Err
	case len(times) == 0:
		return nil, l.Whole("no lines, want one opportunity or more")
	case times[len(times)-1] == 0:
		return nil, l.Fault(0, "the last time is 0: a round would have no length")
	}
	return times, nil
}

// WriteMahimahi writes a way as a packet-delivery trace: its opportunities as
// they are, a course in steps by a line whenever the rate has made up the
// bytes of one. length is how long a course in steps is that has no period.
func WriteMahimahi(out io.Writer, w Way, length link.Duration) error {
	b := bufio.NewWriter(out)
	switch {
	case w.Delivery != nil:
		for _, t := range w.Delivery.Times {
			writeLine(b, t)
		}
	case w.Trace != nil:
		if err := credit(b, w.Trace, length); err != nil {
			return err
		}
	default:
		return unwritable("Mahimahi", "opportunities or steps")
	}
	return b.Flush()
}

// unwritable is the error of a way that a format cannot say.
func unwritable(format, want string) error {
	return &lines.Error{File: format, Text: "this way cannot be written so: want " + want}
}

func writeLine(b *bufio.Writer, t int64) {
	b.Write(strconv.AppendInt(b.AvailableBuffer(), t, 10))
	b.WriteByte('\n')
}

// credit writes a line whenever the bytes of an opportunity have come
// together. Bits times 10^9 keep it exact: no rate drifts.
func credit(b *bufio.Writer, t *course.Config, length link.Duration) error {
	const line = mahimahiSize * 8 * 1e9 // 10^-9 bit
	if t.Period > 0 {
		length = t.Period
	}
	saved, written, last := int64(0), 0, int64(-1)
	for i, s := range t.Steps {
		end := length
		if i+1 < len(t.Steps) {
			end = min(length, t.Steps[i+1].At)
		}
		if s.Outage || s.At >= end {
			continue
		}
		if s.Rate == nil || *s.Rate == 0 {
			return unwritable("Mahimahi", "a rate in every step")
		}
		if float64(*s.Rate)*(end-s.At).Seconds() > lines.Most*mahimahiSize*8 {
			return unwritable("Mahimahi", "less than "+strconv.Itoa(lines.Most)+" opportunities")
		}
		for at := s.At; ; {
			wait := link.Duration((line - saved + int64(*s.Rate) - 1) / int64(*s.Rate))
			if at+wait > end {
				saved += int64(end-at) * int64(*s.Rate)
				break
			}
			saved += int64(wait)*int64(*s.Rate) - line
			at += wait
			last = int64((at + link.Millisecond - 1) / link.Millisecond)
			writeLine(b, last)
			written++
		}
	}
	if written == 0 {
		return unwritable("Mahimahi", "bytes for one opportunity of 1500 or more")
	}
	// The last line is the period: where the course ends later, one more
	// line keeps its length.
	if end := int64(length / link.Millisecond); last < end {
		writeLine(b, end)
	}
	return nil
}

// Rate returns the mean rate of opportunities in each bin of a round, bit/s
// of IP.
func Rate(d *opportunity.DeliveryConfig, bin link.Duration) []link.Rate {
	size := d.Size
	if size == 0 {
		size = mahimahiSize
	}
	ms := int64(max(bin/link.Millisecond, 1))
	period := d.Times[len(d.Times)-1]
	out := make([]link.Rate, (period+ms-1)/ms)
	for _, t := range d.Times {
		// An opportunity at the very end of a round is the beginning of
		// the next one's; it counts in the bin that it ends.
		i := min(t/ms, int64(len(out)-1))
		out[i] += link.Rate(int64(size) * 8000 / ms)
	}
	return out
}
