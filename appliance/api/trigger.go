package api

import (
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/api/problem"
	"farlink/appliance/capture"
	"farlink/appliance/run"
	"farlink/emulator/link"
)

// CaptureTrigger saves a capture when one of its conditions is met, once.
type CaptureTrigger struct {
	Lost      string `json:"lost,omitempty" doc:"A frame lost for this reason, as metrics name it." example:"queue_full"`
	Mark      string `json:"mark,omitempty" enum:"ce,corrupted,duplicate,reordered" doc:"A frame with this mark."`
	Way       string `json:"way,omitempty" enum:"down,up" doc:"Whose delivered rate is looked at; down when not given."`
	RateBelow string `json:"rate_below,omitempty" doc:"The delivered rate of the last second falls below this, having been there." example:"1Mbit/s"`
	RateAbove string `json:"rate_above,omitempty" doc:"The delivered rate of the last second rises above this." example:"20Mbit/s"`
	RTTAbove  string `json:"rtt_above,omitempty" doc:"The link's round trip, propagation and queues of both ways, exceeds this." example:"700ms"`
	RunMark   string `json:"run_mark,omitempty" maxLength:"500" doc:"A mark with this text is put into a run of the pair; * is any." example:"handset moved"`
	Wait      string `json:"wait,omitempty" doc:"How long to go on after it, up to 20s; 5s when not given." example:"5s"`
}

// CaptureSaved tells that a trigger saved a capture.
type CaptureSaved struct {
	ID   string `json:"id"`
	Pair string `json:"pair"`
	Why  string `json:"why" doc:"What the trigger met."`
}

var marksByName = map[string]link.Mark{"ce": link.CE, "corrupted": link.Corrupted, "duplicate": link.Duplicate, "reordered": link.Reordered}

// read checks a trigger and says all that is wrong with it.
func (t CaptureTrigger) read() (c capture.Trigger, wait time.Duration, bad error) {
	var wrong []*huma.ErrorDetail
	refuse := func(name, want string, value any) {
		wrong = append(wrong, &huma.ErrorDetail{Location: "body.trigger" + name, Message: want, Value: value})
	}
	c.Mark, c.RunMark = marksByName[t.Mark], t.RunMark
	if t.Way == link.Up.String() {
		c.Way = link.Up
	}
	for r := link.None + 1; int(r) < link.Reasons; r++ {
		if t.Lost == r.String() {
			c.Lost = r
		}
	}
	if t.Lost != "" && c.Lost == link.None {
		refuse(".lost", "want a reason as docs/metrics.md lists them", t.Lost)
	}
	c.RateBelow = rate(t.RateBelow, ".rate_below", refuse)
	c.RateAbove = rate(t.RateAbove, ".rate_above", refuse)
	if t.RTTAbove != "" {
		d, err := link.ParseDuration(t.RTTAbove)
		if err != nil || d <= 0 || d > link.Duration(time.Minute) {
			refuse(".rtt_above", "want a duration up to 1m, such as 700ms", t.RTTAbove)
		}
		c.RTTAbove = d
	}
	if t.Way != "" && t.RateBelow == "" && t.RateAbove == "" {
		refuse(".way", "goes with rate_below or rate_above only", t.Way)
	}
	if t.Lost+t.Mark+t.Way+t.RateBelow+t.RateAbove+t.RTTAbove+t.RunMark == "" {
		refuse("", "want one of lost, mark, rate_below, rate_above, rtt_above, run_mark", nil)
	}
	d, err := link.Duration(5*time.Second), error(nil)
	if t.Wait != "" {
		d, err = link.ParseDuration(t.Wait)
	}
	if err != nil || d < 0 || d > link.Duration(20*time.Second) {
		refuse(".wait", "want a duration up to 20s", t.Wait)
	}
	if len(wrong) > 0 {
		return c, 0, problem.New(http.StatusUnprocessableEntity, "the trigger does not do", wrong...)
	}
	return c, time.Duration(d), nil
}

func rate(text, name string, refuse func(name, want string, value any)) link.Rate {
	if text == "" {
		return 0
	}
	r, err := link.ParseRate(text)
	if err != nil || r <= 0 {
		refuse(name, "want a rate above 0, such as 2Mbit/s", text)
	}
	return r
}

// watch shows the captures what their pairs did.
func (s *Server) watch(sample run.Sample) {
	for _, p := range sample.Pairs {
		r, _, err := s.recorder(p.Name)
		if err != nil {
			continue // a pair that came with this sample
		}
		ms := p.Down.Delay + p.Down.QueueMS + p.Up.Delay + p.Up.QueueMS
		r.Look(capture.Figures{Delivered: [2]float64{link.Down: p.Down.Delivered, link.Up: p.Up.Delivered},
			RTT: link.Duration(ms*1000) * link.Duration(time.Microsecond)})
	}
}

// marked tells the capture of a run's pair that a mark was put into it.
func (s *Server) marked(id, text string) {
	of, err := s.runs.Get(id)
	if err != nil {
		return // removed meanwhile
	}
	if r, _, err := s.recorder(of.Pair); err == nil {
		r.Marked(text)
	}
}
