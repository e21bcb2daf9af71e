package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api"
	"farlink/appliance/box"
	"farlink/appliance/custody"
	"farlink/appliance/door"
	"farlink/appliance/machine"
	"farlink/appliance/store"
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

// daemon is all that runs.
type daemon struct {
	path   string // of the configuration
	config appliance.Config
	store  *store.Store
	box    *box.Box
	keys   *access.Keyring
	server *api.Server
	door   *door.Door
	log    *slog.Logger
}

// serve runs the daemon until ctx ends.
func serve(ctx context.Context, path string, log *slog.Logger) error {
	config, err := appliance.ReadConfig(path)
	if err != nil {
		return err
	}
	store, err := store.Open(config.State)
	if err != nil {
		return err
	}
	unlock, err := store.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := custody.Return(); err != nil {
		log.Error("what a daemon before has left with the service manager", "error", err)
	}
	d := daemon{path: path, config: config, store: store, log: log}
	if err := d.open(ctx); err != nil {
		return err
	}
	return d.run(ctx)
}

// open takes the address and the ports, and makes the API.
func (d *daemon) open(ctx context.Context) (err error) {
	if d.door, err = door.Open(d.config.State, d.config.API, d.log, d.stands); err != nil {
		return err
	}
	d.box, err = box.Open(ctx, box.Parts{
		Name: d.config.Name, Version: version, Pairs: d.config.Pairs, Store: d.store,
		Ports:   machine.Ports{Store: d.store, Listen: d.door.Look().Listen},
		Engines: new(machine.Engines), Multipath: d.config.Multipath, Carry: machine.Carry,
	})
	if err != nil {
		return errors.Join(err, d.door.Close())
	}
	if err := d.face(); err != nil {
		return errors.Join(err, d.door.Close(), d.box.Close())
	}
	return nil
}

// face makes the API of the box.
func (d *daemon) face() (err error) {
	if d.keys, err = access.Open(d.config.State, time.Now); err != nil {
		return err
	}
	if err := d.accept(d.config.API.Tokens); err != nil {
		return err
	}
	if !d.keys.Claimed() {
		d.log.Info("nobody has claimed the box yet: the panel asks for this code", "code", d.keys.ClaimCode())
	}
	audit, err := access.OpenAudit(d.config.State)
	if err != nil {
		return err
	}
	d.server, err = api.New(api.Config{Box: d.box, Keys: d.keys, Audit: audit, Version: version, State: d.config.State, Capture: true, Door: d.door, Log: d.log})
	return err
}

// stands tells where the API is, for clients on this machine.
func (d *daemon) stands(s door.SettingsState) {
	if err := d.store.Save(store.DaemonFile, store.Daemon{PID: os.Getpid(), API: s.API}); err != nil {
		d.log.Error("where the API is served now", "error", err)
	}
	d.log.Info("API", "at", s.API, "trial_until", s.Trial)
}

// accept lets the tokens of the configuration in, and no others of an
// earlier one.
func (d *daemon) accept(tokens []appliance.TokenConfig) error {
	var secrets []string
	for _, t := range tokens {
		scope, err := access.ParseScope(t.Scope)
		if err != nil {
			return err
		}
		if err := d.keys.Accept(t.Name, scope, t.Secret); err != nil {
			return err
		}
		secrets = append(secrets, t.Secret)
	}
	d.keys.Retain(secrets...)
	return nil
}

// run runs box and API side by side; the first to fail ends the others.
func (d *daemon) run(ctx context.Context) error {
	where := store.Daemon{PID: os.Getpid(), API: d.door.Look().API}
	if err := d.store.Save(store.DaemonFile, where); store.Full(err) {
		d.log.Error("state cannot be written; the box runs with what was stored", "error", err)
	} else if err != nil {
		return errors.Join(err, d.door.Close(), d.box.Close())
	}
	d.log.Info("farlink runs", "version", version, "box", d.config.Name, "api", where.API)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.box.Run(ctx) })
	group.Go(func() error { return d.server.Run(ctx) })
	group.Go(func() error { return d.server.Serve(ctx, d.door) })
	group.Go(func() error { return logEvents(ctx, d.box, d.log) })
	group.Go(func() error { return d.reloads(ctx) })
	err := errors.Join(group.Wait(), d.store.Remove(store.DaemonFile))
	if err == nil {
		d.log.Info("farlink stopped, ports given back")
	}
	return err
}

// reloads reads the configuration again at each SIGHUP. One that is not good
// changes nothing.
func (d *daemon) reloads(ctx context.Context) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangups:
			if err := d.reload(ctx); err != nil {
				d.log.Error("configuration not taken, all stays as it was", "error", err)
			}
		}
	}
}

func (d *daemon) reload(ctx context.Context) error {
	config, err := appliance.ReadConfig(d.path)
	if err != nil {
		return err
	}
	if err := d.box.Reload(ctx, config.Pairs); err != nil {
		return err
	}
	if config.API.Listen != d.config.API.Listen || config.State != d.config.State || config.Name != d.config.Name ||
		!slices.Equal(config.API.AllowedHosts, d.config.API.AllowedHosts) {
		d.log.Warn("name, state, api.listen and api.allowed_hosts change with the next start")
	}
	return d.accept(config.API.Tokens)
}

// logEvents writes what happens to the log.
func logEvents(ctx context.Context, box *box.Box, log *slog.Logger) error {
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
