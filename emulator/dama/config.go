package dama

import (
	"farlink/emulator/dama/burst"
	"farlink/emulator/link"
	"farlink/emulator/queue"
)

// Config is a carrier: the medium that stations share. What is not set takes
// the default given; the numbers come from OpenSAND and SNS3.
type Config struct {
	Standard   string        `toml:"standard,omitempty"`       // "rcs2" (default) or "rcs"
	Superframe link.Duration `toml:"superframe,omitempty"`     // period of allocation, 5ms..1s; default 26.5ms
	Frames     int           `toml:"frames,omitempty"`         // in a superframe, 1..32; default 1
	Carriers   int           `toml:"carriers,omitempty"`       // 1..256; default 1
	SymbolRate int           `toml:"symbol_rate_bd,omitempty"` // of a carrier, baud; default 1000000
	Waveform   int           `toml:"waveform,omitempty"`       // rcs2: reference waveform 3..22; default 14
	CodeRate   string        `toml:"code_rate,omitempty"`      // rcs: "1/3".."6/7"; default "3/4"
	Units      int           `toml:"burst_units,omitempty"`    // rcs: ATM cells or MPEG packets in a burst; default 4, MPEG 1
	Overhead   int           `toml:"burst_overhead,omitempty"` // rcs: symbols of preamble and guard; default 60
	// Encapsulation: rcs2 "rle" (default), "rle-crc", "rle-suppressed",
	// "gse", "gse-label3", "gse-label6"; rcs "aal5" (default), "aal5-snap",
	// "mpe", "mpe-packed", "ule".
	Encapsulation string        `toml:"encapsulation,omitempty"`
	Coding        string        `toml:"coding,omitempty"`        // of requests: "rcs2", "rcs", "exact"; default the standard's
	Hop           link.Duration `toml:"hop,omitempty"`           // terminal to NCC, one way; default 250ms
	Processing    int           `toml:"processing,omitempty"`    // superframes the NCC takes, 0..100; default 0
	Sharing       string        `toml:"sharing,omitempty"`       // "proportional" (default: to weight × request), "fair" (to weight)
	FCA           int           `toml:"fca_slots,omitempty"`     // free slots per terminal and superframe; 0 is off
	RBDCTimeout   int           `toml:"rbdc_timeout,omitempty"`  // superframes a rate holds; default the longest request period + 1, at least 2
	Persistence   int           `toml:"vbdc_timeout,omitempty"`  // superframes a volume holds; 0: for ever
	Access        Access        `toml:"random_access,omitempty"` // contention for requests and data
	Logon         Logon         `toml:"logon,omitempty"`         // contention for the network
	Station       StationConfig `toml:"station,omitempty"`       // the terminal that a link is
	Background    []Background  `toml:"background,omitempty"`    // simulated terminals beside it
}

// Access is the block of random-access slots in each superframe.
type Access struct {
	Slots  int     `toml:"slots,omitempty"`  // 0: no random access; at most 4096
	Copies int     `toml:"copies,omitempty"` // 1 slotted ALOHA (default), 2..4 CRDSA
	Load   float64 `toml:"load,omitempty"`   // of others, bursts per slot, Poisson, 0..2
	Data   int     `toml:"data,omitempty"`   // bursts of data a terminal without slots may send at once, 0..15
	Window int     `toml:"window,omitempty"` // largest back-off, superframes; default 255
}

// Logon is the contention of CSC bursts.
type Logon struct {
	Slots  int           `toml:"slots,omitempty"`  // in a superframe; default 8
	Wait   link.Duration `toml:"wait,omitempty"`   // for the response before trying again; default 1s
	Window link.Duration `toml:"window,omitempty"` // largest back-off; default 20s
}

// StationConfig is a terminal: what is agreed with it and how it asks.
type StationConfig struct {
	CRA     link.Rate `toml:"cra,omitempty"`       // constant rate; 0 none
	RBDC    link.Rate `toml:"rbdc_max,omitempty"`  // most it may ask as a rate, beside CRA; 0 none
	VBDC    link.Size `toml:"vbdc_max,omitempty"`  // most volume outstanding; 0 none
	FCA     bool      `toml:"fca,omitempty"`       // takes free capacity
	Weight  int       `toml:"weight,omitempty"`    // of its share when capacity is short, 1..1000; default 1
	Agent   string    `toml:"agent,omitempty"`     // RBDC: "follow" (default), "conserve", "predict"
	Horizon int       `toml:"horizon,omitempty"`   // predict: superframes to clear the queue in; default N
	Window  int       `toml:"window,omitempty"`    // superframes over which arrivals are averaged, 1..64; default 1
	Period  int       `toml:"period,omitempty"`    // superframes between request slots of its own; 0 none
	Piggy   bool      `toml:"piggyback,omitempty"` // requests ride in its traffic bursts
	// EsN0 (dB) chooses the waveform among those of the carrier's burst
	// length, rcs2 only; 0 keeps the carrier's.
	EsN0 float64 `toml:"es_n0_db,omitempty"`
	// Logon: "on" (default: logged on when the run begins), "begin" (logs
	// on when it begins), "traffic" (by its first packet).
	Logon string        `toml:"logon,omitempty"`
	Leave link.Duration `toml:"leave,omitempty"` // traffic: logs off after so long without; 0 never
	// Queue is where packets wait. No rate: the grants are it. Default
	// limit: one bandwidth-delay product with the signalling's delay.
	Queue queue.Config `toml:"queue,omitempty"`
}

