package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/vishvananda/netns"

	"farlink/emulator/link"
	"farlink/pep/mptcp"
	"farlink/pep/reroute"
)

// wireFlags are those of a terminator.
type wireFlags struct {
	relayFlags
	terminator      mptcp.Config
	wan, converter  string
	reverse, direct bool
	announce        []string
}

func multipathWireCommand() *cobra.Command {
	var f wireFlags
	c := &cobra.Command{
		Use: "wire", Short: "Meet devices that speak MPTCP, and go on to servers by plain TCP", Args: cobra.NoArgs,
		Long: `wire ends MPTCP v1 connections of devices that come by --lan on their way to
servers behind --wan, and goes on with the device's own address. MP_JOIN of a
device's other addresses reaches the same connection. --announce tells devices
with one path of further addresses of this machine to join; with --reverse
clients speak plain TCP and this side goes on by MPTCP over the endpoints of the
system, straight to servers or, with --converter, to a transport converter
(RFC 8803) that goes on. Endpoints go and come with their interfaces. Runs until
Ctrl-C.`,
		Example: `  farlink multipath wire --lan eth0 --wan eth1 --congestion bbr --buffer 600kB
  farlink multipath wire --lan eth0 --wan eth1 --announce 10.2.0.1`,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := interrupted(c)
			defer stop()
			return f.run(ctx, c.OutOrStdout())
		},
	}
	f.add(c, "interface of the clients")
	c.Flags().StringVar(&f.wan, "wan", "", "interface of the servers")
	c.Flags().StringVar(&f.terminator.Congestion, "congestion", "", "congestion control of all subflows; empty leaves it to routes (congctl)")
	c.Flags().TextVar(&f.terminator.Buffer, "buffer", link.Size(0), "what a connection may queue, about twice what all paths hold; 0 is the kernel's")
	c.Flags().BoolVar(&f.reverse, "reverse", false, "plain TCP from clients, MPTCP to servers")
	c.Flags().StringVar(&f.converter, "converter", "", "ADDRESS:PORT of a transport converter, with --reverse")
	c.Flags().BoolVar(&f.direct, "direct", true, "devices may join by the server's address")
	c.Flags().StringArrayVar(&f.announce, "announce", nil, "address of this machine that devices are told to join (ADD_ADDR)")
	c.MarkFlagRequired("wan")
	return c
}

// run meets devices until ctx ends.
func (f *wireFlags) run(ctx context.Context, w io.Writer) error {
	dial, err := f.dial()
	if err != nil {
		return err
	}
	if err := mptcp.Prepare(f.direct && len(f.announce) == 0); err != nil {
		return err
	}
	manager, err := mptcp.Open()
	if err != nil {
		return err
	}
	defer manager.Close()
	withdraw, err := f.tellAddresses(manager)
	defer withdraw()
	if err != nil {
		return err
	}
	if err := watchEndpoints(ctx, manager); err != nil {
		return err
	}
	capture, err := f.capture(false)
	if err != nil {
		return err
	}
	defer capture.Remove()
	back := capture
	back.Dev, back.Back = f.wan, true
	if err := back.Apply(); err != nil {
		return err
	}
	defer back.Remove()
	listeners, err := capture.Listen(ctx, !f.reverse)
	if err != nil {
		return err
	}
	t := mptcp.NewTerminator(f.terminator, dial, logger())
	go f.tell(ctx, w, func() any { return t.Stats() })
	return t.Serve(ctx, listeners...)
}

// dial is how the flags go on to servers.
func (f *wireFlags) dial() (mptcp.Dial, error) {
	if f.converter == "" {
		return func(ctx context.Context, client, server netip.AddrPort) (*net.TCPConn, error) {
			return reroute.DialAs(ctx, client, server, f.reverse)
		}, nil
	}
	at, err := netip.ParseAddrPort(f.converter)
	if err != nil || !f.reverse {
		return nil, fmt.Errorf("--converter %q: want ADDRESS:PORT, and --reverse", f.converter)
	}
	return mptcp.ByConverter(at, f.terminator.Congestion), nil
}

// tellAddresses announces those of the flags; withdraw takes them back.
func (f *wireFlags) tellAddresses(manager *mptcp.Manager) (withdraw func(), err error) {
	var told []mptcp.Endpoint
	withdraw = func() {
		for _, e := range told {
			manager.Delete(e)
		}
	}
	if err := manager.SetLimits(8, 8); err != nil {
		return withdraw, err
	}
	for _, text := range f.announce {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return withdraw, fmt.Errorf("--announce %q: want an address of this machine", text)
		}
		e := mptcp.Endpoint{Addr: a, Flags: mptcp.Signal}
		if err := manager.Add(e); err != nil {
			return withdraw, err
		}
		told = append(told, e)
	}
	return withdraw, nil
}

// watchEndpoints lets the system's endpoints go and come with their
// interfaces, until ctx ends.
func watchEndpoints(ctx context.Context, manager *mptcp.Manager) error {
	all, err := manager.Endpoints()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(e mptcp.Endpoint) bool { return e.Index == 0 }) // those of no interface in particular
	watcher, err := mptcp.NewWatcher(manager, all, logger())
	if err != nil {
		return err
	}
	ns, err := netns.Get()
	if err != nil {
		return fmt.Errorf("this network namespace: %w", err)
	}
	go func() {
		defer ns.Close()
		if err := watcher.Run(ctx, ns); err != nil {
			logger().Warn("MPTCP endpoints are not watched", "error", err)
		}
	}()
	return nil
}

func multipathConverterCommand() *cobra.Command {
	var at []string
	var secret string
	c := &cobra.Command{
		Use: "converter", Short: "Be a transport converter (RFC 8803): MPTCP from clients, TCP to servers", Args: cobra.NoArgs,
		Long: `converter answers the 0-RTT TCP Convert Protocol: Connect, Info, Cookie, Error.
Its answer is the first of the stream, not in the SYN+ACK as the RFC has it
(kernel sockets cannot), and TCP Fast Open is off. It goes on to any server that
a client names, so let only your own clients reach it. Runs until Ctrl-C.`,
		Example: "  farlink multipath converter --listen 10.1.0.2:5124 --cookies SECRET",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := interrupted(c)
			defer stop()
			if err := mptcp.Prepare(true); err != nil {
				return err
			}
			var listeners []*net.TCPListener
			for _, a := range at {
				var lc net.ListenConfig
				lc.SetMultipathTCP(true)
				l, err := lc.Listen(ctx, "tcp", a)
				if err != nil {
					return fmt.Errorf("--listen %s: %w", a, err)
				}
				listeners = append(listeners, l.(*net.TCPListener))
			}
			dial := func(ctx context.Context, _, server netip.AddrPort) (*net.TCPConn, error) {
				d := net.Dialer{Timeout: 10 * time.Second}
				d.SetMultipathTCP(false)
				conn, err := d.DialContext(ctx, "tcp", server.String())
				if err != nil {
					return nil, err
				}
				return conn.(*net.TCPConn), nil
			}
			return mptcp.NewConverter(dial, []byte(secret), logger()).Serve(ctx, listeners...)
		},
	}
	c.Flags().StringArrayVar(&at, "listen", nil, "ADDRESS:PORT; once for each")
	c.Flags().StringVar(&secret, "cookies", "", "secret of cookies that clients must come with; empty asks for none")
	c.MarkFlagRequired("listen")
	return c
}
