// Package store is the state directory: files that people can read, replaced
// whole.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"farlink/profiles/document"
)

// Store is the state directory: JSON that people can read and, while the
// daemon is down, edit. A file is either the old one or the new one, never
// half of it, whenever the power goes.
type Store struct {
	dir string

	mu    sync.Mutex
	fault error // of the last write; nil when it went well
}

// Fault says why the last write failed, nil when it did not.
func (s *Store) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// Try writes a file and removes it, to see whether the directory takes files.
func (s *Store) Try() error {
	const name = ".new-try"
	err := s.write(s.Path(name), make([]byte, 4096), 0o600)
	return errors.Join(err, s.Remove(name))
}

// Full reports whether a disk takes no more: it is full, or only to be read.
func Full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EROFS)
}

// noted remembers how a write went.
func (s *Store) noted(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
	return err
}

// Open makes the directory if it is not there.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Lock takes the directory for this process until unlock or its end, however
// it ends.
func (s *Store) Lock() (unlock func() error, err error) {
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		d.Close()
		return nil, fmt.Errorf("state directory %s is in use by another farlink; want one of its own as state", s.dir)
	}
	return d.Close, nil
}

// Path returns where the file called name stands.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name) }

// Load reads the file called name into v; false if there is none.
func (s *Store) Load(name string, v any) (bool, error) {
	b, err := os.ReadFile(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("state file: %w", err)
	}
	if err := document.Unmarshal(b, v); err != nil {
		return false, fmt.Errorf("state file %s: %w; mend it or remove it", s.Path(name), err)
	}
	return true, nil
}

// Save writes v as the file called name: into a new file that is flushed and
// then takes the name.
func (s *Store) Save(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("state file %s: %w", name, err)
	}
	if err := s.write(s.Path(name), append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

func (s *Store) write(path string, b []byte, mode fs.FileMode) error {
	return s.noted(s.replace(path, b, mode))
}

func (s *Store) replace(path string, b []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(s.dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(s.dir)
}

// syncDir makes the new name itself durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Write writes a file anywhere beneath the directory, as Save does.
func (s *Store) Write(path string, content []byte) error {
	return (&Store{dir: filepath.Dir(path)}).write(path, content, 0o644)
}

// Remove removes the file called name, if it is there.
func (s *Store) Remove(name string) error {
	err := os.Remove(s.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Sweep removes what a killed writer left.
func (s *Store) Sweep() error {
	left, err := filepath.Glob(s.Path(".new-*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// SaveSecret writes a file that only its owner may read.
func (s *Store) SaveSecret(name string, b []byte) error {
	if err := s.write(s.Path(name), b, 0o600); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

// DaemonFile is the state file that says where the running daemon is.
const DaemonFile = "daemon.json"

// Daemon is a daemon that runs: the content of DaemonFile.
type Daemon struct {
	PID int    `json:"pid"`
	API string `json:"api"` // "http://127.0.0.1:8080"
}
