package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"farlink/appliance"
	"farlink/appliance/run"
	"farlink/appliance/traffic"
	"farlink/emulator/link"
	"farlink/emulator/tally"
)

// Measure measures the cells that the store does not hold yet. Before each it
// calls next with its place among all, and after each with its record; nil
// calls nothing.
func (e *Experiment) Measure(ctx context.Context, s *Store, p Place, next func(i int, c Cell, r *Record)) error {
	for _, l := range e.Traffic {
		if !p.Hosts.Builtin(l) {
			return fmt.Errorf("traffic %s: %s needs sockets at both sides: want netns for the hosts, or kind command", l.Name, l.Kind)
		}
	}
	restore, err := p.borrow(ctx, e.Name)
	if err != nil {
		return err
	}
	for i, c := range e.Cells() {
		if _, done := s.Record(c); done {
			continue
		}
		if next != nil {
			next(i, c, nil)
		}
		var r Record
		if r, err = e.measure(ctx, p, c); err != nil {
			err = fmt.Errorf("%v: %w", c, err)
			break
		}
		if err = s.Keep(r); err != nil {
			break
		}
		if next != nil {
			next(i, c, &r)
		}
	}
	return errors.Join(err, restore())
}

const (
	leaseTTL   = "2m"
	leaseLeast = 5 * time.Second // the shortest that a box gives
)

// borrow takes the lease of a shared box, keeps it, and remembers how the box
// was.
func (p Place) borrow(ctx context.Context, name string) (restore func() error, err error) {
	if !p.Shared {
		return func() error { return nil }, nil
	}
	lease := map[string]string{"purpose": "experiment " + name, "ttl": leaseTTL}
	release, err := p.lease(ctx, lease)
	if err != nil {
		return nil, err
	}
	keep, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for tick := time.NewTicker(30 * time.Second); ; {
			select {
			case <-keep.Done():
				tick.Stop()
				return
			case <-tick.C:
				_ = p.Box.Call(keep, http.MethodPut, "/lease", lease, nil) // a lease that is lost shows at the next write
			}
		}
	})
	var want appliance.Want
	var proxies appliance.PEPState
	err = errors.Join(p.Box.Call(ctx, http.MethodGet, p.path("/link", nil), nil, &want), p.Box.Call(ctx, http.MethodGet, p.path("/pep", nil), nil, &proxies))
	after := context.WithoutCancel(ctx)
	giveBack := func() error {
		stop()
		work.Wait()
		return release(after)
	}
	if err != nil {
		return nil, errors.Join(err, giveBack())
	}
	return func() error {
		return errors.Join(p.Box.Call(after, http.MethodPut, p.path("/pep", nil), proxies.Want, nil),
			p.Box.Call(after, http.MethodPut, p.path("/link", nil), want, nil), giveBack())
	}, nil
}

// lease takes the lease. Who held it before holds it again afterwards, for as
// long as it had been.
func (p Place) lease(ctx context.Context, wish map[string]string) (release func(context.Context) error, err error) {
	var me struct{ Name string }
	var was struct {
		Held            bool
		Holder, Purpose string
		Until           time.Time
	}
	err = errors.Join(p.Box.Call(ctx, http.MethodGet, "/session", nil, &me), p.Box.Call(ctx, http.MethodGet, "/lease", nil, &was),
		p.Box.Call(ctx, http.MethodPut, "/lease", wish, nil))
	return func(ctx context.Context) error {
		left := time.Until(was.Until).Round(time.Second)
		if !was.Held || was.Holder != me.Name || left < leaseLeast {
			return p.Box.Call(ctx, http.MethodDelete, "/lease", nil, nil)
		}
		return p.Box.Call(ctx, http.MethodPut, "/lease", map[string]string{"purpose": was.Purpose, "ttl": fmt.Sprintf("%ds", int(left.Seconds()))}, nil)
	}, err
}

