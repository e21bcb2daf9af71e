package dama

import (
	"reflect"
	"testing"

	"farlink/emulator/link"
)

// What a terminal sends depends on nobody else: not on the number of real
// stations, nor on their traffic.
func TestTrafficIsItsOwn(t *testing.T) {
	cfg := cases["crowd"]
	c1, _ := alone(t, cfg)
	c2, s := alone(t, cfg)
	c2.Station(cfg.Station, link.NewDraw(3, "other"))
	for at := link.Time(0); at < link.Time(20*link.Second); at = at.Add(20 * link.Millisecond) {
		s.Put(link.Packet{When: at, Body: link.Body{Size: 1000}}, &sinkhole{})
	}
	c1.advance(c2.next - 1)
	for i := range c1.cfg.Background[0].Count {
		a, b := &c1.terminals[i], &c2.terminals[i]
		if a.recent != b.recent || !reflect.DeepEqual(a.source, b.source) {
			t.Errorf("terminal %d: arrivals %d and %d", i, a.recent, b.recent)
		}
	}
}
