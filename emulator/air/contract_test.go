package air

import (
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

const ms = link.Time(link.Millisecond)

func draw(name string) link.Draw { return link.NewDraw(7, name) }

func lossOf(c LossConfig) func() link.Stage {
	return func() link.Stage { return NewLoss(c, draw("l")) }
}

// square is a course of 70 ms without loss and 70 ms with a tenth lost.
type square struct{}

func (square) Loss(now link.Time) (float64, link.Span) {
	const half = link.Time(70 * link.Millisecond)
	start := now / half * half
	return 0.1 * float64(start/half%2), link.Span{Start: start, End: start + half}
}

// TestContract is for every process of loss, and for damage.
func TestContract(t *testing.T) {
	linktest.Contract(t, []linktest.Subject{
		{Name: "loss", Build: lossOf(LossConfig{Probability: 0.1, BER: 1e-5}), Ordered: true},
		{Name: "gilbert", Build: lossOf(LossConfig{Gilbert: &GilbertConfig{P: 0.01, R: 0.25}}), Ordered: true},
		{Name: "gilbert in time", Build: lossOf(LossConfig{GilbertTime: &GilbertTimeConfig{Bad: 16700 * link.Microsecond, Share: 0.0256, Longest: 43 * link.Millisecond}}), Ordered: true},
		{Name: "four states", Build: lossOf(LossConfig{FourState: &FourStateConfig{P13: .01, P31: .25, P32: .1, P23: .5, P14: .002}}), Ordered: true},
		{Name: "pattern", Build: lossOf(LossConfig{Pattern: &PatternConfig{Packets: []uint64{3, 17}, Repeat: 20}}), Ordered: true},
		{Name: "n of m", Build: lossOf(LossConfig{NOfM: &NOfMConfig{Lose: 2, Of: 9, Spread: "random"}}), Ordered: true},
		{Name: "corrupt", Build: func() link.Stage { return NewCorrupt(CorruptConfig{Probability: 0.1, BER: 1e-5}, draw("c")) }, Ordered: true},
		{Name: "course", Build: func() link.Stage {
			l := NewLoss(LossConfig{}, draw("l"))
			l.Follow(square{}, draw("t"))
			return l
		}, Ordered: true},
	})
}
