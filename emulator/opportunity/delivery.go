package opportunity

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/queue"
)

// DeliveryConfig is a server that can send only at certain instants, so many
// bytes at each: Mahimahi's packet-delivery trace, which repeats for ever.
type DeliveryConfig struct {
	// Times are the opportunities, in milliseconds from the start of a
	// round, in order; one that stands twice is two. The last is also the
	// length of a round.
	Times []int64 `toml:"times_ms"`
	// Size is how many bytes one opportunity carries; default 1500, which
	// count as framing says.
	Size link.Size `toml:"size,omitempty"`
	// QueueConfig is what waits. Its rate says nothing here; its framing,
	// when left out, is "l3", as Mahimahi counts.
	QueueConfig
}

// Check reports what is wrong with c.
func (c DeliveryConfig) Check(report link.Report) {
	for i, t := range c.Times {
		if t < 0 || i > 0 && t < c.Times[i-1] {
			report("times_ms."+strconv.Itoa(i), strconv.FormatInt(t, 10), "not monotonic: no less than the value before, and than 0")
		}
	}
	if n := len(c.Times); n == 0 || c.Times[n-1] <= 0 {
		report("times_ms", strconv.Itoa(n)+" values", "one or more, the last above 0")
	}
	if c.Rate != 0 {
		report("rate", c.Rate.String(), "no rate: the opportunities make it")
	}
	c.Rate = 1e6 // an active discipline has something to wait for
	c.QueueConfig.Check(report)
}

// Mean returns the rate that the opportunities make in the mean.
func (c DeliveryConfig) Mean() link.Rate {
	n := len(c.Times)
	if n == 0 || c.Times[n-1] <= 0 {
		return 0
	}
	size := int64(c.Size)
	if size == 0 {
		size = 1500
	}
	return link.Rate(int64(n) * size * 8000 / c.Times[n-1])
}

// ParseTimes reads a Mahimahi trace: a whole number of milliseconds a line.
func ParseTimes(text string) ([]int64, error) {
	var times []int64
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		t, err := strconv.ParseInt(strings.TrimSpace(line), 10, 62)
		if err != nil || t < 0 {
			return nil, fmt.Errorf("line %d: %q: want a whole number of milliseconds", i+1, line)
		}
		if i > 0 && t < times[i-1] {
			return nil, fmt.Errorf("line %d: %d after %d: not monotonic", i+1, t, times[i-1])
		}
		times = append(times, t)
	}
	if times[len(times)-1] == 0 {
		return nil, fmt.Errorf("line %d: the last time is 0: a round would have no length", len(times))
	}
	return times, nil
}

// Delivery is the stage. An opportunity is shared: it may end one packet,
// carry several, and begin another; a packet leaves when its last byte is
// sent. An opportunity that finds nothing waiting is gone.
type Delivery struct {
	room    queue.Room
	serving link.Packet
	left    int64 // bytes of serving still to send; 0: nothing in service
	times   []int64
	size    int64
	period  link.Time
	base    link.Time // of the round of the next opportunity
	index   int       // of the next opportunity in its round
	next    link.Time // Never: nothing waits
}

// NewDelivery returns the server that c describes.
func NewDelivery(c DeliveryConfig, draw link.Draw) *Delivery {
	if c.Framing == "" {
		c.Framing = "l3"
	}
	if c.Size == 0 {
		c.Size = 1500
	}
	last := c.Times[len(c.Times)-1]
	d := &Delivery{times: c.Times, size: int64(c.Size), period: link.Time(last) * link.Time(link.Millisecond), next: link.Never}
	c.Rate = link.Rate(int64(len(c.Times)) * d.size * 8000 / last)
	d.room = queue.NewRoom(c.QueueConfig.Complete(queue.UsualRTT), draw)
	return d
}

// Put lets p wait for an opportunity.
func (d *Delivery) Put(p link.Packet, out link.Sink) {
	if d.next <= p.When {
		d.Run(p.When, out)
	}
	d.room.Join(p, out)
	d.wake(p.When)
}

// wake finds the first opportunity after now, if something begins to wait.
func (d *Delivery) wake(now link.Time) {
	if d.next != link.Never || d.room.Len() == 0 && d.left == 0 {
		return
	}
	d.base = now / d.period * d.period
	d.index = sort.Search(len(d.times), func(i int) bool { return d.at(i) > now })
	d.settle()
}

// at returns the instant of opportunity i of the round.
func (d *Delivery) at(i int) link.Time {
	return d.base + link.Time(d.times[i])*link.Time(link.Millisecond)
}

// settle sets next from base and index, which may be past its round.
func (d *Delivery) settle() {
	if d.index == len(d.times) {
		d.base, d.index = d.base+d.period, 0
	}
	d.next = d.at(d.index)
}

// Next returns when the next opportunity finds something to send.
func (d *Delivery) Next() link.Time { return d.next }

// Run takes the opportunities until now.
func (d *Delivery) Run(now link.Time, out link.Sink) {
	for d.next <= now {
		d.send(d.next, out)
		d.index++
		d.settle()
		if d.left == 0 && d.room.Len() == 0 {
			d.next = link.Never
		}
	}
}

// send fills the opportunity at at.
func (d *Delivery) send(at link.Time, out link.Sink) {
	for credit := d.size; credit > 0; {
		if d.left == 0 {
			p, ok := d.room.Take(at, out)
			if !ok {
				return
			}
			d.serving, d.left = p, d.room.Line(p.Size)
		}
		sent := min(d.left, credit)
		d.left, credit = d.left-sent, credit-sent
		if d.left == 0 {
			p := d.serving
			p.When = at
			out.Deliver(p)
		}
	}
}

// Held returns what waits and what is partly sent.
func (d *Delivery) Held() (packets, bytes int) {
	packets, bytes = d.room.Len(), d.room.Bytes()
	if d.left > 0 {
		packets, bytes = packets+1, bytes+int(d.serving.Size)
	}
	return packets, bytes
}

// Drain gives up all that waits, each with the When of its arrival.
func (d *Delivery) Drain(yield func(link.Packet)) {
	d.next = link.Never
	if d.left > 0 {
		d.left = 0
		yield(d.serving)
	}
	for d.room.Len() > 0 {
		yield(d.room.Pop())
	}
}

// Adopt lets p wait behind all that does.
func (d *Delivery) Adopt(now link.Time, p link.Packet) {
	d.room.Push(p)
	d.wake(now)
}

// Inherit takes over the state of the old one's discipline.
func (d *Delivery) Inherit(_ link.Time, old link.Stage) {
	if o, ok := old.(*Delivery); ok {
		d.room.Inherit(&o.room)
	}
}

// Capacity returns the mean rate of a round.
func (d *Delivery) Capacity(link.Time) link.Capacity {
	_, bytes := d.Held()
	rate := link.Rate(d.room.Rate())
	return link.Capacity{Version: 1, Rate: rate, NextAt: link.Never, NextRate: rate, Queue: link.Size(bytes), Room: d.room.Bears()}
}

// Probes yields what waits.
func (d *Delivery) Probes(_ link.Time, yield func(link.Probe)) {
	packets, bytes := d.Held()
	yield(link.Probe{Name: "queue_packets", Value: float64(packets)})
	yield(link.Probe{Name: "queue_bytes", Value: float64(bytes)})
	yield(link.Probe{Name: "queue_delay_ms", Value: d.room.Delay().Milliseconds()})
	yield(link.Probe{Name: "rate_bps", Value: float64(d.room.Rate())})
	d.room.Probes(yield)
}
