package netlab

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// experiment is the EtherType for local experiments (IEEE 802, 0x88B5): no
// stack answers to it.
const experiment = 0x88b5

// ProbeOptions say how to probe; zero values stand for the defaults named.
type ProbeOptions struct {
	Count int           // frames: 300
	Every time.Duration // between frames: 3 ms
	Size  int           // bytes: 100
	Wait  time.Duration // for the last one: 1 s
	VLAN  uint16        // identifier of a tag to carry; 0 none
}

// Delays are one-way delays in ns of the frames that came through, in the
// order of their sending.
type Delays struct {
	Sent int
	NS   []int64
}

// Quantile returns the delay below which the fraction q of all lies.
func (d Delays) Quantile(q float64) time.Duration {
	if len(d.NS) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d.NS))
	return time.Duration(s[min(int(q*float64(len(s))), len(s)-1)])
}

// Probe measures the one-way delay from one endpoint to another by numbered
// frames, stamped by the kernel as they leave the one interface and as they
// come to the other: no wake-up of a process is in it.
func Probe(from, to End, o ProbeOptions) (Delays, error) {
	if o.Count == 0 {
		o.Count = 300
	}
	if o.Every == 0 {
		o.Every = 3 * time.Millisecond
	}
	if o.Size == 0 {
		o.Size = 100
	}
	if o.Wait == 0 {
		o.Wait = time.Second
	}
	near, err := from.Tap()
	if err != nil {
		return Delays{}, err
	}
	defer near.Close()
	far, err := to.Tap()
	if err != nil {
		return Delays{}, err
	}
	defer far.Close()
	sender, err := from.Tap() // a socket does not see what it sent itself
	if err != nil {
		return Delays{}, err
	}
	defer sender.Close()
	left, came := make(chan []int64, 1), make(chan []int64, 1)
	stop := make(chan struct{})
	go func() { left <- near.stamps(o, true, stop) }()
	go func() { came <- far.stamps(o, false, stop) }()
	frame := probeFrame(o)
	begun := time.Now()
	for i := range o.Count {
		// Some sleeps last longer; the rate stays.
		if ahead := time.Until(begun.Add(time.Duration(i) * o.Every)); ahead > 0 {
			time.Sleep(ahead)
		}
		binary.BigEndian.PutUint32(frame[len(frame)-4:], uint32(i))
		if err := sender.Send(frame); err != nil {
			close(stop)
			return Delays{}, fmt.Errorf("send probe %d: %w", i, err)
		}
	}
	time.AfterFunc(o.Wait, func() { close(stop) })
	d := Delays{Sent: o.Count}
	out, in := <-left, <-came
	for i := range out {
		if out[i] != 0 && in[i] != 0 {
			d.NS = append(d.NS, in[i]-out[i])
		}
	}
	return d, nil
}

// probeFrame is a frame from a made-up host to another, its last 4 bytes to
// be its number.
func probeFrame(o ProbeOptions) []byte {
	f := []byte{2, 0x11, 0x22, 0x33, 0x44, 0x55, 2, 0, 0, 0, 0, 0xfe}
	if o.VLAN != 0 {
		f = binary.BigEndian.AppendUint16(f, 0x8100)
		f = binary.BigEndian.AppendUint16(f, o.VLAN)
	}
	f = binary.BigEndian.AppendUint16(f, experiment)
	return append(f, make([]byte, max(4, o.Size-len(f)))...)
}

// stamps collects the stamps of the probe's frames by number until all are
// there or stop is closed.
func (t *Tap) stamps(o ProbeOptions, outgoing bool, stop <-chan struct{}) []int64 {
	at, size := make([]int64, o.Count), len(probeFrame(o))
	buf := make([]byte, 1<<16)
	for left := o.Count; left > 0; {
		f, err := t.Receive(buf, 20*time.Millisecond)
		if err == nil && f.Outgoing == outgoing && len(f.Bytes) == size && f.Bytes[11] == 0xfe {
			if n := binary.BigEndian.Uint32(f.Bytes[size-4:]); int(n) < o.Count && at[n] == 0 {
				at[n] = f.At
				left--
			}
		}
		select {
		case <-stop:
			if err != nil {
				return at
			}
		default:
		}
	}
	return at
}
