package pep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"farlink/emulator/link"
	"farlink/pep/intercept"
)

// The daemon runs each proxy as a process of its own, in the proxy's
// namespace, and speaks with it in JSON documents over a socket that the
// process inherits: one answer to each request, with its number. Figures are
// answered beside work that takes long.

// request is what the daemon asks.
type request struct {
	Number uint64  `json:"number"`
	Verb   string  `json:"verb"` // start, configure, status, flows, stop
	Place  Place   `json:"place,omitzero"`
	Config Config  `json:"config,omitzero"`
	Offset int     `json:"offset,omitempty"`
	Most   int     `json:"most,omitempty"`
	Grants []Grant `json:"grants,omitempty"`
}

// answer is what the proxy says.
type answer struct {
	Number uint64  `json:"number"`
	Error  string  `json:"error,omitempty"`
	Status *Status `json:"status,omitempty"`
	Flows  []Flow  `json:"flows,omitempty"`
	Total  int     `json:"total,omitempty"`
}

// Place is where a proxy works.
type Place struct {
	Netns string `json:"netns"` // name of its network namespace
	LAN   string `json:"lan"`   // port towards the clients' side
	WAN   string `json:"wan"`
	Pins  string `json:"pins"` // directory on a BPF file system
	// Feed is the pin of the feed in which the engine tells what links
	// grant, Way the way into which the wan port sends over them. Without a
	// feed only Grant tells it.
	Feed string   `json:"feed,omitempty"`
	Way  link.Way `json:"way,omitempty"`
	// Older works as on a kernel before 6.6: clsact in place of tcx, and
	// congestion controls registered without links.
	Older bool `json:"older,omitempty"`
	// Without are congestion controls to be taken for some that the kernel
	// cannot load.
	Without []string `json:"without,omitempty"`
}

// Grant is the capacity of a link for xlayer.
type Grant struct {
	Link    int     `json:"link"`
	RateBps float64 `json:"rate_bps"` // of Ethernet frames
}

// Status is what a proxy does.
type Status struct {
	Enabled     bool              `json:"enabled"`
	Short       bool              `json:"short,omitempty"` // the link's round trip is under least_rtt: nothing new is split
	Flows       int               `json:"flows"`
	MostFlows   int               `json:"most_flows"`
	Accepted    uint64            `json:"accepted"`
	Refused     uint64            `json:"refused"`
	Unreachable uint64            `json:"unreachable"`
	Orphaned    uint64            `json:"orphaned"`
	Resets      uint64            `json:"resets"`
	Fallbacks   uint64            `json:"fallbacks"`
	Intercept   intercept.Counts  `json:"intercept"`
	Feed        FeedStatus        `json:"feed"`
	Saved       []SavedPath       `json:"saved,omitempty"`
	Attached    string            `json:"attached"`          // by "tcx", or by "clsact" on kernels before 6.6
	Missing     map[string]string `json:"missing,omitempty"` // controls that could not be loaded, and why
}

// Status returns the proxy's figures.
func (p *Proxy) Status() (Status, error) {
	c := p.config.Load()
	counts, err := p.space.Counts()
	saved, wrong := p.savedPaths(c)
	err = errors.Join(err, wrong)
	feed := p.feedStatus(c)
	s := Status{
		Enabled: c.Enabled, Short: p.short.Load(), Attached: p.space.Attached(), Flows: p.flows.len(), MostFlows: c.Flows, Intercept: counts, Feed: feed, Saved: saved,
		Accepted: p.counts.accepted.Load(), Refused: p.counts.refused.Load(), Unreachable: p.counts.unreachable.Load(),
		Orphaned: p.counts.orphaned.Load(), Resets: p.counts.resets.Load(), Fallbacks: p.counts.fallbacks.Load(),
	}
	for name, why := range p.shelf.Missing() {
		if s.Missing == nil {
			s.Missing = map[string]string{}
		}
		s.Missing[name] = why.Error()
	}
	return s, err
}

// Main is the role of the process: it serves the daemon on rw until the
// daemon asks it to stop or goes away.
func Main(ctx context.Context, rw io.ReadWriteCloser, log *slog.Logger) error {
	r := role{decoder: json.NewDecoder(rw), encoder: json.NewEncoder(rw), log: log}
	ctx, r.stop = context.WithCancel(ctx)
	g, ctx := errgroup.WithContext(ctx)
	r.start = func(p *Proxy) { g.Go(func() error { return p.Run(ctx) }) }
	g.Go(func() error {
		defer r.stop()
		return r.serve()
	})
	go func() {
		<-ctx.Done()
		rw.Close()
	}()
	err := g.Wait()
	r.asked.Wait()
	if r.proxy != nil {
		err = errors.Join(err, r.proxy.Close())
	}
	return err
}

type role struct {
	decoder *json.Decoder
	proxy   *Proxy
	start   func(*Proxy)
	stop    context.CancelFunc
	log     *slog.Logger

	mu      sync.Mutex // of encoder
	encoder *json.Encoder
	works   sync.Mutex // one that changes something at a time
	asked   sync.WaitGroup
}

func (r *role) serve() error {
	for {
		var q request
		if err := r.decoder.Decode(&q); err != nil {
			return nil // the daemon is gone
		}
		if q.Verb == "start" || q.Verb == "stop" {
			r.works.Lock()
			err := r.answer(q)
			r.works.Unlock()
			if err != nil || q.Verb == "stop" {
				return nil
			}
			continue
		}
		r.asked.Go(func() {
			if q.Verb == "configure" || q.Verb == "grant" {
				r.works.Lock()
				defer r.works.Unlock()
			}
			r.answer(q)
		})
	}
}

// answer does what is asked and says what came of it.
func (r *role) answer(q request) error {
	a, err := r.do(q)
	if err != nil {
		a.Error = err.Error()
	}
	a.Number = q.Number
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.encoder.Encode(a)
}

func (r *role) do(q request) (a answer, err error) {
	if q.Verb == "stop" {
		return a, nil
	}
	if q.Verb == "start" {
		if r.proxy != nil {
			return a, errors.New("proxy is started already")
		}
		if r.proxy, err = Open(q.Place, q.Config, r.log); err == nil {
			r.start(r.proxy)
		}
		return a, err
	}
	if r.proxy == nil {
		return a, fmt.Errorf("proxy is not started: %s wants it to be", q.Verb)
	}
	switch q.Verb {
	case "configure":
		err = r.proxy.Configure(q.Config)
	case "grant":
		err = r.proxy.Grant(q.Grants)
	case "status":
		var s Status
		s, err = r.proxy.Status()
		a.Status = &s
	case "flows":
		a.Flows, a.Total = r.proxy.Flows(q.Offset, q.Most)
	default:
		err = fmt.Errorf("verb %q: want start, configure, grant, status, flows or stop", q.Verb)
	}
	return a, err
}