// path is a path of the API with the pair.
func (p Place) path(path string, query url.Values) string {
	if query == nil {
		query = url.Values{}
	}
	if p.Pair != "" {
		query.Set("pair", p.Pair)
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// measure measures one cell.
func (e *Experiment) measure(ctx context.Context, p Place, c Cell) (Record, error) {
	s, _ := e.setting(c.Setting)
	r := Record{Cell: c, Metrics: map[string]float64{}, Output: map[string]string{}}
	if err := e.ready(ctx, p, c, s); err != nil {
		return r, err
	}
	if len(p.Hosts.A.Via)+len(p.Hosts.B.Via) == 0 {
		traffic.Greet(ctx, p.Hosts)
	}
	id := fmt.Sprintf("x-%016x", rand.Uint64())
	if err := p.Box.Call(ctx, http.MethodPut, p.path("/runs/"+id, nil), map[string]string{"title": e.Name + ": " + c.ID()}, nil); err != nil {
		return r, err
	}
	after := context.WithoutCancel(ctx)
	if wait(ctx, e.Settle) {
		e.drive(ctx, p.Hosts, s, &r)
	}
	r.Took = time.Since(r.Begun).Seconds()
	err := ctx.Err()
	if err != nil {
		err = context.Cause(ctx)
	}
	var found run.Run
	var series run.Series
	err = errors.Join(err, p.Box.Call(after, http.MethodPut, p.path("/runs/"+id, nil), map[string]string{"phase": "stopped"}, &found),
		p.Box.Call(after, http.MethodGet, "/runs/"+id+"/series", nil, &series), p.Box.Call(after, http.MethodDelete, "/runs/"+id, nil, nil))
	if err != nil {
		return r, err
	}
	r.take(found, series)
	return r, nil
}

// attempts to put a link in force: an engine that does not start on a machine
// under load starts a moment later.
const attempts = 5

// ready prepares the link, several times if need be.
func (e *Experiment) ready(ctx context.Context, p Place, c Cell, s Setting) (err error) {
	for range attempts {
		if err = e.prepare(ctx, p, c, s); err == nil || !temporary(err) || !wait(ctx, link.Second) {
			return err
		}
	}
	return err
}

// temporary reports whether the box may do later what it cannot do now, as
// the error says itself.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// prepare puts the link in force anew: proxies first, for they change the
// path, then profile and seed, from the beginning of the channel.
func (e *Experiment) prepare(ctx context.Context, p Place, c Cell, s Setting) error {
	if err := p.Box.Call(ctx, http.MethodPut, p.path("/pep", nil), s.PEP, nil); err != nil {
		return fmt.Errorf("pep: %w", err)
	}
	want := appliance.Want{Link: appliance.Link{Profile: c.Profile, Seed: c.Seed, Overrides: s.Overrides}}
	if text, ok := e.texts[c.Profile]; ok {
		want.Profile, want.Inline = "", text
	}
	var done appliance.Applied
	if err := p.Box.Call(ctx, http.MethodPut, p.path("/link", url.Values{"new_run": {"true"}}), want, &done); err != nil {
		return err
	}
	if !done.Effective {
		return fmt.Errorf("the link is not as asked: %s", done.NotYet)
	}
	return nil
}

// drive makes the traffic of the cell.
func (e *Experiment) drive(ctx context.Context, h traffic.Hosts, s Setting, r *Record) {
	r.Begun = time.Now()
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, l := range e.loads(s) {
		work.Go(func() {
			got, err := traffic.Run(ctx, h, l)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Errors = append(r.Errors, err.Error())
			}
			for name, v := range got.Figures {
				r.Metrics[l.Name+"."+name] = v
			}
			late := make([]tally.Value, time.Duration(l.Start)/traffic.Step)
			for i := range late {
				late[i] = tally.Value(math.NaN())
			}
			for _, column := range got.Series {
				r.Series = append(r.Series, traffic.Column{Name: l.Name + "." + column.Name, Values: append(late[:len(late):len(late)], column.Values...)})
			}
			if got.Output != "" {
				r.Output[l.Name] = got.Output
			}
		})
	}
	work.Wait()
	slices.Sort(r.Errors)
}

func wait(ctx context.Context, d link.Duration) bool {
	t := time.NewTimer(time.Duration(d))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// take takes in what the box saw.
func (r *Record) take(found run.Run, series run.Series) {
	r.Verdict = found.Verdict
	if len(found.Links) > 0 {
		r.Link = found.Links[0]
	}
	if found.Changed {
		r.Errors = append(r.Errors, "somebody else changed the link during the cell")
	}
	r.Metrics["link.lateness_p99_us"] = max(found.Down.Late, found.Up.Late)
	for _, w := range []struct {
		name   string
		totals run.Totals
		series run.WaySeries
	}{{"link.down_", found.Down, series.Down}, {"link.up_", found.Up, series.Up}} {
		r.Metrics[w.name+"delivered_bps"] = w.totals.Delivered
		r.Metrics[w.name+"queue_max_ms"] = w.totals.QueueMax
		r.Metrics[w.name+"lost_packets"] = float64(w.totals.Lost)
		for reason, n := range w.totals.Causes {
			r.Metrics[w.name+"lost_"+reason+"_packets"] = float64(n)
		}
		for _, c := range []struct {
			name   string
			values []float64
		}{{"granted_bps", w.series.Granted}, {"queue_ms", w.series.Queue}} {
			if column := r.even(w.name+c.name, series.Time, c.values); column != nil {
				r.Series = append(r.Series, *column)
			}
		}
	}
}

// even brings a series of the box to the steps of the traffic; one that is
// zero all along says nothing.
func (r *Record) even(name string, at, values []float64) *traffic.Column {
	begun := float64(r.Begun.UnixNano()) / 1e9
	c := &traffic.Column{Name: name, Values: make([]tally.Value, max(0, int(r.Took/traffic.Step.Seconds())))}
	said := false
	for i, k := 0, 0; i < len(c.Values); i++ {
		end := begun + float64(i+1)*traffic.Step.Seconds()
		for k+1 < len(at) && at[k] < end-traffic.Step.Seconds()/2 {
			k++
		}
		c.Values[i] = tally.Value(math.NaN())
		if k < len(values) {
			c.Values[i] = tally.Value(values[k])
			said = said || values[k] != 0
		}
	}
	if !said {
		return nil
	}
	return c
}
