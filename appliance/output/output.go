// Package output is the files that commands write for people: whole at
// success, the older ones at a fault, and never one that is read.
package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// outputBuffer holds what is written before the system is asked: 256 kB.
const outputBuffer = 256 << 10

// Write has write fill a file, or standard output for "-". All commands that
// write a file of the user's do it so: what is written stands beside the file
// under another name and takes its place at success, so that a fault leaves
// the older one as it was. What is there and no regular file (a pipe, a
// device) is written into.
func Write(stdout io.Writer, name string, write func(io.Writer) error) error {
	if name == "-" {
		return buffered(stdout, write)
	}
	old, err := os.Stat(name)
	switch {
	case err == nil && old.Mode().IsRegular():
		return replace(name, old, write)
	case err == nil:
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(f, write), f.Close())
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return replace(name, nil, write)
}

// Create is Write for a file that must not be there yet.
func Create(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), Write(nil, name, write)); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

func buffered(w io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, outputBuffer)
	return errors.Join(write(b), b.Flush())
}

// replace writes beside a file, and then in its place; old is what is there,
// nil for nothing. A symbolic link stays one.
func replace(name string, old fs.FileInfo, write func(io.Writer) error) error {
	if old != nil {
		there, err := os.OpenFile(name, os.O_WRONLY, 0) // who may not write it may not replace it
		if err != nil {
			return err
		}
		there.Close()
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	f, err := beside(name)
	if err != nil {
		return err
	}
	defer removeOnSignal(f.Name())()
	err = buffered(f, write)
	if err == nil && old != nil {
		err = inherit(f, old)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// beside makes a file that nobody else has in the directory of name, with the
// permissions of any new file, which os.CreateTemp does not give.
func beside(name string) (*os.File, error) {
	dir, base := filepath.Split(name)
	for i := os.Getpid(); ; i++ {
		f, err := os.OpenFile(dir+"."+base+"."+strconv.Itoa(i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// inherit gives a file the permissions of the old one and, where that is
// allowed (to root), its owner.
func inherit(f *os.File, old fs.FileInfo) error {
	if s, ok := old.Sys().(*syscall.Stat_t); ok && int(s.Uid) != os.Getuid() {
		if err := f.Chown(int(s.Uid), int(s.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return f.Chmod(old.Mode().Perm())
}

// unfinished are the files that are not whole yet.
var unfinished = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// removeOnSignal removes a file that is not whole yet, and all others, when
// the program is told to end, and ends it; the function it returns calls that
// off.
func removeOnSignal(name string) (off func()) {
	unfinished.Lock()
	unfinished.names[name] = true
	unfinished.Unlock()
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case <-done:
		case s := <-signals:
			unfinished.Lock() // for good: nobody else ends the program before all are gone
			for name := range unfinished.names {
				os.Remove(name)
			}
			signal.Reset(s)
			syscall.Kill(os.Getpid(), s.(syscall.Signal)) // as if nobody had caught it
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		unfinished.Lock()
		delete(unfinished.names, name)
		unfinished.Unlock()
	}
}

// Apart refuses to write a file that is read, by whatever name, or one file
// twice. Inputs that are no files ("-", a profile's name) stand in no one's way.
func Apart(outputs, inputs []string) error {
	for i, out := range outputs {
		for _, in := range inputs {
			if sameFile(out, in) {
				return fmt.Errorf("%s is the file %s, which is read: want another to write", out, in)
			}
		}
		for _, other := range outputs[:i] {
			if sameFile(out, other) {
				return fmt.Errorf("%s and %s: want two files to write, this is one", other, out)
			}
		}
	}
	return nil
}

// sameFile reports whether two names are of one regular file: of one that is
// there, through links too, or of one to be.
func sameFile(a, b string) bool {
	if a == "" || b == "" || a == "-" || b == "-" {
		return false
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	return errX != nil && errY != nil && toBe(a) == toBe(b)
}

// toBe is where a file that is not there yet is going to be.
func toBe(name string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		name = filepath.Join(dir, filepath.Base(name))
	}
	if whole, err := filepath.Abs(name); err == nil {
		return whole
	}
	return name
}
