// Package load holds scripted senders for package sim, and the words by which
// a command line names them: constant and Poisson rates, bursts, a bulk
// transfer with a congestion window.
package load

import (
	"fmt"
	"strconv"
	"strings"

	"farlink/emulator/link"
	"farlink/emulator/sim"
)

// loadForms is what Parse understands.
const loadForms = `"ping", "tcp-down", "greedy-up", "cbr-down=8Mbit/s", "poisson-up=1Mbit/s" or "burst-down=100" (frames, once a second), each with ":200B" for another size`

// Parse returns the sender that a text of the form KIND-WAY=AMOUNT:SIZE
// names: what is put on a link on the command line.
func Parse(text string, seed uint64) (sim.Sender, error) {
	l := load{text: text, size: sim.FullFrame}
	name, rest, sized := strings.Cut(text, ":")
	if sized {
		size, err := link.ParseSize(rest)
		if err != nil || size < sim.LeastFrame || size > sim.MostFrame {
			return nil, fmt.Errorf("load %q: size %q: want %dB..%dB", text, rest, sim.LeastFrame, sim.MostFrame)
		}
		l.size = int(size)
	}
	name, l.amount, _ = strings.Cut(name, "=")
	kind, way, _ := strings.Cut(name, "-")
	if kind == "ping" && way == "" && l.amount == "" {
		if !sized {
			l.size = sim.PingFrame
		}
		return &sim.Ping{Name: "ping", From: link.Up, Size: l.size, Every: link.Second}, nil
	}
	switch way {
	case "down":
		l.way = link.Down
	case "up":
		l.way = link.Up
	default:
		return nil, l.fault("no way")
	}
	l.name = name
	return l.sender(kind, seed)
}

// load is a text being read.
type load struct {
	text, name, amount string
	way                link.Way
	size               int
}

func (l load) fault(what string) error {
	return fmt.Errorf("load %q: %s: want %s", l.text, what, loadForms)
}

func (l load) sender(kind string, seed uint64) (sim.Sender, error) {
	switch kind {
	case "tcp":
		if l.amount == "" && l.size == sim.FullFrame {
			return &Transfer{Name: l.name, Way: l.way}, nil
		}
	case "greedy":
		if l.amount == "" {
			return &sim.Greedy{Name: l.name, Way: l.way, Size: l.size}, nil
		}
	case "cbr", "poisson":
		rate, err := link.ParseRate(l.amount)
		if err != nil || rate <= 0 {
			return nil, l.fault(fmt.Sprintf("rate %q", l.amount))
		}
		if kind == "cbr" {
			return &Constant{Name: l.name, Way: l.way, Size: l.size, Rate: rate}, nil
		}
		return &Poisson{Name: l.name, Way: l.way, Size: l.size, Rate: rate, Draw: link.NewDraw(seed, l.name)}, nil
	case "burst":
		n, err := strconv.Atoi(l.amount)
		if err != nil || n < 1 || n > 1_000_000 {
			return nil, l.fault(fmt.Sprintf("frames %q", l.amount))
		}
		return &Burst{Name: l.name, Way: l.way, Size: l.size, Count: n, Every: link.Second}, nil
	}
	return nil, l.fault("no such load")
}
