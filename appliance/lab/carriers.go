package lab

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"farlink/appliance"
	"farlink/appliance/carriers"
	"farlink/pep/bundle"
	"farlink/pep/framing"
	"farlink/profiles"
)

// defaultCarriers are those of a laboratory of which only the number is said.
var defaultCarriers = []string{"lte/skt", "lte/kt"}

// ParseCarriers reads a number of carriers, or their profiles by name.
func ParseCarriers(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > framing.MostPaths {
			return nil, fmt.Errorf("%d carriers: want 1 to %d", n, framing.MostPaths)
		}
		for names = nil; len(names) < n; {
			names = append(names, defaultCarriers[len(names)%len(defaultCarriers)])
		}
	}
	if len(names) > framing.MostPaths {
		return nil, fmt.Errorf("%d carriers: want 1 to %d", len(names), framing.MostPaths)
	}
	return names, nil
}

// ground is what the carriers are told to be: a name of its own for each, and
// a link of the box.
func (o Options) ground() (all []carriers.Carried, err error) {
	var names []string
	for i, profile := range o.Carriers {
		d, err := profiles.Lookup(profile)
		if err != nil {
			return nil, err
		}
		c := carriers.Carried{Name: profile, Link: appliance.MainLink, Rate: d.Profile.Expect.Up, RTT: d.Profile.Expect.RTT}
		if i > 0 {
			c.Link = fmt.Sprint("carrier", i+1)
		}
		for n := 2; slices.Contains(names, c.Name); n++ {
			c.Name = fmt.Sprintf("%s-%d", profile, n)
		}
		names, all = append(names, c.Name), append(all, c)
	}
	return all, nil
}

// boot writes what the pair boots with: a link for each carrier, told apart by
// the addresses of the interfaces at either end.
func (o Options) boot(b *strings.Builder, site bundle.Site) {
	fmt.Fprintf(b, "\n[pairs.boot]\nprofile = %q\nseed = %d\n", o.Carriers[0], o.Seed)
	for i, name := range o.Carriers[1:] {
		fmt.Fprintf(b, "\n[pairs.boot.links.%s]\nprofile = %q\nseed = %d\n", site.Paths[i+1].Link, name, o.Seed+uint64(i)+1)
	}
	for i, p := range site.Paths {
		for side := 1; side <= 2; side++ {
			fmt.Fprintf(b, "\n[[pairs.boot.rules]]\nmac = %q\nlink = %q\n", carriers.MAC(i, side), p.Link)
		}
	}
}

// bundleConfig writes where the paths are.
func bundleConfig(b *strings.Builder, s bundle.Site) {
	n := s.Near
	fmt.Fprintf(b, "\n[multipath.site.near]\nnetns = %q\nlan = %q\nnet = %q\nnet6 = %q\nintercept = %q\ndevices = %q\nrouter = %q\npins = %q\n",
		n.Netns, n.LAN, n.Net, n.Net6, n.Intercept, n.Devices, n.Router, n.Pins)
	fmt.Fprintf(b, "\n[multipath.site.far]\nnetns = %q\nlan = %q\n", s.Far.Netns, s.Far.LAN)
	for _, p := range s.Paths {
		fmt.Fprintf(b, "\n[[multipath.site.path]]\nname = %q\nlink = %q\nnear_dev = %q\nfar_dev = %q\nnear = %q\nfar = %q\nnear6 = %q\nfar6 = %q\nrate = %q\nrtt = %q\n",
			p.Name, p.Link, p.NearDev, p.FarDev, p.Near, p.Far, p.Near6, p.Far6, p.Rate, p.RTT)
	}
	fmt.Fprintf(b, "\n[multipath.boot]\nmode = \"lab\"\n")
}

// lay lays the cables: two ends, or several carriers between them.
func (l *Lab) lay(o Options) (site bundle.Site, err error) {
	all, err := o.ground()
	if err != nil {
		return site, err
	}
	g, err := carriers.NewGround(o.Name, o.MTU, all)
	if err != nil {
		return site, err
	}
	l.NsDevice, l.NsServer = namespace(o.Name, "d"), namespace(o.Name, "s")
	return g.Site, nil
}

// errPEP is a lab that would have proxies twice over.
var errPEP = errors.New("a lab of several carriers has relays of its own: want either --carriers or --pep")
