package run

import (
	"time"

	"farlink/appliance"
)

// Phase is how a run is.
type Phase string

// The phases.
const (
	Running     Phase = "running"
	Stopped     Phase = "stopped"
	Interrupted Phase = "interrupted" // the daemon ended before the run did
)

// Run is a stretch of time on a pair with a name.
type Run struct {
	ID    string    `json:"id" doc:"Chosen by who began it." example:"nightly-42"`
	Title string    `json:"title,omitempty"`
	Pair  string    `json:"pair"`
	By    string    `json:"by,omitempty" doc:"Who began it."`
	Phase Phase     `json:"phase" enum:"running,stopped,interrupted"`
	Begun time.Time `json:"begun"`
	Ended time.Time `json:"ended,omitzero"`

	Want    appliance.Want        `json:"want" doc:"What was asked of the pair when it began: this repeats the run."`
	Links   []appliance.LinkState `json:"links" doc:"The links when it began."`
	Changed bool                  `json:"changed" doc:"Something else was asked of the pair meanwhile."`

	Verdict appliance.Verdict `json:"verdict" doc:"The worst of the ledger's verdicts during the run; INVALID when the link was not emulated for a while."`
	Faults  []string          `json:"faults,omitempty" doc:"When the link was not emulated during the run: the engine hung, or was gone." example:"engine hung for 1.2s: 345 frames passed in bypass"`
	Down    Totals            `json:"down"`
	Up      Totals            `json:"up"`
	Marks   []Mark            `json:"marks"`
	Events  []appliance.Event `json:"events"`
	Samples int               `json:"samples"`
	Gaps    []Gap             `json:"gaps,omitempty" doc:"Where samples are missing from the series: the disk did not take them. The totals have them all the same."`
	Capture bool              `json:"capture" doc:"A capture of its last 30 s was kept."`

	Recording *Recording `json:"recording,omitempty" doc:"The channel of all of the run, where it was asked for."`
}

// Recording is the channel of a run, packet by packet, in a file of its own.
type Recording struct {
	Most    int64  `json:"most_bytes" doc:"The file grows no larger."`
	Bytes   int64  `json:"bytes"`
	Packets uint64 `json:"packets" doc:"Fates in it."`
	Missed  uint64 `json:"missed_packets" doc:"Frames that passed too quickly to be recorded: what a replay can take ends or begins there."`
	Why     string `json:"why,omitempty" doc:"Why it ended before the run did." example:"no space left on device"`
}

// Mark is a point in a run with a text.
type Mark struct {
	Time time.Time `json:"time"`
	At   float64   `json:"t_s" doc:"Seconds since the run began."`
	Text string    `json:"text"`
	By   string    `json:"by,omitempty"`
}

// Gap is a stretch of a run whose samples could not be written.
type Gap struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero" doc:"Absent while it goes on."`
	Samples int       `json:"samples" doc:"How many are missing."`
	Why     string    `json:"why" doc:"What the disk said." example:"no space left on device"`
}

// faultsMost bounds the faults kept apart; further ones take the last's place.
const faultsMost = 100

// gapsMost bounds the gaps kept apart; further ones lengthen the last.
const gapsMost = 100

// Totals are the figures of one way over a run.
type Totals struct {
	Seconds   float64           `json:"measured_s" doc:"Time that the figures are of."`
	Offered   float64           `json:"offered_bps" doc:"Mean."`
	Delivered float64           `json:"delivered_bps" doc:"Mean."`
	Packets   uint64            `json:"packets" doc:"Frames that left."`
	Lost      uint64            `json:"lost_packets"`
	Causes    map[string]uint64 `json:"lost,omitempty" doc:"Frames lost by reason; engine is the box's own fault."`
	QueueMax  float64           `json:"queue_max_ms"`
	Late      float64           `json:"lateness_p99_us" doc:"The greatest."`
}

// eventsMost bounds the events kept with a run.
const eventsMost = 1000

// add takes a sample into the totals.
func (t *Totals) add(w WaySample, late, seconds float64) {
	t.Offered = (t.Offered*t.Seconds + w.Offered*seconds) / (t.Seconds + seconds)
	t.Delivered = (t.Delivered*t.Seconds + w.Delivered*seconds) / (t.Seconds + seconds)
	t.Seconds += seconds
	t.Packets += w.Packets
	t.Lost += w.Lost
	t.QueueMax = max(t.QueueMax, w.QueueMS)
	t.Late = max(t.Late, late)
	for reason, n := range w.Causes {
		if t.Causes == nil {
			t.Causes = map[string]uint64{}
		}
		t.Causes[reason] += n
	}
}

var rank = map[appliance.Standing]int{appliance.Valid: 0, appliance.Degraded: 1, appliance.Invalid: 2}

// judge keeps the worst verdict.
func (r *Run) judge(v appliance.Verdict) {
	if rank[v.Word] > rank[r.Verdict.Word] {
		r.Verdict = v
	}
}
