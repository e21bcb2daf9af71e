package doctor

import (
	"fmt"
	"net"
	"strings"

	"farlink/appliance"
	"farlink/appliance/ports"
	"farlink/emulator/netspace"
	"farlink/emulator/wire/steer"
)

// Ports looks at the ports of a configuration. plan says what a box would
// do to those of a pair, and every reason why it would not.
func Ports(config appliance.Config, plan func(appliance.PairConfig) ([]ports.Step, error)) (all []Finding) {
	for _, p := range config.Pairs {
		steps, err := plan(p)
		name := fmt.Sprintf("pair %s (%s, %s)", p.Name, p.A, p.B)
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				got, do, _ := strings.Cut(line, "; want ")
				all = append(all, Finding{name, Failure, got, "want " + do})
			}
			continue
		}
		all = append(all, Finding{name, OK, fmt.Sprintf("free; %d settings will change and be restored", len(steps)), ""})
		all = append(all, offers(p)...)
	}
	return all
}

// offers says what XDP the ports will have, as the engine decides it, and
// whether what comes in at them is whole.
func offers(p appliance.PairConfig) (all []Finding) {
	ns, err := ports.Open(p.Netns)
	if err != nil {
		return nil
	}
	defer ns.Close()
	generic := whyGeneric(p)
	for _, port := range []string{p.A, p.B} {
		if sums := ns.Unfinished(port); sums != "" {
			got, do, _ := strings.Cut(sums, "; ")
			all = append(all, Finding{"checksums at " + port, Warning, got, do})
		}
		o, err := ns.Offers(port)
		switch {
		case err != nil:
			all = append(all, Finding{"port " + port, Warning, err.Error(), "use Linux 6.3 or later to see what its driver offers"})
		case o.Native && generic != "":
			all = append(all, Finding{"port " + port, Warning, "generic XDP: " + generic, "works, but slower; a veth's peer polls with GRO on: ethtool -K PEER gro on"})
		default:
			all = append(all, finding("port "+port, o.Native, Warning, o.String(), "generic XDP is used: works, but slower; a port with native XDP is better"))
		}
	}
	return all
}

// whyGeneric asks the engine's own rule why it would not attach natively where
// the drivers could; "" when it would, or it cannot be told.
func whyGeneric(p appliance.PairConfig) (why string) {
	// What cannot be entered is said by the plan.
	_ = netspace.Do(p.Netns, func() error {
		var two [2]steer.Port
		for i, name := range []string{p.A, p.B} {
			l, err := net.InterfaceByName(name)
			if err != nil {
				return err
			}
			two[i] = steer.Port{Name: name, Index: l.Index}
		}
		_, why = steer.Preferred(two[0], two[1])
		return nil
	})
	return why
}
