package air

import (
	"slices"
	"testing"

	"farlink/emulator/link"
)

// TestChecks: each config reports every problem it has, at its place, with
// what is wanted; and a good one none.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		config interface{ Check(link.Report) }
		want   []string
	}{
		{LossConfig{Probability: 0.5, BER: 1e-6, BERSize: 1500}, nil},
		{LossConfig{Probability: 1.5, BERSize: 10000, BER: 0}, []string{"probability", "ber_size", "ber_size"}},
		{LossConfig{Gilbert: &GilbertConfig{}}, []string{"gilbert.p"}},
		{LossConfig{Gilbert: &GilbertConfig{P: 0.1}}, []string{"gilbert.p"}},
		{LossConfig{Gilbert: &GilbertConfig{P: 0.1, R: 0.1, Loss: 0.1}}, []string{"gilbert.loss"}},
		{LossConfig{Gilbert: &GilbertConfig{Loss: 0.9, Burst: 2}}, []string{"gilbert.loss"}},
		{LossConfig{Gilbert: &GilbertConfig{Loss: 0.1, Burst: 0.5, BadLoss: 0.3}}, []string{"gilbert.bad_loss", "gilbert.burst"}},
		{LossConfig{GilbertTime: &GilbertTimeConfig{Bad: 1e6, Share: 0.1, Longest: 3e6}}, nil},
		{LossConfig{GilbertTime: &GilbertTimeConfig{Share: 2, Longest: 5}}, []string{"gilbert_time.bad", "gilbert_time.share"}},
		{LossConfig{GilbertTime: &GilbertTimeConfig{Bad: 1e6, Good: 1e6, Share: 0.1, Longest: 2e6}}, []string{"gilbert_time.good", "gilbert_time.longest"}},
		{LossConfig{GilbertTime: &GilbertTimeConfig{Bad: 1e6}}, []string{"gilbert_time.share"}},
		{LossConfig{FourState: &FourStateConfig{}}, []string{"four_state.p13"}},
		{LossConfig{Pattern: &PatternConfig{Packets: []uint64{3}, Bitmap: "012", Repeat: 2}},
			[]string{"pattern.packets", "pattern.bitmap", "pattern.repeat"}},
		{LossConfig{Pattern: &PatternConfig{Packets: []uint64{1e9}}}, []string{"pattern.packets.0"}},
		{LossConfig{NOfM: &NOfMConfig{Lose: 4, Of: 3, Spread: "odd"}}, []string{"n_of_m.lose", "n_of_m.spread"}},
		{LossConfig{NOfM: &NOfMConfig{}}, []string{"n_of_m.of"}},
		{CorruptConfig{Probability: -1, BER: 2}, []string{"probability", "ber"}},
	} {
		var got []string
		c.config.Check(func(path, _, want string) {
			got = append(got, path)
			if want == "" {
				t.Errorf("%+v: %s: nothing wanted", c.config, path)
			}
		})
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: problems at %q, want %q", c.config, got, c.want)
		}
	}
}
