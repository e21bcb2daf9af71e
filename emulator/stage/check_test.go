package stage

import (
	"slices"
	"testing"

	"farlink/emulator/course"
	"farlink/emulator/link"
)

// TestChecks: each config reports every problem it has, at its place, with
// what is wanted; and a good one none.
func TestChecks(t *testing.T) {
	type checker interface{ Check(link.Report) }
	rate := QueueConfig{Rate: mbit}
	for _, c := range []struct {
		config checker
		want   []string
	}{
		{GateConfig{MTU: 1500, Cut: []CutConfig{{0, 1}}, Flap: &FlapConfig{Period: 2, Down: 1}}, nil},
		{GateConfig{MTU: 20, Cut: []CutConfig{{0, 1}, {5, 0}}, Flap: &FlapConfig{Down: 1}},
			[]string{"mtu", "cut.1.for", "flap.period", "flap.down"}},
		{PathConfig{Delay: 2 * link.MaxDelay}, []string{"delay"}},
		{PathConfig{Delay: 100, Jitter: &JitterConfig{Distribution: "normal", Spread: 25}}, nil},
		{PathConfig{Delay: 100, Jitter: &JitterConfig{Distribution: "normal", Spread: 26}}, []string{"jitter.spread"}},
		{PathConfig{Delay: 100, Jitter: &JitterConfig{Distribution: "uniform", Spread: 101}}, []string{"jitter.spread"}},
		{PathConfig{Delay: 100, Jitter: &JitterConfig{Distribution: "pareto", Spread: 173}}, nil}, // 100·sqrt(3)
		{PathConfig{Delay: 100, Jitter: &JitterConfig{Distribution: "pareto", Spread: 174}}, []string{"jitter.spread"}},
		{PathConfig{Jitter: &JitterConfig{Distribution: "pareto", Shape: 2}}, []string{"jitter.shape"}},
		{PathConfig{Jitter: &JitterConfig{Distribution: "table", Table: []link.Duration{3, 1}, Spread: 2}}, []string{"jitter.table.1", "jitter.spread"}},
		{PathConfig{Jitter: &JitterConfig{Distribution: "gamma", HalfLife: 1, Correlation: 0.1}}, []string{"jitter.distribution", "jitter.half_life"}},
		{PathConfig{Jitter: &JitterConfig{Distribution: "table", Correlation: 1}}, []string{"jitter.table", "jitter.correlation"}},
		{ReorderConfig{Probability: 0.1, Extent: 3, Delay: 1}, nil},
		{ReorderConfig{Probability: 2, Every: -1, Extent: -1}, []string{"probability", "every", "extent", "delay"}},
		{DuplicateConfig{Probability: 2, Delay: 2 * link.MaxDelay}, []string{"probability", "delay"}},
		{MiddleboxConfig{StripSYN: true, StripData: true}, nil},
		{MiddleboxConfig{StripSYN: true, DropCapable: true}, []string{"strip_syn"}},
		{course.Config{}, []string{"step"}},
		{course.Config{Steps: []course.Step{{At: 1}, {At: 1, Loss: ptr(2.0), Outage: true, Rate: ptr(mbit)}}, End: "loop", Period: 1},
			[]string{"step.1.loss", "step.1.rate", "step.1.at", "period"}},
		{course.Config{Steps: []course.Step{{}}, End: "stop"}, []string{"end"}},
		{course.Config{Steps: []course.Step{{Delay: ptr(2 * link.MaxDelay)}}, Period: 5}, []string{"step.0.delay", "period"}},
		{WLANConfig{QueueConfig: rate}, nil},
		{WLANConfig{Distance: -1, Exponent: 11, Shadowing: 31, Tries: 256}, []string{"rate", "distance_m", "path_loss_exponent", "shadowing_db", "tries"}},
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
