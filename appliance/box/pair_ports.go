package box

import (
	"context"
	"fmt"

	"farlink/appliance"
)

// watch tells the loop of changes of the ports.
func (p *pair) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		err := p.box.ports.Watch(ctx, p.cfg, func(c PortChange) {
			select {
			case p.ports <- c:
			case <-ctx.Done():
			}
		})
		if err != nil {
			pause(ctx, lastRetry)
		}
	}
	return nil
}

// note takes note of how a port is now.
func (p *pair) note(c PortChange) {
	p.mu.Lock()
	was, known := p.seen[c.Port]
	p.seen[c.Port] = c
	p.mu.Unlock()
	switch {
	case c.There && !c.Carrier && (!known || was.Carrier):
		p.event(appliance.KindPort, "", "no carrier on "+c.Port)
	case c.Carrier && known && was.There && !was.Carrier:
		p.event(appliance.KindPort, "", "carrier is back on "+c.Port)
	}
	switch {
	case c.Unfinished != "" && c.Unfinished != was.Unfinished:
		p.event(appliance.KindPort, "", "warning: "+c.Unfinished)
	case c.There && c.Unfinished == "" && was.Unfinished != "":
		p.event(appliance.KindPort, "", "what comes in at "+c.Port+" has its checksums now")
	}
}

// warnings says what is to be done about the ports. The caller holds the lock.
func (p *pair) warnings() (all []string) {
	for _, port := range []string{p.cfg.A, p.cfg.B} {
		if c := p.seen[port]; c.There && c.Unfinished != "" {
			all = append(all, c.Unfinished)
		}
	}
	return all
}

// hindered says why the ports keep the links from being as asked, "" if
// they do not. The caller holds the lock.
func (p *pair) hindered() string {
	for _, port := range []string{p.cfg.A, p.cfg.B} {
		c, known := p.seen[port]
		if known && c.There && !c.Carrier {
			return "no carrier on " + port
		}
		if c.Speed > 0 && p.state.Want.Mode == appliance.Emulate && p.rate > c.Speed {
			return fmt.Sprintf("port %s runs at %v, the link is to carry %v", port, c.Speed, p.rate)
		}
	}
	return ""
}