func or[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

// Complete returns c with its defaults in place.
func (c Config) Complete() Config {
	or(&c.Standard, "rcs2")
	or(&c.Superframe, 26500*link.Microsecond)
	or(&c.Frames, 1)
	or(&c.Carriers, 1)
	or(&c.SymbolRate, 1_000_000)
	or(&c.Hop, 250*link.Millisecond)
	or(&c.Sharing, "proportional")
	or(&c.Coding, c.Standard)
	if c.Standard == "rcs" {
		or(&c.Encapsulation, "aal5")
		or(&c.CodeRate, "3/4")
		or(&c.Overhead, 60)
		if e, ok := burst.Encapsulate(c.Encapsulation); ok {
			if cell, _ := e.Cell(); cell == burst.TSPacket {
				or(&c.Units, 1)
			}
		}
		or(&c.Units, 4)
	} else {
		or(&c.Encapsulation, "rle")
		or(&c.Waveform, 14)
	}
	or(&c.Access.Copies, 1)
	or(&c.Access.Window, 255)
	or(&c.Logon.Slots, 8)
	or(&c.Logon.Wait, link.Second)
	or(&c.Logon.Window, 20*link.Second)
	c.Station = c.Station.complete()
	longest := c.Station.Period
	groups := make([]Background, len(c.Background))
	for i, b := range c.Background {
		groups[i] = b.complete(c.Station)
		longest = max(longest, groups[i].Station.Period)
	}
	c.Background = groups
	or(&c.RBDCTimeout, max(2, longest+1))
	return c
}

func (s StationConfig) complete() StationConfig {
	or(&s.Weight, 1)
	or(&s.Agent, "follow")
	or(&s.Window, 1)
	or(&s.Logon, "on")
	if s.Period == 0 && !s.Piggy {
		s.Period = 1
	}
	return s
}

// waveform returns the burst of the carrier, of a complete configuration.
func (c *Config) waveform() (burst.Waveform, bool) {
	if c.Standard != "rcs" {
		return burst.Reference(c.Waveform)
	}
	e, ok := burst.Encapsulate(c.Encapsulation)
	cell, _ := e.Cell()
	if !ok || cell == 0 || c.Units < 1 || c.Units > 100 || c.Overhead < 0 {
		return burst.Waveform{}, false
	}
	return burst.Turbo(c.CodeRate, cell, c.Units, c.Overhead)
}

// Latency returns N, the superframes from a request to the capacity it
// brings, and its part from the NCC's allocation on:
//
//	request sent in k, at the NCC after (k+1)·F + h, allocated at its next
//	tick; the table then takes h and the superframe begins that is next
func (c Config) Latency() (total, table int) {
	c = c.Complete()
	hop := int((c.Hop + c.Superframe - 1) / c.Superframe)
	table = max(1, hop+c.Processing)
	return 1 + hop + table, table
}

// efficiency is the bits of Ethernet that a bit of burst payload carries, for
// packets of 1500 bytes: as num/den.
func efficiency(e *burst.Encapsulation, room int) (num, den int64) {
	return etherHeader + 1500, int64(e.Cost(1500, room))
}

// etherHeader stands between the size of a frame and that of its packet.
const etherHeader = 14

// Peak returns the largest rate (Ethernet frames of 1514 bytes) that the
// station can be granted: by its slots on one carrier and by what is agreed.
func (c Config) Peak() link.Rate {
	c = c.Complete()
	w, ok := c.waveform()
	e, known := burst.Encapsulate(c.Encapsulation)
	if !ok || !known || c.Superframe <= 0 || c.Frames < 1 || c.SymbolRate < 1 {
		return 0
	}
	return c.Station.peak(&c, &e, c.Station.waveform(&c, w))
}

// peak is Peak of a complete configuration.
func (s *StationConfig) peak(c *Config, e *burst.Encapsulation, w burst.Waveform) link.Rate {
	room := e.Room(w.Payload)
	g := burst.NewGrid(c.Superframe, c.Frames, 1, c.SymbolRate, w.Symbols)
	most := muldiv(int64(g.Total()*room), 8e9, int64(c.Superframe))
	if s.VBDC == 0 && !s.FCA {
		most = min(most, int64(s.CRA+s.RBDC))
	}
	num, den := efficiency(e, room)
	return link.Rate(muldiv(most, num, den))
}

// waveform returns the station's waveform where the carrier's is w.
func (s *StationConfig) waveform(c *Config, w burst.Waveform) burst.Waveform {
	if s.EsN0 != 0 && c.Standard != "rcs" {
		if best, ok := burst.Best(w.Symbols, s.EsN0); ok {
			return best
		}
	}
	return w
}

// queue returns the station's queue with its rate and limit set.
func (s *StationConfig) queue(c *Config, peak link.Rate) queue.Config {
	q := s.Queue
	q.Rate = max(peak, 8000)
	total, _ := c.Latency()
	return q.Complete(2*c.Hop + link.Duration(total+s.Period)*c.Superframe)
}

// Waiting returns the station's queue with its rate and limit set.
func (c Config) Waiting() queue.Config {
	rate := c.Peak()
	c = c.Complete()
	return c.Station.queue(&c, rate)
}
