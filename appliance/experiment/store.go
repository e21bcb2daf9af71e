package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"golang.org/x/sys/unix"

	"farlink/profiles/document"
)

// Plan is what was asked for: an experiment goes on only with the same.
type Plan struct {
	Text     string            `json:"text"`               // the document
	Profiles map[string]string `json:"profiles,omitempty"` // the files that it names
	Quick    bool              `json:"quick,omitempty"`
	Pair     string            `json:"pair,omitempty"` // of the box that makes it itself
	By       string            `json:"by,omitempty"`   // who asked the box
	Command  string            `json:"command"`        // that repeats it
	Version  string            `json:"version"`        // of farlink
	Kernel   string            `json:"kernel"`
	Begun    time.Time         `json:"begun"`
}

// Store is the directory of an experiment:
//
//	plan.json  lock  lab  cells/ID.json  report.html  cells.csv  results.json  junit.xml
type Store struct {
	dir  string
	lock *os.File
	Plan Plan
}

// Open makes the directory of a new experiment, or with resume opens one
// that has begun. Nobody else uses it until Close, or the end of the process.
func Open(dir string, p Plan, resume bool) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, "cells"), 0o755); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, Plan: p}
	var err error
	if s.lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(s.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another experiment runs there", dir), s.lock.Close())
	}
	if err := s.take(resume); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// take compares the plan with the one that is there.
func (s *Store) take(resume bool) error {
	var was Plan
	err := s.load("plan.json", &was)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.save("plan.json", s.Plan)
	case err != nil:
		return err
	case !resume:
		return fmt.Errorf("%s holds an experiment; want --resume to go on with it, or another --out", s.dir)
	case was.Text != s.Plan.Text || was.Quick != s.Plan.Quick || len(was.Profiles)+len(s.Plan.Profiles) > 0 && !reflect.DeepEqual(was.Profiles, s.Plan.Profiles):
		return fmt.Errorf("%s holds another experiment, or the same before it was changed; want another --out", s.dir)
	}
	s.Plan = was
	return nil
}

// Close gives the directory free.
func (s *Store) Close() error { return s.lock.Close() }

// Path is that of a file in the directory.
func (s *Store) Path(name string) string { return filepath.Join(s.dir, name) }

func (s *Store) load(name string, into any) error {
	b, err := os.ReadFile(s.Path(name))
	if err != nil {
		return err
	}
	if err := document.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", s.Path(name), err)
	}
	return nil
}

// save writes a file so that it is there whole or not at all, whenever the
// power goes.
func (s *Store) save(name string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return s.write(name, append(b, '\n'))
}

func (s *Store) write(name string, b []byte) error {
	temporary := s.Path(name + ".new")
	f, err := os.Create(temporary)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, s.Path(name))
}

// Record returns what a cell found, if it is there whole.
func (s *Store) Record(c Cell) (r Record, ok bool) {
	err := s.load(filepath.Join("cells", c.ID()+".json"), &r)
	return r, err == nil && r.Cell == c
}

// Keep keeps what a cell found.
func (s *Store) Keep(r Record) error { return s.save(filepath.Join("cells", r.ID()+".json"), r) }

// Records returns what the cells found, as far as they were measured.
func (s *Store) Records(cells []Cell) []Record { return Records(s.dir, cells) }

// ReadPlan reads the plan of an experiment's directory.
func ReadPlan(dir string) (p Plan, err error) {
	err = (&Store{dir: dir}).load("plan.json", &p)
	return p, err
}

// Records reads what the cells found out of an experiment's directory.
func Records(dir string, cells []Cell) (records []Record) {
	s := &Store{dir: dir}
	for _, c := range cells {
		if r, ok := s.Record(c); ok {
			records = append(records, r)
		}
	}
	return records
}

// labFile holds the name of the lab of its own.
const labFile = "lab"

// Lab returns the name of the lab that an experiment which was killed left,
// "" if it left none.
func (s *Store) Lab() string {
	b, err := os.ReadFile(s.Path(labFile))
	if err != nil {
		return ""
	}
	return string(b)
}

// SetLab notes the lab of its own; "" that there is none any more.
func (s *Store) SetLab(name string) error {
	if name == "" {
		return os.RemoveAll(s.Path(labFile))
	}
	return s.write(labFile, []byte(name))
}
