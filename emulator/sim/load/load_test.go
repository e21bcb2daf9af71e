package load

import (
	"reflect"
	"strings"
	"testing"

	"farlink/emulator/link"
	"farlink/emulator/sim"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]sim.Sender{
		"ping":                    &sim.Ping{Name: "ping", From: link.Up, Size: 98, Every: link.Second},
		"ping:1514B":              &sim.Ping{Name: "ping", From: link.Up, Size: 1514, Every: link.Second},
		"tcp-down":                &Transfer{Name: "tcp-down", Way: link.Down},
		"greedy-up:200B":          &sim.Greedy{Name: "greedy-up", Way: link.Up, Size: 200},
		"cbr-down=8Mbit/s":        &Constant{Name: "cbr-down", Way: link.Down, Size: 1514, Rate: 8e6},
		"poisson-up=64kbit/s:1kB": &Poisson{Name: "poisson-up", Way: link.Up, Size: 1000, Rate: 64e3, Draw: link.NewDraw(7, "poisson-up")},
		"burst-up=100":            &Burst{Name: "burst-up", Way: link.Up, Size: 1514, Count: 100, Every: link.Second},
	} {
		got, err := Parse(text, 7)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ping=3", "tcp", "tcp-left", "tcp-down=3", "tcp-up:100B", "greedy-up=1", "cbr-down", "cbr-up=0bit/s",
		"cbr-up=unlimited", "burst-down=0", "burst-down=x", "cbr-down=1Mbit/s:10B", "cbr-down=1Mbit/s:99kB", "flood-down", "ping-up"} {
		if _, err := Parse(text, 7); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
