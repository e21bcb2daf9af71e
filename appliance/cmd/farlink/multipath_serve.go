package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"farlink/emulator/link"
	"farlink/pep/congestion"
	"farlink/pep/mptcp"
	"farlink/pep/multipath"
	"farlink/pep/reroute"
)

// relayFlags are those of router, proxy and terminator.
type relayFlags struct {
	config multipath.Config
	key    string
	lan    string
	ports  []uint
	every  time.Duration
	api    string
}

func (f *relayFlags) add(c *cobra.Command, lan string) {
	c.Flags().StringVar(&f.lan, "lan", "", lan)
	c.Flags().UintSliceVar(&f.ports, "ports", []uint{80, 443}, "ports of servers whose connections are taken")
	c.Flags().DurationVar(&f.every, "every", 10*time.Second, "how often to print what is carried, as JSON; 0 never")
	c.MarkFlagRequired("lan")
}

func (f *relayFlags) addRelay(c *cobra.Command, lan string) {
	f.add(c, lan)
	c.Flags().StringVar(&f.key, "key", "", "file with the key that both ends have, at least 16 bytes")
	c.Flags().StringVar(&f.config.Scheduler, "scheduler", "arrival", "minrtt, roundrobin, redundant, blest, ecf or arrival")
	c.Flags().StringVar(&f.config.Congestion, "congestion", multipath.Auto, "congestion control of the subflows; auto is bbr, and cubic where a round trip takes 200 ms")
	c.Flags().TextVar(&f.config.Window, "window", link.Size(8<<20), "bytes in flight each way, twice what all carriers hold")
	c.Flags().StringVar(&f.api, "api", "", "loopback ADDRESS:PORT for GET, PUT and PATCH of "+multipathPath)
	c.MarkFlagRequired("key")
}

// serve opens the API where one is asked for.
func (f *relayFlags) serve(ctx context.Context, r relay) error {
	if f.api == "" {
		return nil
	}
	return serveRelay(ctx, f.api, r)
}

// capture is what the flags take out of the way.
func (f *relayFlags) capture(back bool) (reroute.Capture, error) {
	c := reroute.Capture{Dev: f.lan, Back: back}
	for _, p := range f.ports {
		if p == 0 || p > 65535 {
			return c, fmt.Errorf("--ports %d: want 1 to 65535", p)
		}
		c.Ports = append(c.Ports, uint16(p))
	}
	return c, c.Apply()
}

// secret reads the key.
func (f *relayFlags) secret() ([]byte, error) {
	b, err := os.ReadFile(f.key)
	if err != nil {
		return nil, fmt.Errorf("--key: %w", err)
	}
	if b = []byte(strings.TrimSpace(string(b))); len(b) < multipath.LeastKey {
		return nil, fmt.Errorf("--key %s: %d bytes, want at least %d; `head -c 32 /dev/urandom | base64 > %s` makes one", f.key, len(b), multipath.LeastKey, f.key)
	}
	return b, nil
}

// tell prints what is carried, again and again.
func (f *relayFlags) tell(ctx context.Context, w io.Writer, stats func() any) {
	if f.every <= 0 {
		return
	}
	for tick := time.NewTicker(f.every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			printJSON(w, stats())
		}
	}
}

func interrupted(c *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
}

