package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api"
)

func serveCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use: "serve --config FILE", Short: "Run the box on its test ports",
		Long: `serve takes the test ports of the configuration, starts an engine for each pair
and answers the API. SIGTERM stops it cleanly: ports are given back as they
were. SIGHUP reads the configuration again. When it is killed, frames pass
unharmed (or not at all, with fallback = "cut") until it is started again.`,
		Example: "  farlink serve --config /etc/farlink/config.toml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return serve(ctx, path, slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil)))
		},
	}
	c.Flags().StringVar(&path, "config", "/etc/farlink/config.toml", "configuration file")
	return c
}

// serve runs the daemon until ctx ends.
func serve(ctx context.Context, path string, log *slog.Logger) error {
	config, err := appliance.ReadConfig(path)
	if err != nil {
		return err
	}
	store, err := appliance.OpenStore(config.State)
	if err != nil {
		return err
	}
	unlock, err := store.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	l, err := net.Listen("tcp", config.API.Listen)
	if err != nil {
		return fmt.Errorf("API: %w; want a free address as api.listen", err)
	}
	box, err := appliance.Open(ctx, appliance.Parts{
		Name: config.Name, Version: version, Pairs: config.Pairs, Store: store,
		Ports: appliance.KernelPorts{Store: store, Listen: config.API.Listen}, Engines: appliance.WireEngines{},
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server, err := face(config, box, log)
	if err != nil {
		return errors.Join(err, l.Close(), box.Close())
	}
	return runAll(ctx, config, store, box, server, l, log)
}

// face makes the API of the box.
func face(config appliance.Config, box *appliance.Box, log *slog.Logger) (*api.Server, error) {
	keys, err := access.Open(config.State, time.Now)
	if err != nil {
		return nil, err
	}
	for _, t := range config.API.Tokens {
		scope, err := access.ParseScope(t.Scope)
		if err != nil {
			return nil, err
		}
		if err := keys.Accept(t.Name, scope, t.Secret); err != nil {
			return nil, err
		}
	}
	if !keys.Claimed() && len(config.API.Tokens) == 0 {
		log.Info("the box has no password yet: claim it in the panel", "code", keys.ClaimCode())
	}
	audit, err := access.OpenAudit(config.State)
	if err != nil {
		return nil, err
	}
	return api.New(api.Config{Box: box, Keys: keys, Audit: audit, Version: version, Hosts: config.API.AllowedHosts, Log: log})
}

// runAll runs box and API side by side; the first to fail ends the other.
func runAll(ctx context.Context, config appliance.Config, store *appliance.Store, box *appliance.Box, server *api.Server, l net.Listener, log *slog.Logger) error {
	daemon := appliance.Daemon{PID: os.Getpid(), API: "http://" + reachable(l.Addr())}
	if err := store.Save(appliance.DaemonFile, daemon); err != nil {
		return errors.Join(err, l.Close(), box.Close())
	}
	log.Info("farlink runs", "version", version, "box", config.Name, "api", daemon.API)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return box.Run(ctx) })
	group.Go(func() error { return server.Run(ctx) })
	group.Go(func() error { return server.Serve(ctx, l) })
	group.Go(func() error { return logEvents(ctx, box, log) })
	err := errors.Join(group.Wait(), store.Remove(appliance.DaemonFile))
	if err == nil {
		log.Info("farlink stopped, ports given back")
	}
	return err
}

// reachable is the address as a client on this machine would dial it.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return a.String()
}

// logEvents writes what happens to the log.
func logEvents(ctx context.Context, box *appliance.Box, log *slog.Logger) error {
	events := box.Subscribe(0)
	defer events.Close()
	write := func(e appliance.Event) {
		log.Info(e.Text, "event", e.ID, "kind", e.Kind, "pair", e.Pair, "by", e.By)
	}
	for _, e := range events.Past {
		write(e)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events.C:
			if !ok { // too slow: begin anew
				return logEvents(ctx, box, log)
			}
			write(e)
		}
	}
}
