package trace

import (
	"bufio"
	"io"
	"math"
	"strconv"

	"farlink/emulator/link"
	"farlink/emulator/opportunity"
	"farlink/emulator/trace/lines"
)

// CellReplay reads one way's files: heavy, opportunities of 1400 bytes as in
// Mahimahi; light, lines of "time_ms base_delay_ms offset_ms…", three or
// more; sizes, if its Reader is not nil, lines of "size_bytes offset_ms" for
// 100, 200, … bytes.
func CellReplay(heavy, light, sizes lines.File) (Way, error) {
	times, err := opportunities(heavy)
	if err != nil {
		return Way{}, err
	}
	c := &opportunity.TrainConfig{Heavy: opportunity.DeliveryConfig{Times: times, Size: cellReplaySize}}
	if c.Lines, err = trains(light); err != nil {
		return Way{}, err
	}
	if sizes.Reader != nil {
		if c.Sizes, err = sizeOffsets(sizes); err != nil {
			return Way{}, err
		}
	}
	return Way{Train: c}, nil
}

// leastTrains is how many lines a file of trains must have.
const leastTrains = 3

func trains(f lines.File) ([]opportunity.TrainLine, error) {
	l := lines.New(f)
	var out []opportunity.TrainLine
	total := 0
	for l.Next() {
		words := l.Words()
		if len(words) < 2 {
			return nil, l.Fault(0, "%d numbers, want time, base delay and offsets, in milliseconds", len(words))
		}
		line, err := train(l, words)
		if err != nil {
			return nil, err
		}
		if n := len(out); n > 0 && line.At < out[n-1].At {
			return nil, l.Fault(words[0].Column, "%s after %s: not monotonic", words[0].Text, out[n-1].At)
		}
		if total += len(words); total > lines.MostSteps {
			return nil, l.Fault(0, "more than %d numbers", lines.MostSteps)
		}
		out = append(out, line)
	}
	switch {
	case l.Err != nil:
		return nil, l.Err
	case len(out) < leastTrains:
		return nil, l.Whole("%d lines, want three or more", len(out))
	case out[len(out)-1].At == 0:
		return nil, l.Fault(0, "the last time is 0: a round would have no length")
	}
	return out, nil
}

// train reads a line.
func train(l *lines.Reader, words []lines.Field) (opportunity.TrainLine, error) {
	at, err := l.Count(words[0], "time", lines.MaxSeconds*1000)
	if err != nil {
		return opportunity.TrainLine{}, err
	}
	delay, err := l.Count(words[1], "base delay", lines.MaxDelay*1000)
	if err != nil {
		return opportunity.TrainLine{}, err
	}
	line := opportunity.TrainLine{At: link.Duration(at) * link.Millisecond, Delay: link.Duration(delay) * link.Millisecond}
	before := int64(0)
	for i, w := range words[2:] {
		o, err := l.Count(w, "offset", lines.MaxDelay*1000)
		if err != nil {
			return line, err
		}
		if i == 0 && o != 0 {
			return line, l.Fault(w.Column, "offset %d of the first packet, want 0", o)
		}
		if o < before {
			return line, l.Fault(w.Column, "offset %d after %d: not monotonic", o, before)
		}
		before = o
		line.Offsets = append(line.Offsets, link.Duration(o)*link.Millisecond)
	}
	return line, nil
}

func sizeOffsets(f lines.File) ([]link.Duration, error) {
	l := lines.New(f)
	var out []link.Duration
	for l.Next() {
		words := l.Words()
		if len(words) != 2 {
			return nil, l.Fault(0, "%d numbers, want a size and an offset", len(words))
		}
		size, err := l.Count(words[0], "size", math.MaxUint16)
		if err != nil {
			return nil, err
		}
		if want := int64(len(out)+1) * 100; size != want {
			return nil, l.Fault(words[0].Column, "size %d, want %d: sizes go up by 100 bytes", size, want)
		}
		d, err := l.Seconds(words[1], "offset", 1000, lines.MaxDelay)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	if l.Err == nil && len(out) == 0 {
		l.Err = l.Whole("no lines, want sizes and offsets")
	}
	return out, l.Err
}

// WriteCellReplay writes a way as CellReplay's two files; sizes may be nil
// where the way has none.
func WriteCellReplay(heavy, light, sizes io.Writer, w Way) error {
	if w.Train == nil {
		return unwritable("CellReplay", "trains")
	}
	if err := WriteMahimahi(heavy, Way{Delivery: &w.Train.Heavy}, 0); err != nil {
		return err
	}
	b := bufio.NewWriter(light)
	for _, t := range w.Train.Lines {
		b.Write(strconv.AppendInt(nil, int64(t.At/link.Millisecond), 10))
		for _, d := range append([]link.Duration{t.Delay}, t.Offsets...) {
			b.WriteByte(' ')
			b.Write(strconv.AppendInt(nil, int64(d/link.Millisecond), 10))
		}
		b.WriteByte('\n')
	}
	if err := b.Flush(); err != nil || len(w.Train.Sizes) == 0 || sizes == nil {
		return err
	}
	b.Reset(sizes)
	for i, d := range w.Train.Sizes {
		b.WriteString(strconv.Itoa((i+1)*100) + " " + strconv.FormatFloat(d.Milliseconds(), 'g', -1, 64) + "\n")
	}
	return b.Flush()
}
