package appliance

import (
	"time"

	"farlink/pep/bundle"
)

// Word is the one word that says how a pair is.
type Word string

// The words of a pair's state.
const (
	Starting  Word = "STARTING"  // ports and engine are being set up
	Emulating Word = "EMULATING" // frames pass through the emulated links
	Bypassing Word = "BYPASS"    // frames pass unharmed, as asked or as fallback
	Cutting   Word = "CUT"       // no frame passes, as asked or as fallback
	Fault     Word = "FAULT"     // the pair cannot do what is asked; Why says why
)

// Standing says how far the figures of a run may be trusted.
type Standing string

// The verdicts of the ledger.
const (
	Valid    Standing = "VALID"
	Degraded Standing = "DEGRADED"
	Invalid  Standing = "INVALID"
)

// Verdict is the ledger's judgement with its reason ("" when valid).
type Verdict struct {
	Word   Standing `json:"word" enum:"VALID,DEGRADED,INVALID"`
	Reason string   `json:"reason,omitempty"`
}

// State is what is, of the whole box.
type State struct {
	Name    string      `json:"name" doc:"Name of the box."`
	Version string      `json:"version" doc:"Version of the program."`
	Started time.Time   `json:"started" doc:"When the daemon started."`
	Now     time.Time   `json:"now" doc:"When this was taken."`
	Pairs   []PairState `json:"pairs" doc:"The pairs of test ports, in the order of the configuration."`
	Storage string      `json:"storage,omitempty" doc:"Why the state directory cannot be written; changes are refused then."`
	// Paths of the box's bundle, where it has one.
	Paths []bundle.PathState `json:"paths,omitempty" doc:"The paths that are held together, where the box has some: /multipath says what they carry."`
}

// PairState is what is, of one pair.
type PairState struct {
	Name  string    `json:"name" doc:"Name of the pair."`
	Word  Word      `json:"word" enum:"STARTING,EMULATING,BYPASS,CUT,FAULT"`
	Since time.Time `json:"since" doc:"Since when the word is true."`
	Why   string    `json:"why,omitempty" doc:"Why the pair is not as asked, or what it waits for."`

	PortA string `json:"port_a" doc:"Port on the device side."`
	PortB string `json:"port_b" doc:"Port on the network side."`
	Netns string `json:"netns,omitempty" doc:"Network namespace of the ports."`
	// PortsTaken tells a fault of the engine from one of the ports.
	PortsTaken bool `json:"-"`
	// PortWarnings are about what the box cannot mend and must not.
	PortWarnings []string `json:"port_warnings,omitempty" doc:"What about the ports will harm traffic, and what to do on the hosts: checksums that are left to a card."`

	Want      Want      `json:"want" doc:"What was asked."`
	ETag      string    `json:"etag" doc:"Version of the want, for If-Match."`
	AppliedAt time.Time `json:"applied_at" doc:"When the want took effect."`
	Hitless   bool      `json:"hitless" doc:"Whether the last change lost or reordered no frame."`
	Effective bool      `json:"effective" doc:"Whether the link is as asked; not_effective says why not."`
	NotYet    string    `json:"not_effective,omitempty" doc:"Why the link is not as asked."`

	Checks []Check `json:"checks,omitempty" doc:"What the links promise, held against the frames since the last change."`

	Links    []LinkState `json:"links" doc:"The links, main first."`
	Event    *Disruption `json:"event,omitempty" doc:"The link event that is going on."`
	Verdict  Verdict     `json:"verdict" doc:"How far the figures may be trusted."`
	Engine   EngineState `json:"engine"`
	Figures  *Figures    `json:"figures,omitempty" doc:"Counters since the engine started."`
	Readings []Reading   `json:"readings,omitempty" doc:"Live figures of the models."`
}

// LinkState says which profile a link runs.
type LinkState struct {
	Name    string `json:"name"`
	Profile string `json:"profile" doc:"Name of the profile, or inline."`
	Hash    string `json:"hash" doc:"First 7 hex digits of the profile's hash, overrides included."`
	Seed    uint64 `json:"seed"`
	About   string `json:"about,omitempty" doc:"The profile's own words."`
}

// Kept says how a promise of a link stands.
type Kept string

// The ways a promise stands.
const (
	IsKept    Kept = "kept"      // held against frames, and kept
	Broken    Kept = "broken"    // the link does something else
	Waiting   Kept = "waiting"   // too little traffic yet
	Unchecked Kept = "unchecked" // nothing can be promised; the text says why
)