func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func multipathRouterCommand() *cobra.Command {
	var f relayFlags
	var over []string
	c := &cobra.Command{
		Use: "router", Short: "Be the relay near the clients: one subflow per carrier to a proxy", Args: cobra.NoArgs,
		Long: `router takes TCP connections that come by --lan on their way (this machine
routes for the clients) and carries each over all carriers to the proxy. Each
--over is LOCAL=PROXY:PORT: by which address of this machine to leave, and where
the proxy listens on that carrier; ",backup" behind it keeps a carrier for when
no other is up. Everything else is routed by the system's routes. Runs until
Ctrl-C. This is farlink's own relay (mode "lab"), not MPTCP on the wire.`,
		Example: "  farlink multipath router --lan eth0 --key key --over 10.1.0.1=10.1.0.2:6500 --over 10.2.0.1=10.2.0.2:6500",
		RunE: func(c *cobra.Command, _ []string) error {
			carriers, err := parseOver(over)
			if err != nil {
				return err
			}
			key, err := f.secret()
			if err != nil {
				return err
			}
			capture, err := f.capture(false)
			if err != nil {
				return err
			}
			defer capture.Remove()
			ctx, stop := interrupted(c)
			defer stop()
			shelf := congestion.Open(nil)
			defer shelf.Close()
			r, err := multipath.NewRouter(f.config, key, carriers, shelf, new(multipath.Groups), logger())
			if err != nil {
				return err
			}
			if err := f.serve(ctx, r); err != nil {
				return err
			}
			listeners, err := capture.Listen(ctx, false)
			if err != nil {
				return err
			}
			ended := make(chan error, len(listeners))
			for _, l := range listeners {
				go func() { ended <- r.Serve(ctx, l, reroute.Original) }()
			}
			go f.tell(ctx, c.OutOrStdout(), func() any { return r.Stats() })
			return wait(stop, ended, len(listeners))
		},
	}
	f.addRelay(c, "interface of the clients")
	c.Flags().StringArrayVar(&over, "over", nil, "a carrier: LOCAL=PROXY:PORT[,backup]; once for each")
	c.MarkFlagRequired("over")
	return c
}

// wait waits for n ends; the first error stops all.
func wait(stop context.CancelFunc, ended <-chan error, n int) (all error) {
	for range n {
		if err := <-ended; err != nil {
			all = errors.Join(all, err)
			stop()
		}
	}
	return all
}

// parseOver reads carriers.
func parseOver(texts []string) (all []multipath.Carrier, err error) {
	for i, text := range texts {
		pair, backup := strings.CutSuffix(text, ",backup")
		local, proxy, _ := strings.Cut(pair, "=")
		a, err1 := netip.ParseAddr(local)
		p, err2 := netip.ParseAddrPort(proxy)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("--over %q: want LOCAL=PROXY:PORT, such as 10.1.0.1=10.1.0.2:6500", text)
		}
		all = append(all, multipath.Carrier{Name: fmt.Sprintf("carrier%d", i+1), Local: a, Proxy: p, Backup: backup})
	}
	return all, nil
}

func multipathProxyCommand() *cobra.Command {
	var f relayFlags
	var at []string
	c := &cobra.Command{
		Use: "proxy", Short: "Be the relay near the servers", Args: cobra.NoArgs,
		Long: `proxy takes subflows of a router at each --listen address, one per carrier, and
goes on to the servers by --lan with the clients' own addresses (this machine
routes for the servers). Runs until Ctrl-C.`,
		Example: "  farlink multipath proxy --lan eth0 --key key --listen 10.1.0.2:6500 --listen 10.2.0.2:6500",
		RunE: func(c *cobra.Command, _ []string) error {
			key, err := f.secret()
			if err != nil {
				return err
			}
			capture, err := f.capture(true)
			if err != nil {
				return err
			}
			defer capture.Remove()
			ctx, stop := interrupted(c)
			defer stop()
			shelf := congestion.Open(nil)
			defer shelf.Close()
			dial := func(ctx context.Context, client, server netip.AddrPort) (*net.TCPConn, error) {
				return reroute.DialAs(ctx, client, server, false)
			}
			p, err := multipath.NewProxy(f.config, key, dial, shelf, new(multipath.Groups), logger())
			if err != nil {
				return err
			}
			if err := f.serve(ctx, p); err != nil {
				return err
			}
			listeners, err := hear(ctx, at)
			if err != nil {
				return err
			}
			go f.tell(ctx, c.OutOrStdout(), func() any { return p.Stats() })
			return p.Serve(ctx, at, listeners...)
		},
	}
	f.addRelay(c, "interface of the servers")
	c.Flags().StringArrayVar(&at, "listen", nil, "ADDRESS:PORT on a carrier; once for each")
	c.MarkFlagRequired("listen")
	return c
}

