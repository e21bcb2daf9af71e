package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"farlink/appliance/carriers"
	"farlink/emulator/link"
	"farlink/pep/multipath"
	"farlink/profiles"
)

// Multipath lists the cases of several carriers together. Shares are of the
// carriers' rates, or of one path measured in the same run.
func Multipath() []Case {
	return []Case{
		{"multipath-sum", multipathSum}, {"multipath-redundant", multipathRedundant},
		{"multipath-satellite", multipathSatellite}, {"multipath-far", multipathFar},
		{"multipath-thin", multipathThin}, {"multipath-cut", multipathCut}, {"multipath-late", multipathLate},
		{"multipath-pairs", multipathPairs(0)}, {"multipath-pairs-2", multipathPairs(5)},
		{"multipath-relay", multipathRelay}, {"multipath-many", multipathMany}, {"multipath-wire", multipathWire},
	}
}

// Times of a sample.
const (
	multipathWarm = 2 * time.Second
	multipathFor  = 4 * time.Second
)

// together makes carriers and takes them down after f.
func together(ctx context.Context, o carriers.Options, f func(l *carriers.Lab) error) error {
	o.Name, o.Seed = fmt.Sprintf("fm%x", rand.Uint32N(1<<24)), 1
	l, err := carriers.Up(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(f(l), l.Close())
}

// operators are the two of seed 000 as cells: LTE's own grants, HARQ, load.
var operators = []string{"lte/skt", "lte/kt"}

// sample is the goodput of one transfer; its queues are empty afterwards.
func sample(ctx context.Context, begin func() (*carriers.Transfer, error), warm time.Duration) (float64, error) {
	t, err := begin()
	if err != nil {
		return 0, err
	}
	got, err := t.Goodput(ctx, warm, multipathFor)
	t.Close()
	time.Sleep(700 * time.Millisecond)
	return got, err
}

// sum is what the carriers carry up, Mbit/s.
func sum(l *carriers.Lab) (mbps float64) {
	for _, p := range l.Profiles {
		mbps += float64(p.Expect.Up) / 1e6
	}
	return mbps
}

// bests are the cells of which one is to reach the sum.
var bests = []multipath.Config{
	{Scheduler: "blest", Congestion: "bbr"}, {Scheduler: "arrival", Congestion: "bbr"}, {Scheduler: "minrtt", Congestion: "bbr"},
}

func multipathSum(ctx context.Context, b *Bench) error {
	for _, channel := range [][]string{{"lte/skt-constant", "lte/kt-constant"}, operators} {
		err := together(ctx, carriers.Options{Profiles: channel}, func(l *carriers.Lab) error {
			for _, c := range bests {
				var got []float64
				for range b.Rounds {
					if err := l.Configure(c); err != nil {
						return err
					}
					mbps, err := sample(ctx, l.Bulk, multipathWarm)
					if err != nil {
						return err
					}
					got = append(got, 100*mbps/sum(l))
				}
				b.atLeast(fmt.Sprintf("%s + %s, %s with %s", channel[0], channel[1], c.Scheduler, c.Congestion), "% of the sum", got, 89.8)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// multipathRedundant holds everything on every path against the better path
// alone, interleaved.
func multipathRedundant(ctx context.Context, b *Bench) error {
	return together(ctx, carriers.Options{Profiles: []string{"lte/skt-constant", "lte/kt-constant"}}, func(l *carriers.Lab) error {
		if err := l.Configure(multipath.Config{Scheduler: "redundant", Congestion: "bbr"}); err != nil {
			return err
		}
		var got []float64
		for range b.Rounds {
			both, err := sample(ctx, l.Bulk, multipathWarm)
			if err != nil {
				return err
			}
			alone, err := sample(ctx, func() (*carriers.Transfer, error) { return l.Direct(1, "bbr") }, multipathWarm)
			if err != nil {
				return err
			}
			got = append(got, both/alone)
		}
		b.atLeast("Redundant against the best path alone", "x", got, 0.95)
		b.atMost("Redundant against the best path alone, not more", "x", got, 1.05)
		return nil
	})
}

// plain is a carrier of a rate and a round trip, with a queue of a round
// trip, at least 100 ms.
func plain(rate link.Rate, rtt link.Duration) (*profiles.Profile, error) {
	queue := int64(float64(rate) / 8 * max(rtt.Seconds(), 0.1))
	way := fmt.Sprintf("rate = %q\nlimit = \"%dB\"\n", rate, max(queue, 20_000))
	doc := fmt.Sprintf("name = \"bench/carrier-%d\"\n[expect]\nrtt = %q\nup = %q\ndown = %q\n[up.queue]\n%s[down.queue]\n%s[up.path]\ndelay = %q\n[down.path]\ndelay = %q\n",
		rtt/link.Millisecond, rtt, rate, rate, way, way, rtt/2, rtt/2)
	p, problems := profiles.Parse([]byte(doc))
	if p == nil {
		return nil, fmt.Errorf("carrier of the bench: %v", problems)
	}
	return p, nil
}

func plains(of ...any) (all []*profiles.Profile, err error) {
	for i := 0; i < len(of); i += 2 {
		p, bad := plain(of[i].(link.Rate), of[i+1].(link.Duration))
		all, err = append(all, p), errors.Join(err, bad)
	}
	return all, err
}

// satelliteWarm is how long a transfer over 700 ms takes to its steady state:
// a start that doubles every round trip and, by CUBIC, a first loss with a
// queue of a round trip.
const satelliteWarm = 14 * time.Second

func multipathSatellite(ctx context.Context, b *Bench) error {
	return steady(ctx, b, 20*link.MegabitPerSecond, 600*link.Millisecond, 30*link.MegabitPerSecond, 40*link.Millisecond)
}

func multipathFar(ctx context.Context, b *Bench) error {
	return steady(ctx, b, 20*link.MegabitPerSecond, 700*link.Millisecond, 20*link.MegabitPerSecond, 700*link.Millisecond)
}

// steady is what two carriers hold of their sum once a transfer has come up,
// with windows by the rule: with the law that goes by the path, and with the
// one that follows the links' own grants.
func steady(ctx context.Context, b *Bench, pair ...any) error {
	two, err := plains(pair...)
	if err != nil {
		return err
	}
	return together(ctx, carriers.Options{Custom: two}, func(l *carriers.Lab) error {
		for _, law := range []string{multipath.Auto, "xlayer"} {
			if err := l.Configure(multipath.Config{Congestion: law}); err != nil {
				return err
			}
			t, err := l.Bulk()
			if err != nil {
				return err
			}
			var got []float64
			for warm := satelliteWarm; len(got) < b.Rounds; warm = 0 {
				mbps, err := t.Goodput(ctx, warm, 2*multipathFor)
				if err != nil {
					return err
				}
				got = append(got, 100*mbps/sum(l))
			}
			t.Close()
			time.Sleep(2 * time.Second)
			b.atLeast(fmt.Sprintf("%v + %v, %s, after %v", pair[1], pair[3], law, satelliteWarm), "% of the sum", got, 90)
		}
		return nil
	})
}

// multipathThin puts a thin near path beside a wide one.
func multipathThin(ctx context.Context, b *Bench) error {
	two, err := plains(2*link.MegabitPerSecond, link.Millisecond, 100*link.MegabitPerSecond, 10*link.Millisecond)
	if err != nil {
		return err
	}
	return together(ctx, carriers.Options{Custom: two}, func(l *carriers.Lab) error {
		var got []float64
		for range b.Rounds {
			both, err := sample(ctx, l.Bulk, multipathWarm)
			if err != nil {
				return err
			}
			alone, err := sample(ctx, func() (*carriers.Transfer, error) { return l.Direct(1, "bbr") }, multipathWarm)
			if err != nil {
				return err
			}
			got = append(got, both/alone)
		}
		b.atLeast("2 Mbit/s at 1 ms beside 100 Mbit/s at 10 ms, against the wide one alone", "x", got, 0.95)
		return nil
	})
}

// multipathLate compares decisions at the last moment with filled socket
// buffers, interleaved.
func multipathLate(ctx context.Context, b *Bench) error {
	return together(ctx, carriers.Options{Profiles: operators}, func(l *carriers.Lab) error {
		var ratio, late, early []float64
		for range b.Rounds {
			var p95 [2]float64
			for i, eager := range []bool{false, true} {
				if err := l.Configure(multipath.Config{Scheduler: "minrtt", Congestion: "bbr", Eager: eager}); err != nil {
					return err
				}
				l.Proxy.Delays().Forget()
				if _, err := sample(ctx, l.Bulk, multipathWarm); err != nil {
					return err
				}
				p95[i] = float64(l.Proxy.Delays().Quantile(0.95).Milliseconds())
			}
			late, early, ratio = append(late, p95[0]), append(early, p95[1]), append(ratio, p95[0]/p95[1])
		}
		b.note("in-order delay p95, late decision", "ms", late)
		b.note("in-order delay p95, filled buffers", "ms", early)
		b.atMost("in-order delay p95, late against filled buffers", "x", ratio, 0.6)
		return nil
	})
}
