package api

import (
	"strings"
	"testing"

	"farlink/appliance"
)

func TestMetrics(t *testing.T) {
	b := newBench(t)
	b.engine.show(appliance.Figures{LatenessP50: 12, LatenessP99: 41, LatenessMax: 300, Floor: 90,
		Down: appliance.WayFigures{PacketsIn: 1000, BytesIn: 1_500_000, PacketsOut: 980, BytesOut: 1_470_000,
			Lost: map[string]uint64{"queue_full": 12, "random": 5}, EngineLost: 1, LinkDown: 4, HeldPackets: 2, HeldBytes: 3000}},
		appliance.Reading{Link: "main", Way: "down", Name: "queue_bytes", Value: 2500})
	b.ask(driveToken, "PUT", "/api/v1/link", `{"profile":"clear","seed":7}`)
	b.ask(driveToken, "PUT", "/api/v1/lease", `{}`)
	b.ask(driveToken, "GET", "/api/v1/capture/pcap", "") // a stream: huma itself knows no status of it
	b.ask(driveToken, "PATCH", "/api/v1/link", `{"seed":8}`)
	body := b.ask(readToken, "GET", "/metrics", "").body
	for _, line := range []string{
		`farlink_pair_state{pair="main",word="EMULATING"} 1`,
		`farlink_pair_state{pair="main",word="CUT"} 0`,
		`farlink_pair_verdict{pair="main",verdict="VALID"} 1`,
		`farlink_pair_effective{pair="main"} 1`,
		`farlink_link_packets_total{fate="delivered",pair="main",way="down"} 980`,
		`farlink_link_packets_total{fate="queue_full",pair="main",way="down"} 12`,
		`farlink_link_packets_total{fate="random",pair="main",way="down"} 5`,
		`farlink_link_packets_total{fate="engine",pair="main",way="down"} 1`,
		`farlink_link_packets_total{fate="delivered",pair="main",way="up"} 0`,
		`farlink_link_arrived_packets_total{pair="main",way="down"} 1000`,
		`farlink_link_arrived_bytes_total{pair="main",way="down"} 1.5e+06`,
		`farlink_link_bytes_total{pair="main",way="down"} 1.47e+06`,
		`farlink_link_held_packets{pair="main",way="down"} 2`,
		`farlink_link_held_bytes{pair="main",way="down"} 3000`,
		`farlink_link_reading{link="main",pair="main",reading="queue_bytes",way="down"} 2500`,
		`farlink_wire_lateness_seconds{pair="main",quantile="0.5"} 1.2e-05`,
		`farlink_wire_lateness_seconds{pair="main",quantile="0.99"} 4.1e-05`,
		`farlink_wire_lateness_seconds{pair="main",quantile="1"} 0.0003`,
		`farlink_wire_floor_seconds{pair="main",quantile="0.5"} 9e-05`,
		`farlink_wire_floor_seconds{pair="main",quantile="0.99"} 0.00025`,
		`farlink_link_packets_total{fate="link_down",pair="main",way="down"} 4`,
		`farlink_engine_restarts_total{pair="main"} 0`,
		`farlink_lease_held 1`,
		`farlink_stream_clients 0`,
		`farlink_stream_dropped_total 0`,
		`farlink_api_requests_total{code="200",operation="put-link"} 1`,
		`farlink_api_requests_total{code="200",operation="patch-link"} 1`,
		`farlink_api_requests_total{code="200",operation="get-capture-pcap"} 1`,
		`farlink_build_info{go="`,
		`farlink_start_time_seconds 1.`,
		`farlink_link_info{hash="`,
	} {
		if !strings.Contains(body, "\n"+line) {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(body, `code="0"`) {
		t.Error("a request is counted that had no status")
	}
	for _, line := range strings.Split(body, "\n") {
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "farlink_") {
			t.Errorf("a name of another house: %s", line)
		}
	}
}

func TestReady(t *testing.T) {
	b := newBench(t)
	b.engine.judge(appliance.Verdict{Word: appliance.Invalid, Reason: "12 frames lost by the engine"})
	got := b.ask("", "GET", "/readyz", "")
	if got.StatusCode != 503 || !strings.Contains(got.body, "12 frames lost by the engine") {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	b.engine.judge(appliance.Verdict{Word: appliance.Degraded})
	if got := b.ask("", "GET", "/readyz", ""); got.StatusCode != 200 {
		t.Errorf("degraded is not invalid: %s", got.body)
	}
	fault := ready(appliance.State{Pairs: []appliance.PairState{{Name: "main", Word: appliance.Fault, Why: "port a0 is gone"}}})
	steps := fault.Checks[0].Checks
	if fault.OK || steps[0].Detail != "FAULT port a0 is gone" || steps[1].Detail != "depends on ports" || steps[3].Detail != "depends on link" {
		t.Errorf("%+v", fault)
	}
	hangs := ready(appliance.State{Pairs: []appliance.PairState{{Name: "main", Word: appliance.Fault, Why: "engine hangs", PortsTaken: true, Engine: appliance.EngineState{PID: 7}}}})
	if c := hangs.Checks[0].Checks; hangs.OK || !c[0].OK || c[1].OK || c[1].Detail != "FAULT engine hangs" || c[2].Detail != "depends on engine" {
		t.Errorf("an engine that hangs: %+v", hangs)
	}
	full := ready(appliance.State{Storage: "no space left on device", Pairs: []appliance.PairState{{Name: "main", Word: appliance.Emulating}}})
	if full.OK || full.Checks[0].Detail != "no space left on device" {
		t.Errorf("a state that cannot be written: %+v", full)
	}
	if ready(appliance.State{}).OK {
		t.Error("a box without pairs is ready")
	}
}
