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
	c.Flags().Lookup("window").DefValue = "8MiB" // sizes write themselves in decimal units
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
