package run

import (
	"testing"
	"time"

	"farlink/appliance"
)

// TestBetween shows the figures of the engine in a sample: 1,000 frames
// of 125,000 bytes in all, within the tenth of a second between two looks, are
// 10 Mbit/s at 100 ms.
func TestBetween(t *testing.T) {
	old := appliance.State{Now: time.Unix(100, 0), Pairs: []appliance.PairState{{Name: "main", Figures: &appliance.Figures{
		Down: appliance.WayFigures{PacketsIn: 50, BytesIn: 5000, Lost: map[string]uint64{"random": 3}}}}}}
	now := appliance.State{Now: time.Unix(100, 1e8), Pairs: []appliance.PairState{{Name: "main", Figures: &appliance.Figures{
		LatenessP99: 41,
		Down: appliance.WayFigures{PacketsIn: 1050, BytesIn: 130_000, PacketsOut: 990, BytesOut: 62_500, EngineLost: 1, LinkDown: 2,
			Lost: map[string]uint64{"random": 9, "queue_full": 3}, HeldPackets: 4, HeldBytes: 6000}},
		Readings: []appliance.Reading{{Link: "main", Way: "down", Name: "rate_bps", Value: 8e6}, {Link: "x", Way: "down", Name: "rate_bps", Value: 1}}}}}
	got := Between(old, now).Pairs[0]
	d := got.Down
	if d.Offered != 10e6 || d.Delivered != 5e6 || d.Packets != 990 || d.Lost != 12 || d.Granted != 8e6 || d.Held != 4 {
		t.Errorf("down %+v", d)
	}
	if d.Causes["random"] != 6 || d.Causes["queue_full"] != 3 || d.Causes[EngineReason] != 1 || d.Causes[LinkDownReason] != 2 || got.Lateness != 41 {
		t.Errorf("causes %v, lateness %v", d.Causes, got.Lateness)
	}
	now.Pairs[0].Engine.PID = 1 // a new engine counts from 0
	if d = Between(old, now).Pairs[0].Down; d.Offered != 10.4e6 || d.Lost != 15 {
		t.Errorf("across two engines: %+v", d)
	}
}
