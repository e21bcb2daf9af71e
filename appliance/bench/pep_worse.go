package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"farlink/emulator/link"
	"farlink/pep"
)

// Random links on which the proxies must not be worse than the wire. They are
// drawn by number, so that a case is the same links at any time.
const (
	randomLinks = 40
	perCase     = 5
)

// pepWorseCases are the random links, a few to a case.
func pepWorseCases() (cases []Case) {
	for first := 0; first < randomLinks; first += perCase {
		cases = append(cases, Case{fmt.Sprintf("pep-never-worse-%02d", first), func(ctx context.Context, b *Bench) error { return pepWorse(ctx, b, first) }})
	}
	return cases
}

// randomLink is a link between a metre of cable and two satellites.
type randomLink struct {
	delay    link.Duration // one way
	down, up link.Rate
	limit    link.Duration // of the queues
	loss     float64
}

const (
	farBetter  = 0.75
	bulkRounds = 2
	// policySettles is until a proxy has seen what kind of link there is.
	policySettles = 150 * time.Millisecond
)

// bulk is how long a link is loaded: some round trips.
func bulk(l randomLink) time.Duration {
	return min(max(time.Duration(16*l.delay), 2*time.Second), 4*time.Second).Round(100 * time.Millisecond)
}

// drawn is random link n: delays, rates and losses as even in their
// logarithms, half of the links without loss.
func drawn(n int) randomLink {
	d := link.NewDraw(4, fmt.Sprintf("never worse %d", n))
	between := func(i uint64, least, most float64) float64 { return least * math.Pow(most/least, d.Float(i)) }
	l := randomLink{
		delay: link.Duration(between(0, 5, 3300)) * 100 * link.Microsecond,
		down:  link.Rate(between(1, 4e3, 100e3)) * link.KilobitPerSecond,
	}
	l.up = max(l.down/link.Rate(between(2, 1, 20))/link.KilobitPerSecond, 256) * link.KilobitPerSecond
	l.limit = max(link.Duration(between(3, 0.25, 2)*2*float64(l.delay))/link.Millisecond, 20) * link.Millisecond
	if d.Chance(4, 0.5) {
		l.loss = math.Round(between(5, 1e-5, 1e-2)*1e6) / 1e6
	}
	return l
}

func (l randomLink) document() ([]byte, error) {
	way := func(name string, rate link.Rate) string {
		return fmt.Sprintf("[%s.queue]\nrate = %q\nlimit = %q\n[%s.loss]\nprobability = %g\n[%s.path]\ndelay = %q\n", name, rate, l.limit, name, l.loss, name, l.delay)
	}
	return written("name = \"bench/random\"\n[down]\nshallow_queue = true\n[up]\nshallow_queue = true\n" + way("down", l.down) + way("up", l.up))
}

func (l randomLink) String() string {
	return fmt.Sprintf("%v, %v/%v, queue %v, loss %g", 2*l.delay, l.down, l.up, l.limit, l.loss)
}

// pepWorse compares goodput and the time of pages through the proxies, as they
// are by default, with the same where they split nothing.
func pepWorse(ctx context.Context, b *Bench, first int) error {
	doc, err := drawn(first).document()
	if err != nil {
		return err
	}
	r, err := newProxied(ctx, doc, splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	for n := first; n < first+perCase; n++ {
		l := drawn(n)
		if doc, err = l.document(); err != nil {
			return err
		}
		if _, err := r.Apply(doc); err != nil {
			return err
		}
		if err := r.beside(b, fmt.Sprintf("link %d (%v)", n, l), l); err != nil {
			return fmt.Errorf("link %d (%v): %w", n, l, err)
		}
	}
	return nil
}

// beside measures both on one link, interleaved, so often that one loss does
// not decide; what is far better in the first round is not asked again.
func (p *proxied) beside(b *Bench, what string, l randomLink) error {
	sizes := [2]int64{100e3, 1e6}
	var figures [3][2][]float64 // seconds for a page, for another, a byte of bulk; with, without
	rounds := 3
	if l.loss > 0 {
		rounds = 5
	}
	for round := range rounds {
		for i, config := range []pep.Config{splitting("xlayer"), passing} {
			if err := p.path.Configure(config); err != nil {
				return err
			}
			time.Sleep(policySettles)
			for j := range figures {
				f := &figures[j]
				if round > 0 && f[0][0] < farBetter*f[1][0] || j == 2 && round >= bulkRounds {
					continue
				}
				took, err := p.took(j, sizes, l)
				if err != nil {
					return err
				}
				f[i] = append(f[i], took)
			}
		}
	}
	b.against(what+", goodput", "Mbit/s", "bypass", inMbits(figures[2][0]), inMbits(figures[2][1]), 0.97)
	for j, size := range sizes {
		b.within(fmt.Sprintf("%s, %d kB", what, size/1000), "s", "bypass", figures[j][0], figures[j][1], 1.01)
	}
	return nil
}

// took is the seconds of page j, or of a byte under load.
func (p *proxied) took(j int, sizes [2]int64, l randomLink) (float64, error) {
	if j < len(sizes) {
		took, err := fetch(p.B, p.A, "cubic", sizes[j])
		return took.Seconds(), err
	}
	got, err := pull(p.B, p.A, 1, "cubic", bulk(l))
	if err != nil {
		return 0, err
	}
	return 8e-6 / mbits(got, 0), nil
}

// inMbits is seconds for a byte as Mbit/s.
func inMbits(seconds []float64) (rates []float64) {
	for _, s := range seconds {
		rates = append(rates, 8e-6/s)
	}
	return rates
}
