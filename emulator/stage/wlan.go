package stage

import (
	"math"
	"strconv"

	"farlink/emulator/link"
)

// WLANConfig is a wireless LAN as the last hop and the bottleneck: a buffer,
// and a radio whose loss comes from log-normal shadowing and is repaired by
// trying again (seed 001; its radio figures are ns-2's defaults).
type WLANConfig struct {
	// QueueConfig is the buffer and the rate: the rate is what a packet is
	// carried at per try, or, with PHY, the rate of the bits on the air.
	QueueConfig
	// Distance from station to access point in metres; default 50.
	Distance float64 `toml:"distance_m,omitempty"`
	// Exponent of the path loss, default 2.7, and standard deviation of
	// the shadowing, default 4 dB, drawn anew for every frame on the air.
	Exponent  float64 `toml:"path_loss_exponent,omitempty"`
	Shadowing float64 `toml:"shadowing_db,omitempty"`
	// RTS lets four frames be exchanged a try (RTS, CTS, DATA, ACK)
	// instead of two, all of which must be received.
	RTS bool `toml:"rts,omitempty"`
	// Tries a packet has; default 7, with RTS 4.
	Tries int `toml:"tries,omitempty"`
	// PHY takes the rate as that of 802.11 DSSS: each try takes DIFS, mean
	// backoff, preambles, SIFS and the other frames besides.
	PHY bool `toml:"phy,omitempty"`
}

// fullFrame is an Ethernet frame of 1500 bytes of payload, without FCS.
const fullFrame = 1514

// ns-2's defaults (Phy/WirelessPhy): transmit power and receive threshold in
// watts, wavelength of 914 MHz in metres, gains and loss 1, reference 1 m.
const (
	wlanPower     = 0.28183815
	wlanThreshold = 3.652e-10
	wlanWave      = 3e8 / 914e6
)

func (c WLANConfig) complete() WLANConfig {
	if c.Distance == 0 {
		c.Distance = 50
	}
	if c.Exponent == 0 {
		c.Exponent = 2.7
	}
	if c.Shadowing == 0 {
		c.Shadowing = 4
	}
	if c.Tries == 0 {
		c.Tries = 7
		if c.RTS {
			c.Tries = 4
		}
	}
	return c
}

// Check reports what is wrong with c.
func (c WLANConfig) Check(report link.Report) {
	c.QueueConfig.Check(report)
	if c.Rate == 0 {
		report("rate", c.Rate.String(), "a rate, as 4Mbit/s")
	}
	if !(c.Distance >= 0 && c.Distance <= 10000) {
		report.Figure("distance_m", c.Distance, "1..10000 metres")
	}
	if !(c.Exponent >= 0 && c.Exponent <= 10) {
		report.Figure("path_loss_exponent", c.Exponent, "up to 10 (free space 2, indoors 3..4)")
	}
	if !(c.Shadowing >= 0 && c.Shadowing <= 30) {
		report.Figure("shadowing_db", c.Shadowing, "up to 30 dB")
	}
	if c.Tries < 0 || c.Tries > 255 {
		report("tries", strconv.Itoa(c.Tries), "1..255")
	}
}

// Margin returns how far the mean of the received power is above the
// receive threshold, in dB.
func (c WLANConfig) Margin() float64 {
	c = c.complete()
	atMetre := wlanPower * math.Pow(wlanWave/(4*math.Pi), 2)
	return 10*math.Log10(atMetre/wlanThreshold) - 10*c.Exponent*math.Log10(c.Distance)
}

// Received returns the probability with which one frame on the air is
// received: that the shadowing does not eat the margin.
func (c WLANConfig) Received() float64 {
	return math.Erfc(-c.Margin()/c.complete().Shadowing/math.Sqrt2) / 2
}

// exchange returns the probability with which one try succeeds.
func (c WLANConfig) exchange() float64 {
	p := c.Received()
	if c.RTS {
		return p * p * p * p
	}
	return p * p
}

// MeanTries returns how many tries a packet takes in the mean.
func (c WLANConfig) MeanTries() float64 {
	ok := c.exchange()
	return (1 - math.Pow(1-ok, float64(c.complete().Tries))) / ok
}

// 802.11 DSSS in nanoseconds; control frames at 1 Mbit/s behind a preamble
// of 192 us: RTS 20 bytes, CTS and ACK 14.
const (
	dssDIFS     = 50e3
	dssBackoff  = 310e3 // half of 31 slots of 20 us
	dssPreamble = 192e3
	dssSIFS     = 10e3
	dssRTS      = dssPreamble + 160e3
	dssACK      = dssPreamble + 112e3
	dssHeader   = 28 - ethernetHeader // MAC header and FCS in place of Ethernet's header
)

// radio transmits packets by trying until one exchange succeeds.
type radio struct {
	draw  link.Draw
	fails float64 // ln of the probability that a try fails
	tries int
	rate  float64 // bit/s
	extra int     // bytes on the air besides the frame
	fixed float64 // ns of a try besides the bits

	packets, tried, gaveUp int
}

// transmit returns how long p takes, all tries together, and whether it was
// given up. One number a packet tells how many tries: their law is geometric.
func (r *radio) transmit(p link.Packet) (took link.Duration, lost bool) {
	n := 1 + math.Floor(math.Log1p(-r.draw.Float(p.Seq))/r.fails)
	if n > float64(r.tries) {
		n, lost = float64(r.tries), true
		r.gaveUp++
	}
	r.packets++
	r.tried += int(n)
	try := r.fixed + float64((int(p.Size)+r.extra)*8)*1e9/r.rate
	return link.Duration(math.Round(n * try)), lost
}

// WLAN is the stage: a Queue whose server is a radio.
type WLAN struct{ Queue }

// NewWLAN returns the wireless LAN that c describes.
func NewWLAN(c WLANConfig, draw link.Draw) *WLAN {
	c = c.complete()
	w := &WLAN{*NewQueue(c.QueueConfig, draw)}
	r := &radio{draw: draw.Sub("tries"), fails: math.Log1p(-c.exchange()), tries: c.Tries, rate: float64(c.Rate)}
	if c.PHY {
		r.extra = dssHeader
		r.fixed = dssDIFS + dssBackoff + dssPreamble + dssSIFS + dssACK
		if c.RTS {
			r.fixed += dssRTS + dssSIFS + dssACK + dssSIFS
		}
	}
	w.radio = r
	// What a limit in time and the probes reckon with: a full frame's pace.
	pace := fullFrame * 8e9 / (r.fixed + fullFrame*8e9/r.rate) / c.MeanTries()
	w.rate, w.own = int64(pace), int64(pace)
	w.room.ServeAt(w.rate)
	return w
}

// Inherit goes on as a Queue does.
func (w *WLAN) Inherit(now link.Time, old link.Stage) {
	if o, ok := old.(*WLAN); ok {
		w.Queue.Inherit(now, &o.Queue)
		return
	}
	w.Queue.Inherit(now, old)
}

// Probes yields what a Queue does, and how the radio fares.
func (w *WLAN) Probes(now link.Time, yield func(link.Probe)) {
	w.Queue.Probes(now, yield)
	mean := 0.0
	if w.radio.packets > 0 {
		mean = float64(w.radio.tried) / float64(w.radio.packets)
	}
	yield(link.Probe{Name: "wlan_mean_tries", Value: mean})
	yield(link.Probe{Name: "wlan_given_up_packets", Value: float64(w.radio.gaveUp)})
}
