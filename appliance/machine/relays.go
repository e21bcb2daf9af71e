package machine

import (
	"os"
	"os/exec"

	"farlink/appliance/relays"
	"farlink/pep/bundle"
)

// RelaysVariable, in the environment, makes this program what carries
// connections over a bundle of paths: main calls bundle.Main with the socket
// that is descriptor 3.
const RelaysVariable = "FARLINK_RELAYS"

// Carry starts it as a process of its own.
func Carry(s bundle.Site, c bundle.Carriage) (relays.Carrying, error) {
	command := exec.Command("/proc/self/exe")
	command.Env = append(os.Environ(), RelaysVariable+"=1")
	command.Stderr = os.Stderr
	p, err := bundle.Start(command, s, c)
	if err != nil {
		return nil, err
	}
	return p, nil
}
