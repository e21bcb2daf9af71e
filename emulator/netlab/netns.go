package netlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"github.com/vishvananda/netlink"

	"farlink/emulator/netspace"
)

// Do runs f in the endpoint's namespace, on a thread of its own. Sockets
// that f opens stay there.
func (e End) Do(f func() error) error { return netspace.Do(e.Netns, f) }

// Start starts the command in the endpoint's namespace.
func (e End) Start(c *exec.Cmd) error { return e.Do(c.Start) }

// Output runs the command in the endpoint's namespace and returns all it
// printed.
func (e End) Output(name string, args ...string) ([]byte, error) {
	var out []byte
	err := e.Do(func() (err error) {
		out, err = exec.Command(name, args...).CombinedOutput()
		return err
	})
	return out, err
}

func up(name string) error {
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return netlink.LinkSetUp(dev)
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
