package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"farlink/appliance/carriers"
	"farlink/appliance/split"
	"farlink/emulator/wire/steer"
)

// Down takes the lab down: the daemon stops and gives back its ports, what
// runs in the namespaces ends, the namespaces go, and with them the cables.
// It does so whatever is left of the lab.
func Down(ctx context.Context, name string) error {
	if !labName.MatchString(name) {
		return missing(name)
	}
	if _, err := os.Stat(dir(name)); err != nil {
		if !carriers.Left(name) {
			return missing(name)
		}
		// A command that makes a lab for itself was killed.
		return errors.Join(end(ctx, inside(namespaces(name)), 2*time.Second), carriers.Remove(name))
	}
	pids := daemons(name)
	err := end(ctx, pids, 15*time.Second)
	err = errors.Join(err, end(ctx, inside(namespaces(name)), 2*time.Second))
	err = errors.Join(err, steer.Remove(steer.Dir("lab-"+name+"-main")), split.Remove("lab-"+name+"-main"))
	err = errors.Join(err, carriers.RemoveGround(name))
	err = errors.Join(err, os.RemoveAll(dir(name)))
	// The directories above go with the last lab.
	_ = os.Remove(Root)
	_ = os.Remove(filepath.Dir(Root))
	if err != nil {
		return fmt.Errorf("lab %s: %w", name, err)
	}
	return nil
}

// daemons finds the lab's daemons by their command line: lab.json may be of
// before one was started again.
func daemons(name string) []int {
	return processes(func(pid int) bool { return pid != os.Getpid() && isDaemon(pid, name) })
}

// processes lists the processes for which f holds.
func processes(f func(pid int) bool) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && f(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// inside lists the processes with a thread in one of the namespaces.
func inside(names []string) []int {
	var ids []uint64
	for _, name := range names {
		if id, err := inode(filepath.Join("/run/netns", name)); err == nil {
			ids = append(ids, id)
		}
	}
	return processes(func(pid int) bool {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/ns/net", pid))
		return err == nil && pid != os.Getpid() && slices.ContainsFunc(tasks, func(task string) bool {
			id, err := inode(task)
			return err == nil && slices.Contains(ids, id)
		})
	})
}

func inode(path string) (uint64, error) {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	return st.Ino, err
}

// end asks the processes to end, and kills those that have not after grace.
func end(ctx context.Context, pids []int, grace time.Duration) error {
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			_ = syscall.Kill(pid, s) // gone already is as good
		}
	}
	signal(syscall.SIGTERM)
	if wait(ctx, pids, grace) {
		return nil
	}
	signal(syscall.SIGKILL)
	if wait(ctx, pids, 5*time.Second) {
		return nil
	}
	return fmt.Errorf("processes %v do not end", pids)
}

// wait reports whether all the processes have ended within d.
func wait(ctx context.Context, pids []int, d time.Duration) bool {
	deadline := time.Now().Add(d)
	for {
		if !slices.ContainsFunc(pids, alive) {
			return true
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// alive reports whether the process runs; one that has ended and is not yet
// waited for (state Z) does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	for i := len(b) - 1; i > 0; i-- { // the name, in brackets, may hold anything
		if b[i] == ')' {
			return i+2 < len(b) && b[i+2] != 'Z' && b[i+2] != 'X'
		}
	}
	return false
}
