package run

import (
	"maps"
	"time"

	"farlink/appliance"
)

// Sample is what happened to the pairs in one tenth of a second.
type Sample struct {
	Time  time.Time    `json:"time"`
	Pairs []PairSample `json:"pairs"`
	// Paths of the box's bundle, where it has one.
	Paths []PathSample `json:"paths,omitempty" doc:"What the paths carried that are held together."`
}

// PathSample is what one path of a bundle carried.
type PathSample struct {
	Name string  `json:"name"`
	Up   float64 `json:"up_bps" doc:"Rate from the devices, with all headers."`
	Down float64 `json:"down_bps" doc:"Rate to the devices."`
}

// PairSample is what happened to one pair.
type PairSample struct {
	Name     string             `json:"name"`
	Down     WaySample          `json:"down"`
	Up       WaySample          `json:"up"`
	Lateness float64            `json:"lateness_p99_us" doc:"99th percentile of actual minus intended departure, since the engine started."`
	Fault    string             `json:"fault,omitempty" doc:"Why the link was not emulated meanwhile."`
	Readings map[string]float64 `json:"readings,omitempty" doc:"Live figures of the models as way.link.name."`
}

// WaySample is what happened to one way of a pair.
type WaySample struct {
	Offered   float64           `json:"offered_bps" doc:"Rate of the frames that came."`
	Delivered float64           `json:"delivered_bps" doc:"Rate of the frames that left."`
	Granted   float64           `json:"granted_bps" doc:"Rate the link allows now; 0 when it does not say."`
	Delay     float64           `json:"delay_ms" doc:"Propagation now; 0 when the link does not say."`
	QueueMS   float64           `json:"queue_ms" doc:"Time in queue of the frame that leaves now."`
	QueueB    float64           `json:"queue_bytes"`
	Packets   uint64            `json:"packets" doc:"Frames that left."`
	Lost      uint64            `json:"lost_packets" doc:"Frames lost, the engine's included."`
	Causes    map[string]uint64 `json:"lost,omitempty" doc:"Frames lost by reason; engine is the box's own fault."`
	Held      uint64            `json:"held_packets" doc:"Frames inside."`
}

// EngineReason counts the frames that the box itself lost.
const EngineReason = "engine"

// LinkDownReason counts the frames that found no link at the port to leave by.
const LinkDownReason = "link_down"

// Between makes a sample of two states.
func Between(old, now appliance.State) Sample {
	s := Sample{Time: now.Now, Pairs: make([]PairSample, 0, len(now.Pairs))}
	seconds := now.Now.Sub(old.Now).Seconds()
	for i, p := range now.Pairs {
		ps := PairSample{Name: p.Name}
		// An engine that was not there before began to count at 0.
		was := &appliance.Figures{}
		if i < len(old.Pairs) && old.Pairs[i].Name == p.Name && old.Pairs[i].Engine.PID == p.Engine.PID && old.Pairs[i].Figures != nil {
			was = old.Pairs[i].Figures
		}
		if p.Figures != nil && seconds > 0 {
			ps.Lateness = p.Figures.LatenessP99
			ps.Down = flow(was.Down, p.Figures.Down, seconds)
			ps.Up = flow(was.Up, p.Figures.Up, seconds)
		}
		ps.Fault = faultBetween(i, old, p)
		read(&ps, p.Readings)
		s.Pairs = append(s.Pairs, ps)
	}
	for i, p := range now.Paths {
		one := PathSample{Name: p.Name}
		if i < len(old.Paths) && old.Paths[i].Name == p.Name && seconds > 0 {
			one.Up, one.Down = bits(old.Paths[i].UpBytes, p.UpBytes, seconds), bits(old.Paths[i].DownBytes, p.DownBytes, seconds)
		}
		s.Paths = append(s.Paths, one)
	}
	return s
}

// faultBetween says why pair i, now p, was not emulated since old, "" if it was.
func faultBetween(i int, old appliance.State, p appliance.PairState) string {
	if p.Word == appliance.Fault {
		return p.Verdict.Reason
	}
	if i < len(old.Pairs) && old.Pairs[i].Name == p.Name && p.Engine.Faults > old.Pairs[i].Engine.Faults {
		return p.Engine.Fault
	}
	return ""
}

// flow is what changed between two counts of one way.
func flow(old, now appliance.WayFigures, seconds float64) WaySample {
	w := WaySample{
		Offered:   bits(old.BytesIn, now.BytesIn, seconds),
		Delivered: bits(old.BytesOut, now.BytesOut, seconds),
		Packets:   more(old.PacketsOut, now.PacketsOut),
		Held:      now.HeldPackets,
		QueueB:    float64(now.HeldBytes),
	}
	causes := map[string]uint64{}
	for reason, n := range now.Lost {
		if d := more(old.Lost[reason], n); d > 0 {
			causes[reason] = d
			w.Lost += d
		}
	}
	if d := more(old.EngineLost, now.EngineLost); d > 0 {
		causes[EngineReason] = d
		w.Lost += d
	}
	if d := more(old.LinkDown, now.LinkDown); d > 0 {
		causes[LinkDownReason] = d
		w.Lost += d
	}
	if len(causes) > 0 {
		w.Causes = maps.Clone(causes)
	}
	return w
}

// more is how much a counter grew; one that was set back counts as new.
func more(old, now uint64) uint64 {
	if now < old {
		return now
	}
	return now - old
}

func bits(old, now uint64, seconds float64) float64 {
	return float64(more(old, now)) * 8 / seconds
}

// read puts the models' live figures where the panel looks for them.
func read(ps *PairSample, readings []appliance.Reading) {
	for _, r := range readings {
		if ps.Readings == nil {
			ps.Readings = make(map[string]float64, len(readings))
		}
		ps.Readings[r.Way+"."+r.Link+"."+r.Name] = r.Value
		if r.Link != appliance.MainLink {
			continue
		}
		w := &ps.Down
		if r.Way == "up" {
			w = &ps.Up
		}
		switch r.Name {
		case "rate_bps", "granted_bps":
			w.Granted = r.Value
		case "delay_ms", "delay_asked_ms":
			w.Delay = r.Value
		case "queue_ms", "queue_delay_ms":
			w.QueueMS = r.Value
		case "queue_bytes":
			w.QueueB = r.Value
		}
	}
}
