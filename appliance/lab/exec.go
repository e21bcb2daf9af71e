package lab

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"farlink/emulator/netspace"
)

// Exec becomes the command, in the namespace of the lab's side "a" or "b", or
// "d" or "s" of one with several carriers; it returns only if it cannot.
func Exec(name, side string, command []string) error {
	l, err := Find(name)
	if err != nil {
		return err
	}
	into := map[string]string{"a": l.NsA, "b": l.NsB, "d": l.NsDevice, "s": l.NsServer}[side]
	if into == "" && l.NsDevice != "" {
		return fmt.Errorf("side %q of lab %s: want d (plain device), a (device with all carriers), b (proxy) or s (server)", side, name)
	}
	if into == "" {
		return fmt.Errorf("side %q of lab %s: want a (device) or b (network)", side, name)
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
