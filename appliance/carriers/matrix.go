package carriers

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"farlink/pep/multipath"
	"farlink/pep/schedule"
)

// Controls are the congestion controls of seed 000, coupled ones first.
var Controls = []string{"lia", "olia", "balia", "wvegas", "reno", "cubic", "bbr"}

// coupled is how many of Controls are.
const coupled = 4

// Plan is how a matrix is measured.
type Plan struct {
	Warm  time.Duration `json:"warm_ns"` // of each cell, not counted
	For   time.Duration `json:"for_ns"`  // of each cell: 30 s in full
	Times int           `json:"times"`   // each cell is measured: 10 in full
}

// Quick is a plan of some minutes.
var Quick = Plan{Warm: 1500 * time.Millisecond, For: 3 * time.Second, Times: 1}

// Full is the plan of seed 000.
var Full = Plan{Warm: 2 * time.Second, For: 30 * time.Second, Times: 10}

// Cells is how many cells it measures over so many carriers.
func (p Plan) Cells(carriers int) int {
	return p.Times * len(Controls) * (carriers + len(schedule.Names()))
}

// Takes is how long it takes over so many carriers.
func (p Plan) Takes(carriers int) time.Duration {
	return time.Duration(p.Cells(carriers)) * (p.Warm + p.For + drains)
}

// drains is how long queues take to empty after a cell.
const drains = 600 * time.Millisecond

// Result is a matrix.
type Result struct {
	Carriers []string                        `json:"carriers"`
	SumMbps  float64                         `json:"sum_mbps"` // of the carriers' rates, up
	Cells    map[string]map[string][]float64 `json:"cells"`    // scheduler, control: Mbit/s of each time
	Single   map[string]map[string][]float64 `json:"single"`   // carrier, control
}

// Matrix measures every scheduler with every congestion control over all
// carriers, and every control over each carrier alone.
func (l *Lab) Matrix(ctx context.Context, p Plan, progress io.Writer) (*Result, error) {
	r := &Result{Cells: map[string]map[string][]float64{}, Single: map[string]map[string][]float64{}}
	for _, profile := range l.Profiles {
		r.Carriers = append(r.Carriers, profile.Name)
		r.SumMbps += float64(profile.Expect.Up) / 1e6
	}
	for n := range p.Times {
		for _, control := range Controls {
			if err := l.column(ctx, p, r, control); err != nil {
				return r, err
			}
			fmt.Fprintf(progress, "%s, round %d of %d\n", control, n+1, p.Times)
		}
	}
	return r, nil
}

// column measures one congestion control with everything.
func (l *Lab) column(ctx context.Context, p Plan, r *Result, control string) error {
	for i, name := range r.Carriers {
		got, err := l.cell(ctx, p, func() (*Transfer, error) { return l.Direct(i, control) })
		if err != nil {
			return fmt.Errorf("%s on %s alone: %w", control, name, err)
		}
		put(r.Single, name, control, got)
	}
	for _, scheduler := range schedule.Names() {
		err := l.Configure(multipath.Config{Scheduler: scheduler, Congestion: control})
		if err != nil {
			return err
		}
		got, err := l.cell(ctx, p, l.Bulk)
		if err != nil {
			return fmt.Errorf("%s with %s: %w", scheduler, control, err)
		}
		put(r.Cells, scheduler, control, got)
	}
	return nil
}

func (l *Lab) cell(ctx context.Context, p Plan, begin func() (*Transfer, error)) (float64, error) {
	t, err := begin()
	if err != nil {
		return 0, err
	}
	got, err := l.Came(ctx, t, p.Warm, p.For)
	t.Close()
	time.Sleep(drains)
	return got, err
}

// Came waits and returns, in Mbit/s, what came in d after a warm-up, each byte
// once and whether in order yet or not: what waited at the beginning for a
// byte that came later would else make a short sample larger than the
// carriers.
func (l *Lab) Came(ctx context.Context, t *Transfer, warm, d time.Duration) (float64, error) {
	if err := t.wait(ctx, warm); err != nil {
		return 0, err
	}
	before := l.waiting()
	got, err := t.Goodput(ctx, 0, d)
	return got + float64(l.waiting()-before)*8e-6/d.Seconds(), err
}

// waiting is how many bytes wait out of order at the proxy.
func (l *Lab) waiting() (n int) {
	for _, c := range l.Proxy.Stats().Connections {
		n += c.Reorder
	}
	return n
}

func put(into map[string]map[string][]float64, row, column string, v float64) {
	if into[row] == nil {
		into[row] = map[string][]float64{}
	}
	into[row][column] = append(into[row][column], v)
}

// median of what was measured; 0 of nothing.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Cell is the median of a cell, Mbit/s.
func (r *Result) Cell(scheduler, control string) float64 { return median(r.Cells[scheduler][control]) }

// Alone is the median of a control on a carrier alone, and of the best.
func (r *Result) Alone(carrier, control string) float64 { return median(r.Single[carrier][control]) }

func (r *Result) bestAlone(control string) (best float64) {
	for _, c := range r.Carriers {
		best = max(best, r.Alone(c, control))
	}
	return best
}

// Best is the best cell.
func (r *Result) Best() (scheduler, control string, mbps float64) {
	for _, s := range schedule.Names() {
		for _, c := range Controls {
			if got := r.Cell(s, c); got > mbps {
				scheduler, control, mbps = s, c, got
			}
		}
	}
	return scheduler, control, mbps
}
