package lab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"farlink/emulator/netspace"
)

// Exec becomes the command, in the namespace of a side of the lab, as Sides
// has them; it returns only if it cannot.
func Exec(name, side string, command []string) error {
	l, err := Find(name)
	if err != nil {
		return err
	}
	into, err := l.side(side)
	if err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	// The new program keeps the namespace of the thread that asks for it.
	runtime.LockOSThread()
	if err := netspace.Enter(into); err != nil {
		return fmt.Errorf("lab %s: %w", name, err)
	}
	if err := syscall.Exec(path, command, os.Environ()); err != nil {
		return fmt.Errorf("run %s: %w", path, err)
	}
	return nil
}

// side finds the namespace of a side.
func (l Lab) side(word string) (netns string, err error) {
	var there []string
	for _, s := range l.Sides() {
		if s.Word == word {
			return s.Netns, nil
		}
		there = append(there, fmt.Sprintf("%s (%s)", s.Word, s.What))
	}
	return "", fmt.Errorf("side %q of lab %s: want %s", word, l.Name, strings.Join(there, ", "))
}
