package bench

import (
	"context"
	"fmt"
	"time"

	"farlink/appliance/carriers"
	"farlink/emulator/link"
)

// pairsAtOnce is how many random pairs a case measures.
const pairsAtOnce = 5

// multipathPairs holds random pairs of carriers against the better one alone:
// those that pep/schedule runs in virtual time, by the same draws.
func multipathPairs(first uint64) func(ctx context.Context, b *Bench) error {
	return func(ctx context.Context, b *Bench) error {
		for n := range uint64(pairsAtOnce) {
			if err := onePair(ctx, b, first+n); err != nil {
				return err
			}
		}
		return nil
	}
}

func onePair(ctx context.Context, b *Bench, n uint64) error {
	draw := link.NewDraw(n, "pair")
	var pair []any
	for i := range uint64(2) {
		rate := link.Rate(1e6 + 17e6*draw.Float(3*i))
		rtt := 4*link.Millisecond + link.Duration(300e6*draw.Float(3*i+1))
		pair = append(pair, rate/1000*1000, rtt/link.Millisecond*link.Millisecond)
	}
	two, err := plains(pair...)
	if err != nil {
		return err
	}
	better := 0
	if pair[2].(link.Rate) > pair[0].(link.Rate) {
		better = 1
	}
	return together(ctx, carriers.Options{Custom: two}, func(l *carriers.Lab) error {
		const warm = 3500 * time.Millisecond
		alone, err := sample(ctx, func() (*carriers.Transfer, error) { return l.Direct(better, "cubic") }, warm)
		if err != nil {
			return err
		}
		both, err := sample(ctx, l.Bulk, warm)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("pair %d, %v at %v + %v at %v, against the better alone", n, pair[0], pair[1], pair[2], pair[3])
		b.atLeast(name, "x", []float64{both / alone}, 0.95)
		return nil
	})
}