// Check is one promise of one way of a link, held against the frames since
// the last change.
type Check struct {
	Link string `json:"link"`
	Way  string `json:"way" enum:"down,up"`
	What string `json:"what" enum:"delay,rate,jitter,loss,duplicate,reorder,corrupt,frames"`
	Word Kept   `json:"word" enum:"kept,broken,waiting,unchecked"`
	Text string `json:"text" doc:"What is promised and what was seen; or why it is not checked."`
}

// EngineState says how the process that moves the frames is.
type EngineState struct {
	PID       int       `json:"pid,omitempty" doc:"Process, 0 while it does not run."`
	Started   time.Time `json:"started,omitzero"`
	Restarts  int       `json:"restarts" doc:"How often it had to be started again."`
	Faults    int       `json:"faults" doc:"How often frames passed that the links did not shape, or could have: the engine hung or was gone."`
	Fault     string    `json:"fault,omitempty" doc:"What the last of these was." example:"engine hung for 1.2s: 345 frames passed in bypass"`
	Driver    string    `json:"driver,omitempty" doc:"How frames are moved: native or generic XDP, zero-copy or copy."`
	DriverWhy string    `json:"driver_why,omitempty" doc:"Why the slower, generic XDP is used, where it is."`
	Floor     *Floor    `json:"floor,omitempty" doc:"The box's own latency, measured before the ports were opened."`
}

// Floor is what a frame takes that no model delays: real frames on a cable of
// the engine's own, through the same program and loop as those of the pair.
type Floor struct {
	P50 float64 `json:"p50_us" doc:"Arrival to departure, as the ledger has it."`
	P99 float64 `json:"p99_us"`
	// The witness is the kernel, which stamps the same frames outside of the
	// engine.
	WitnessP50 float64 `json:"witness_p50_us,omitempty" doc:"The same frames by the kernel's stamps outside of the engine."`
	WitnessP99 float64 `json:"witness_p99_us,omitempty"`
	Frames     int     `json:"frames" doc:"How many were measured."`
	Why        string  `json:"why,omitempty" doc:"Why nothing was measured."`
}

// Figures are the counters of a pair, since its engine started.
type Figures struct {
	Down WayFigures `json:"down"`
	Up   WayFigures `json:"up"`
	// Lateness is actual minus intended departure.
	LatenessP50 float64 `json:"lateness_p50_us"`
	LatenessP99 float64 `json:"lateness_p99_us"`
	LatenessMax float64 `json:"lateness_max_us"`
	// Floor is the box's own latency at zero delay, the median; 0 where it
	// could not be measured, which engine.floor explains.
	Floor float64 `json:"floor_us"`
}

// WayFigures are the counters of one way of a pair.
type WayFigures struct {
	PacketsIn  uint64 `json:"packets_in"`
	BytesIn    uint64 `json:"bytes_in"`
	PacketsOut uint64 `json:"packets_out"`
	BytesOut   uint64 `json:"bytes_out"`
	// Lost counts the losses of the model by reason.
	Lost map[string]uint64 `json:"lost,omitempty"`
	// EngineLost counts frames the box itself lost, which it should not.
	EngineLost uint64 `json:"engine_lost"`
	// LinkDown counts frames that could not leave because the port to leave
	// by had no link: its cable was out, it was down, or gone.
	LinkDown    uint64 `json:"link_down"`
	HeldPackets uint64 `json:"held_packets"`
	HeldBytes   uint64 `json:"held_bytes"`
}

// Reading is one live figure of a model; the name ends in its unit.
type Reading struct {
	Link  string  `json:"link"`
	Way   string  `json:"way" enum:"down,up"`
	Name  string  `json:"name" example:"queue_bytes"`
	Value float64 `json:"value"`
}

// Applied answers an Apply.
type Applied struct {
	ETag      string      `json:"etag" doc:"Version of the want that is now in force."`
	AppliedAt time.Time   `json:"applied_at,omitzero" doc:"When it took effect; absent on a dry run."`
	DryRun    bool        `json:"dry_run,omitempty"`
	Changed   bool        `json:"changed" doc:"Whether anything had to be changed."`
	Hitless   bool        `json:"hitless" doc:"Whether no frame was lost or reordered by the change."`
	Effective bool        `json:"effective" doc:"Whether the link is as asked."`
	NotYet    string      `json:"not_effective,omitempty" doc:"Why the link is not as asked."`
	Checks    []Check     `json:"checks,omitempty" doc:"What the links promise: to be held against the frames that come, or why not. /status has what was seen."`
	Want      Want        `json:"want"`
	Links     []LinkState `json:"links"`
	Warnings  []Problem   `json:"warnings,omitempty" doc:"What works but is probably not meant."`
}