func hear(ctx context.Context, at []string) (all []*net.TCPListener, err error) {
	lc := net.ListenConfig{KeepAlive: -1}
	lc.SetMultipathTCP(false)
	for _, a := range at {
		l, err := lc.Listen(ctx, "tcp", a)
		if err != nil {
			return nil, fmt.Errorf("--listen %s: %w", a, err)
		}
		all = append(all, l.(*net.TCPListener))
	}
	return all, nil
}

func multipathWireCommand() *cobra.Command {
	var f relayFlags
	var config mptcp.Config
	var wan, converter string
	var reverse, direct bool
	var announce []string
	c := &cobra.Command{
		Use: "wire", Short: "Meet devices that speak MPTCP, and go on to servers by plain TCP", Args: cobra.NoArgs,
		Long: `wire ends MPTCP v1 connections of devices that come by --lan on their way to
servers behind --wan, and goes on with the device's own address. MP_JOIN of a
device's other addresses reaches the same connection. --announce tells devices
with one path of further addresses of this machine to join; with --reverse
clients speak plain TCP and this side goes on by MPTCP over the endpoints of the
system, straight to servers or, with --converter, to a transport converter
(RFC 8803) that goes on. Runs until Ctrl-C.`,
		Example: `  farlink multipath wire --lan eth0 --wan eth1 --congestion bbr --buffer 600kB
  farlink multipath wire --lan eth0 --wan eth1 --announce 10.2.0.1`,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := interrupted(c)
			defer stop()
			if err := mptcp.Prepare(direct && len(announce) == 0); err != nil {
				return err
			}
			manager, err := mptcp.Open()
			if err != nil {
				return err
			}
			defer manager.Close()
			if err := manager.SetLimits(8, 8); err != nil {
				return err
			}
			for _, text := range announce {
				a, err := netip.ParseAddr(text)
				if err != nil {
					return fmt.Errorf("--announce %q: want an address of this machine", text)
				}
				e := mptcp.Endpoint{Addr: a, Flags: mptcp.Signal}
				if err := manager.Add(e); err != nil {
					return err
				}
				defer manager.Delete(e)
			}
			capture, err := f.capture(false)
			if err != nil {
				return err
			}
			defer capture.Remove()
			back := capture
			back.Dev, back.Back = wan, true
			if err := back.Apply(); err != nil {
				return err
			}
			defer back.Remove()
			listeners, err := capture.Listen(ctx, !reverse)
			if err != nil {
				return err
			}
			dial := func(ctx context.Context, client, server netip.AddrPort) (*net.TCPConn, error) {
				return reroute.DialAs(ctx, client, server, reverse)
			}
			if converter != "" {
				at, err := netip.ParseAddrPort(converter)
				if err != nil || !reverse {
					return fmt.Errorf("--converter %q: want ADDRESS:PORT, and --reverse", converter)
				}
				dial = mptcp.ByConverter(at, config.Congestion)
			}
			t := mptcp.NewTerminator(config, dial, logger())
			go f.tell(ctx, c.OutOrStdout(), func() any { return t.Stats() })
			return t.Serve(ctx, listeners...)
		},
	}
	f.add(c, "interface of the clients")
	c.Flags().StringVar(&wan, "wan", "", "interface of the servers")
	c.Flags().StringVar(&config.Congestion, "congestion", "", "congestion control of all subflows; empty leaves it to routes (congctl)")
	c.Flags().TextVar(&config.Buffer, "buffer", link.Size(0), "what a connection may queue, about twice what all paths hold; 0 is the kernel's")
	c.Flags().BoolVar(&reverse, "reverse", false, "plain TCP from clients, MPTCP to servers")
	c.Flags().StringVar(&converter, "converter", "", "ADDRESS:PORT of a transport converter, with --reverse")
	c.Flags().BoolVar(&direct, "direct", true, "devices may join by the server's address")
	c.Flags().StringArrayVar(&announce, "announce", nil, "address of this machine that devices are told to join (ADD_ADDR)")
	c.MarkFlagRequired("wan")
	return c
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
