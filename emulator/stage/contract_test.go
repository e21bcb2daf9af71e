package stage

import (
	"testing"

	"farlink/emulator/air"
	"farlink/emulator/course"
	"farlink/emulator/link"
	"farlink/emulator/linktest"
)

func ptr[T any](v T) *T { return &v }

func draw(name string) link.Draw { return link.NewDraw(7, name) }

// swinging changes rate and delay every 70 ms, with an outage between.
func swinging() *course.Course {
	return course.New(course.Config{End: "loop", Period: 280 * link.Millisecond, Steps: []course.Step{
		{At: 0, Rate: ptr(3 * link.MegabitPerSecond), Delay: ptr(30 * link.Millisecond)},
		{At: 70 * link.Millisecond, Rate: ptr(9 * link.MegabitPerSecond), Loss: ptr(0.1)},
		{At: 140 * link.Millisecond, Outage: true, Delay: ptr(10 * link.Millisecond)},
		{At: 210 * link.Millisecond},
	}})
}

func queueOf(discipline string, limit Limit) func() link.Stage {
	return func() link.Stage {
		return NewQueue(QueueConfig{Rate: 5 * link.MegabitPerSecond, Limit: limit, Discipline: discipline}, draw("q"))
	}
}

func pathOf(j *JitterConfig) func() link.Stage {
	return func() link.Stage {
		return NewPath(PathConfig{Delay: 20 * link.Millisecond, Jitter: j}, draw("p"))
	}
}

// subjects is every stage in every shape that decides differently.
func subjects() []linktest.Subject {
	kB20 := Limit{Bytes: 20000}
	return []linktest.Subject{
		{Name: "gate", Build: func() link.Stage {
			return NewGate(GateConfig{MTU: 1000, Cut: []CutConfig{{100 * link.Millisecond, 50 * link.Millisecond}},
				Flap: &FlapConfig{Period: 300 * link.Millisecond, Down: 20 * link.Millisecond}})
		}, Ordered: true},
		{Name: "droptail bytes", Build: queueOf("", kB20), Ordered: true},
		{Name: "droptail packets", Build: queueOf("droptail", Limit{Packets: 20}), Ordered: true},
		{Name: "droptail time", Build: queueOf("droptail", Limit{Time: 30 * link.Millisecond}), Ordered: true},
		{Name: "drophead", Build: queueOf("drophead", kB20), Ordered: true},
		{Name: "red", Build: queueOf("red", kB20), Ordered: true},
		{Name: "codel", Build: queueOf("codel", Limit{Bytes: 200000}), Ordered: true},
		{Name: "pie", Build: queueOf("pie", Limit{Bytes: 200000}), Ordered: true},
		{Name: "unlimited", Build: func() link.Stage { return NewQueue(QueueConfig{}, draw("q")) }, Ordered: true},
		{Name: "traced queue", Build: func() link.Stage {
			q := NewQueue(QueueConfig{Rate: 5 * link.MegabitPerSecond, Limit: kB20}, draw("q"))
			q.Follow(swinging())
			return q
		}, Ordered: true},
		{Name: "wlan", Build: func() link.Stage {
			return NewWLAN(WLANConfig{QueueConfig: QueueConfig{Rate: 4 * link.MegabitPerSecond, Limit: Limit{Packets: 60}}, Distance: 100}, draw("w"))
		}, Ordered: true},
		{Name: "path", Build: pathOf(nil), Ordered: true},
		{Name: "uniform", Build: pathOf(&JitterConfig{Distribution: "uniform", Spread: 15 * link.Millisecond}), Ordered: true},
		{Name: "normal", Build: pathOf(&JitterConfig{Distribution: "normal", Spread: 4 * link.Millisecond}), Ordered: true},
		{Name: "pareto", Build: pathOf(&JitterConfig{Distribution: "pareto", Spread: 4 * link.Millisecond}), Ordered: true},
		{Name: "half-life", Build: pathOf(&JitterConfig{Distribution: "normal", Spread: 4 * link.Millisecond, HalfLife: 50 * link.Millisecond}), Ordered: true},
		{Name: "correlated", Build: pathOf(&JitterConfig{Distribution: "uniform", Spread: 4 * link.Millisecond, Correlation: 0.9}), Ordered: true},
		{Name: "table", Build: pathOf(&JitterConfig{Distribution: "table", Table: []link.Duration{0, 1e6, 1e7}}), Ordered: true},
		{Name: "traced path", Build: func() link.Stage {
			l := NewPath(PathConfig{Delay: 20 * link.Millisecond}, draw("p"))
			l.Follow(swinging())
			return l
		}, Ordered: true},
		{Name: "reorder", Build: func() link.Stage {
			return NewReorder(ReorderConfig{Probability: 0.1, Every: 13, Extent: 3, Delay: 10 * link.Millisecond}, draw("r"))
		}},
		{Name: "reorder in time", Build: func() link.Stage {
			return NewReorder(ReorderConfig{Probability: 0.3, Delay: 10 * link.Millisecond}, draw("r"))
		}},
		{Name: "duplicate", Build: func() link.Stage { return NewDuplicate(DuplicateConfig{Probability: 0.2}, draw("d")) }, Ordered: true},
		{Name: "duplicate later", Build: func() link.Stage {
			return NewDuplicate(DuplicateConfig{Probability: 0.2, Delay: 10 * link.Millisecond}, draw("d"))
		}},
		{Name: "middlebox", Build: func() link.Stage { return NewMiddlebox(MiddleboxConfig{StripData: true, DropCapable: true}) }, Ordered: true},
		{Name: "everything", Build: everything},
		{Name: "geo", Build: func() link.Stage {
			return geo(&JitterConfig{Distribution: "normal", Spread: link.Millisecond})
		}, Ordered: true},
	}
}

// everything is a chain with every place filled.
func everything() link.Stage {
	q := NewQueue(QueueConfig{Rate: 5 * link.MegabitPerSecond, Limit: Limit{Bytes: 30000}, Discipline: "pie"}, draw("q"))
	q.Follow(swinging())
	l := air.NewLoss(air.LossConfig{Probability: 0.01, Gilbert: &air.GilbertConfig{P: .01, R: .3}}, draw("l"))
	l.Follow(swinging(), draw("t"))
	p := NewPath(PathConfig{Delay: 20 * link.Millisecond, Jitter: &JitterConfig{Distribution: "pareto", Spread: 4 * link.Millisecond}}, draw("p"))
	p.Follow(swinging())
	return link.NewChain(
		NewGate(GateConfig{MTU: 1400, Flap: &FlapConfig{Period: link.Second, Down: 10 * link.Millisecond}}), q, l,
		air.NewCorrupt(air.CorruptConfig{Probability: 0.1}, draw("c")), p,
		NewReorder(ReorderConfig{Probability: 0.1, Extent: 3, Delay: 10 * link.Millisecond}, draw("r")),
		NewDuplicate(DuplicateConfig{Probability: 0.1, Delay: 3 * link.Millisecond}, draw("d")))
}

func TestContract(t *testing.T) { linktest.Contract(t, subjects()) }
