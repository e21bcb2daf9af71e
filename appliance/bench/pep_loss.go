package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"farlink/emulator/plot"
	"farlink/pep"
)

// noisy are the profiles of seed 004 and their loss of full frames: none, and
// by both readings of a bit error rate (by the frame's length; one for all).
var noisy = []struct {
	profile string
	loss    float64
}{{"seed/004", 0}, {"seed/004-ber-1e-7", 0.00121}, {"seed/004-ber-1e-6", 0.01204}, {"seed/004-plr-1e-6", 0.01193}}

// settling is how long a connection may take to its full rate: two round
// trips for its handshake and its request, and one for the first window.
const settling = 2 * time.Second

// pepLoss is seed 004: 8 Mbit/s, 500 ms, bit errors. The ideal is what the
// link carries less what it loses of full frames. Since bytes are delivered in
// order, what lies behind a loss is one round trip late: hence the length.
func pepLoss(streams int) func(ctx context.Context, b *Bench) error {
	return func(ctx context.Context, b *Bench) error { return pepLossOf(ctx, b, streams) }
}

func pepLossOf(ctx context.Context, b *Bench, streams int) error {
	r, err := newProxiedOn(ctx, noisy[0].profile, splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	for _, c := range noisy {
		if err := r.turnTo(c.profile); err != nil {
			return err
		}
		got, err := pull(r.B, r.A, streams, "cubic", 20*time.Second)
		if err != nil {
			return err
		}
		b.atLeast(fmt.Sprintf("%s, %d sessions, of the ideal", c.profile, streams), "%",
			[]float64{100 * mbits(got, settling) / (8 * payload * (1 - c.loss))}, 95)
	}
	return nil
}

// pepRivals compares xlayer with Hybla in the proxies, and with Reno without
// them: at 1e-6, and at the bit error rate of seed 004 where those are worst.
func pepRivals(ctx context.Context, b *Bench) error {
	r, err := newProxiedOn(ctx, "seed/004-ber-1e-6", splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	for _, profile := range []string{"seed/004-ber-1e-6", "seed/004-ber-1e-5"} {
		if err := r.turnTo(profile); err != nil {
			return err
		}
		var rates [3]float64
		for i, c := range []struct {
			config pep.Config
			ends   string
		}{{splitting("xlayer"), "cubic"}, {splitting("hybla"), "cubic"}, {passing, "reno"}} {
			if err := r.path.Configure(c.config); err != nil {
				return err
			}
			got, err := pull(r.B, r.A, 1, c.ends, 13*time.Second)
			if err != nil {
				return err
			}
			rates[i] = mbits(got, settling)
		}
		least := 0.95 // at 1e-6 Hybla fills the link as well
		if profile == "seed/004-ber-1e-5" {
			least = 2
		}
		b.against("xlayer over "+profile, "Mbit/s", "Hybla in the proxies", rates[:1], rates[1:2], least)
		b.against("xlayer over "+profile, "Mbit/s", "Reno without proxies", rates[:1], rates[2:], 4)
	}
	return nil
}

// pepWindow looks at the window of a connection over a link with bit errors:
// from the first second on it is one product of the grant, and stays there.
func pepWindow(ctx context.Context, b *Bench) error {
	r, err := newProxiedOn(ctx, "seed/004-ber-1e-6", splitting("xlayer"))
	if err != nil {
		return err
	}
	defer r.Close()
	windows := make(chan []float64, 1)
	const every, lasting = 100 * time.Millisecond, 12 * time.Second
	go func() { windows <- r.windows(every, lasting) }()
	got, err := pull(r.B, r.A, 1, "cubic", lasting)
	if err != nil {
		return err
	}
	w := <-windows
	from := min(int(time.Second/every), len(w)-1)
	least, most := slices.Min(w[from:]), slices.Max(w[from:])
	b.note("window after the first second", "packets", []float64{Median(w[from:])})
	b.atMost("the window moves after the first second by", "%", []float64{100 * (most - least) / Median(w[from:])}, 2)
	s, err := r.far().Status()
	if err != nil {
		return err
	}
	b.atMost("windows beside grant times RTT", "%", []float64{100 * s.Feed.Error}, 5)
	return b.drawWindow(every, w, got[0])
}

// windows is the window of the far proxy's connection over the link, each
// every, from when there is one.
func (p *proxied) windows(every, lasting time.Duration) (w []float64) {
	for begun := time.Now(); time.Since(begun) < lasting; time.Sleep(every) {
		flows, _, err := p.far().Flows(0, 1)
		if err == nil && len(flows) == 1 && flows[0].ToClient.State == "established" {
			w = append(w, float64(flows[0].ToClient.Cwnd))
		}
	}
	return append(w, 0)[:max(len(w), 1)]
}

// drawWindow keeps the course of window and goodput, where figures are kept.
func (b *Bench) drawWindow(step time.Duration, windows []float64, bytes []int64) error {
	if b.Out == "" {
		return nil
	}
	rate := make([]float64, len(bytes))
	for i, n := range bytes {
		rate[i] = float64(n) * 8e-6 / step.Seconds()
	}
	f := plot.Figure{Title: "xlayer over seed/004-ber-1e-6", Step: step.Seconds(), Panels: []plot.Panel{
		{Title: "Window", Unit: "packets", Lines: []plot.Line{{Style: plot.Stairs, Values: windows}}},
		{Title: "Goodput", Unit: "Mbit/s", Lines: []plot.Line{{Style: plot.Stairs, Values: rate}}},
	}}
	if err := os.MkdirAll(b.Out, 0o755); err != nil {
		return fmt.Errorf("keep the window's course: %w", err)
	}
	return os.WriteFile(filepath.Join(b.Out, "pep-window.svg"), f.SVG(), 0o644)
}
