package library

import (
	"fmt"
	"slices"
	"strings"

	"farlink/appliance"
	"farlink/emulator/link"
	"farlink/profiles"
)

// Shipped lists the profiles that come with the program by name.
func Shipped() ([]appliance.ProfileInfo, error) {
	shipped, err := profiles.Shipped()
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	list := make([]appliance.ProfileInfo, len(shipped))
	for i, s := range shipped {
		list[i] = inform(s.Profile)
	}
	return list, nil
}

// List lists the profiles, shipped and the user's, by name.
func (s Library) List() ([]appliance.ProfileInfo, error) {
	list, err := Shipped()
	if err != nil {
		return nil, err
	}
	own, err := s.names()
	if err != nil {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	for _, name := range own {
		// One that does not read any more is shown when it is asked for.
		if p, _, err := s.Lookup(name); err == nil {
			i := inform(p)
			i.Shipped = false
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(a, b appliance.ProfileInfo) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// inform says what identifies a profile: its four numbers.
func inform(p *profiles.Profile) appliance.ProfileInfo {
	e := p.Expect
	if e.RTT == 0 { // not said; what the document adds up to
		e.RTT = p.RTT()
	}
	if e.Down == 0 {
		e.Down = whole(p.Rate(link.Down))
	}
	if e.Up == 0 {
		e.Up = whole(p.Rate(link.Up))
	}
	i := appliance.ProfileInfo{Name: p.Name, About: p.About, Hash: p.ShortHash(), Shipped: true,
		RTT: milliseconds(e.RTT), Down: e.Down.String(), Up: e.Up.String(), Loss: percent(e.LossDown)}
	if e.LossUp != e.LossDown {
		i.Loss += " down, " + percent(e.LossUp) + " up"
	}
	return i
}

// whole rounds what was computed, not said, to kbit/s.
func whole(r link.Rate) link.Rate {
	const unit = 1000
	if r < 1000*unit {
		return r
	}
	return (r + unit/2) / unit * unit
}

// milliseconds is a duration for people; zero has a unit they know.
func milliseconds(d link.Duration) string {
	if d == 0 {
		return "0ms"
	}
	return d.String()
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", share*100) }
