package bundle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"farlink/emulator/netspace"
	"farlink/pep/mptcp"
	"farlink/pep/reroute"
)

// crossing is a connection of a plain client that goes on by MPTCP.
type crossing struct {
	b      *Bundle
	server *net.TCPConn
}

// byMPTCP opens a connection to a server as the client, by MPTCP over the
// paths: its first subflow has the client's address and takes the best path,
// the others begin at the endpoints of the rest. The far side meets them.
func (b *Bundle) byMPTCP(ctx context.Context, client, server netip.AddrPort) (carried, error) {
	x := &crossing{b: b}
	err := netspace.Do(b.site.Near.Netns, func() (err error) {
		x.server, err = reroute.DialAs(ctx, client, server, true)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := b.near.Shape(x.server); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Run carries the client until both have ended.
func (x *crossing) Run(client *net.TCPConn) error {
	x.b.near.Carry(x.b.ctx, client, x.server)
	return nil
}

// Close resets the connection.
func (x *crossing) Close() { reset(x.server) }

// hear opens listeners of the far side for the ports that mode wire takes,
// where there are none yet; they stay while connections may join by them.
func (b *Bundle) hear() error {
	if b.config.Mode != Wire {
		return nil
	}
	var fresh []uint16
	for _, p := range b.config.Ports {
		if !b.heard[p] {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	var listeners []*net.TCPListener
	err := netspace.Do(b.site.Far.Netns, func() (err error) {
		listeners, err = reroute.Capture{Ports: fresh}.Listen(b.ctx, true)
		return err
	})
	if err != nil {
		return fmt.Errorf("mode wire: %w", err)
	}
	for _, p := range fresh {
		b.heard[p] = true
	}
	b.runs.Go(func() {
		if err := b.far.Serve(b.ctx, listeners...); err != nil {
			b.log.Warn("multipath: terminator", "error", err)
		}
	})
	return nil
}

// endpoints makes those of the near side as they are to be: one for each path
// that is up beside the best, by which first subflows go. The kernel adds and
// ends subflows of connections that exist, so they stay when mode wire ends,
// and when their path becomes the best: with the endpoint the kernel would end
// the subflow that still carries, and first subflows, which were on the path
// that is lost, are there only after a retransmission time-out.
func (b *Bundle) endpoints() error {
	b.wired = b.wired || b.config.Mode == Wire
	if b.manager == nil || !b.wired {
		return nil
	}
	var errs []error
	chosen := b.site.best(b.config, b.up)
	for i, p := range b.site.Paths {
		flags := mptcp.Subflow
		if b.config.Paths[p.Name].Backup {
			flags |= mptcp.Backup
		}
		for _, a := range []netip.Addr{p.Near, p.Near6} {
			if a.IsValid() {
				_, there := b.added[a]
				errs = append(errs, b.endpoint(a, p.NearDev, flags, b.up[i] && (i != chosen || there)))
			}
		}
	}
	return errors.Join(errs...)
}

// endpoint makes one there or not, with the flags.
func (b *Bundle) endpoint(a netip.Addr, dev string, flags mptcp.Flags, want bool) error {
	e, there := b.added[a]
	switch {
	case there && !want:
		delete(b.added, a)
		return b.manager.Delete(e)
	case there && e.Flags != flags:
		e.Flags = flags
		b.added[a] = e
		return b.manager.SetBackup(e, flags&mptcp.Backup != 0)
	case there || !want:
		return nil
	}
	err := netspace.Do(b.site.Near.Netns, func() error {
		l, err := netlink.LinkByName(dev)
		if err == nil {
			e = mptcp.Endpoint{Addr: a, Flags: flags, Index: l.Attrs().Index}
		}
		return err
	})
	if err == nil {
		err = b.manager.Add(e)
	}
	if errors.Is(err, unix.EEXIST) { // a process before this one was killed, or somebody made it by hand
		err = errors.Join(b.manager.Delete(e), b.manager.Add(e))
	}
	if err == nil {
		b.added[a] = e
	}
	return err
}

// pathOf is the path of a subflow by its address at the near end; one with
// another address, that of a device behind it, takes the best.
func (b *Bundle) pathOf(near netip.Addr) string {
	i := slices.IndexFunc(b.site.Paths, func(p Path) bool { return p.Near == near || p.Near6 == near })
	if i < 0 {
		i = b.site.best(b.config, b.up)
	}
	return b.site.Paths[i].Name
}
