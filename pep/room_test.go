package pep

import "testing"

// TestRoom: how many connections may be split by default. Two descriptors
// each, beside 300 and the pipes' (1 % of them, 1024 pipes at most); 48 kB
// each of a quarter of the memory; a quarter of the table.
func TestRoom(t *testing.T) {
	const gigabyte = 1 << 30
	for _, c := range []struct {
		room                  room
		pipes, sockets, flows int
	}{
		{room{20_000, 24 * gigabyte}, 200, 9650, 9650},        // 9850 - 200
		{room{262_144, 24 * gigabyte}, 1024, 129_898, 65_536}, // 131,072 - 150 - 1024
		{room{262_144, 8 * gigabyte}, 1024, 129_898, 43_690},  // 2 GiB / 48 KiB
		{room{1024, 24 * gigabyte}, 16, 346, 346},             // 362 - 16
		{room{100, gigabyte}, 16, 1, 1},                       // one at least
	} {
		if p, s, f := c.room.pipes(), c.room.sockets(), c.room.flows(); p != c.pipes || s != c.sockets || f != c.flows {
			t.Errorf("%+v: %d pipes, %d sockets, %d flows; want %d, %d, %d", c.room, p, s, f, c.pipes, c.sockets, c.flows)
		}
	}
}
