package main

import (
	"context"
	"log/slog"
	"net"
	"os"

	"farlink/pep"
	"farlink/pep/bundle"
)

// proxy is the role of this program as a proxy: it serves the daemon on the
// socket that it inherits.
func proxy() int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	conn, err := net.FileConn(os.NewFile(3, "daemon"))
	if err == nil {
		err = pep.Main(context.Background(), conn, log)
	}
	if err != nil {
		log.Error("proxy", "error", err)
		return failed
	}
	return 0
}

// relays is the role of this program as what carries connections over a bundle
// of paths.
func relays() int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	conn, err := net.FileConn(os.NewFile(3, "daemon"))
	if err == nil {
		err = bundle.Main(conn, log)
	}
	if err != nil {
		log.Error("relays", "error", err)
		return failed
	}
	return 0
}
