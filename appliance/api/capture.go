package api

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/appliance/capture"
	"farlink/emulator/link"
)

const (
	typePcapng  = "application/x-pcapng"
	capturesMax = 20 // saved captures; the oldest gives way
)

// recorders are the captures of the pairs. A capture belongs to a pair by
// name for as long as the server runs.
type recorders struct {
	mu      sync.Mutex
	of      map[string]*capture.Recorder
	running sync.WaitGroup
	trigger map[string]CaptureTrigger
}

// record begins a capture for each pair that has none yet.
func (s *Server) record(ctx context.Context, st appliance.State) {
	s.taps.mu.Lock()
	defer s.taps.mu.Unlock()
	for _, p := range st.Pairs {
		if s.taps.of[p.Name] != nil {
			continue
		}
		if s.taps.of == nil {
			s.taps.of, s.taps.trigger = map[string]*capture.Recorder{}, map[string]CaptureTrigger{}
		}
		r := &capture.Recorder{Now: s.Now, Source: func() capture.Tap {
			t, _ := s.Box.Engine(p.Name).(capture.Tap)
			return t
		}}
		r.Arm(s.Capture)
		s.taps.of[p.Name] = r
		s.taps.running.Go(func() { r.Run(ctx) })
	}
}

// CaptureState says how the capture of a pair is.
type CaptureState struct {
	Armed   bool            `json:"armed" doc:"Frames are kept, the last 30 s of them."`
	Packets int             `json:"packets" doc:"Frames kept now."`
	Bytes   int             `json:"bytes" doc:"Of their first 216 bytes each."`
	Missed  uint64          `json:"missed_packets" doc:"Frames that passed too quickly to be kept."`
	Since   time.Time       `json:"since,omitzero" doc:"Time of the oldest."`
	Trigger *CaptureTrigger `json:"trigger,omitempty" doc:"What is waited for."`
	Saved   []string        `json:"saved" doc:"Ids of the captures that triggers saved, oldest first."`
}

// CaptureWish asks something of a capture.
type CaptureWish struct {
	Armed   bool            `json:"armed" doc:"Keep frames."`
	Trigger *CaptureTrigger `json:"trigger,omitempty" doc:"Save a capture when this happens."`
}

type captureOutput struct{ Body CaptureState }

type captureWishInput struct {
	PairInput
	Body CaptureWish
}

type pcapInput struct {
	PairInput
	Last string `query:"last" doc:"How far back, up to 30s; 30s when not given." example:"10s"`
}

type savedInput struct {
	ID string `path:"id" doc:"Of a saved capture."`
}

func (s *Server) captureOperations(a huma.API) {
	get := gate.Operation("get-capture", http.MethodGet, "/capture", access.Read, gate.Reads, "How the capture of a pair is")
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(a, get, func(_ context.Context, in *PairInput) (*captureOutput, error) { return s.captureState(in.Pair) })

	put := gate.Operation("put-capture", http.MethodPut, "/capture", access.Drive, gate.UnderLease, "Switch a capture on or off, or have a trigger save one")
	put.Errors = append(put.Errors, http.StatusNotFound)
	huma.Register(a, put, s.putCapture)

	pcapng := func(id, path, summary string) huma.Operation {
		op := gate.Operation(id, http.MethodGet, path, access.Drive, gate.Reads, summary)
		op.Description += " pcapng; each frame's fate is its comment, its first 216 bytes are kept."
		op.Errors = append(op.Errors, http.StatusNotFound)
		op.Responses = map[string]*huma.Response{"200": {Description: "A capture.",
			Content: map[string]*huma.MediaType{typePcapng: binary}}}
		return op
	}
	huma.Register(a, pcapng("get-capture-pcap", "/capture/pcap", "The last frames of a pair with their fates"), s.getPcap)
	huma.Register(a, pcapng("get-capture-saved", "/capture/saved/{id}", "A capture that a trigger saved"), s.getSaved)
}

// recorder finds the capture of a pair.
func (s *Server) recorder(pair string) (*capture.Recorder, string, error) {
	name, err := s.pairName(pair)
	if err != nil {
		return nil, "", err
	}
	s.taps.mu.Lock()
	defer s.taps.mu.Unlock()
	if r := s.taps.of[name]; r != nil {
		return r, name, nil
	}
	return nil, name, problem.New(http.StatusServiceUnavailable, "the box is still starting")
}

func (s *Server) captureState(pair string) (*captureOutput, error) {
	r, name, err := s.recorder(pair)
	if err != nil {
		return nil, err
	}
	st := r.Status()
	out := &captureOutput{CaptureState{Armed: st.Armed, Packets: st.Packets, Bytes: st.Bytes, Missed: st.Missed, Since: st.Since, Saved: s.saved()}}
	s.taps.mu.Lock()
	defer s.taps.mu.Unlock()
	if t, ok := s.taps.trigger[name]; ok {
		out.Body.Trigger = &t
	}
	return out, nil
}

func (s *Server) putCapture(ctx context.Context, in *captureWishInput) (*captureOutput, error) {
	r, name, err := s.recorder(in.Pair)
	if err != nil {
		return nil, err
	}
	w := gate.Caller(ctx)
	w.Note.On, w.Note.After = on("capture", name), in.Body
	trigger, wait, bad := capture.Trigger{}, time.Duration(0), error(nil)
	if in.Body.Trigger != nil {
		trigger, wait, bad = in.Body.Trigger.read()
	}
	if bad != nil {
		return nil, bad
	}
	r.Arm(in.Body.Armed)
	s.taps.mu.Lock()
	delete(s.taps.trigger, name)
	if in.Body.Trigger != nil {
		s.taps.trigger[name] = *in.Body.Trigger
	}
	s.taps.mu.Unlock()
	if in.Body.Trigger == nil {
		r.Watch(capture.Trigger{}, nil)
		return s.captureState(name)
	}
	r.Watch(trigger, func(why string) {
		time.AfterFunc(wait, func() { s.save(r, name, why) })
	})
	return s.captureState(name)
}

// captureID is what a saved capture is called: nothing else is a file here.
var captureID = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{3}-[a-z0-9-]{1,32}$`)

// save writes what was kept to the state directory, because a trigger fired.
func (s *Server) save(r *capture.Recorder, pair, why string) {
	s.taps.mu.Lock()
	delete(s.taps.trigger, pair)
	s.taps.mu.Unlock()
	id := s.Now().UTC().Format("20060102T150405.000") + "-" + pair
	if err := s.write(r, id, pair+": "+why); err != nil {
		s.Box.Tell(appliance.Event{Kind: appliance.KindStorage, Pair: pair, Text: fmt.Sprintf("capture not saved (%s): %v", why, err)})
		return
	}
	s.hub.Publish("capture", CaptureSaved{ID: id, Pair: pair, Why: why})
	for _, old := range s.saved()[:max(0, len(s.saved())-capturesMax)] {
		if err := os.Remove(s.capturePath(old)); err != nil {
			s.Log.Error("capture", "error", err)
		}
	}
}

func (s *Server) capturePath(id string) string {
	return filepath.Join(s.State, "captures", id+".pcapng")
}

func (s *Server) write(r *capture.Recorder, id, about string) error {
	if s.State == "" {
		return fmt.Errorf("save capture %s: no state directory", id)
	}
	return keep(s.capturePath(id), func(f *os.File) error { return r.Write(f, time.Time{}, about) })
}

// saved lists the saved captures, oldest first.
func (s *Server) saved() []string {
	ids := []string{}
	files, _ := filepath.Glob(s.capturePath("*")) // the pattern is good
	for _, f := range files {
		if id := strings.TrimSuffix(filepath.Base(f), ".pcapng"); captureID.MatchString(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *Server) getPcap(_ context.Context, in *pcapInput) (*huma.StreamResponse, error) {
	r, name, err := s.recorder(in.Pair)
	if err != nil {
		return nil, err
	}
	last := link.Duration(capture.Span)
	if in.Last != "" {
		last, err = link.ParseDuration(in.Last)
	}
	if err != nil || last <= 0 || last > link.Duration(capture.Span) {
		return nil, problem.New(http.StatusUnprocessableEntity, "a capture does not reach that far",
			&huma.ErrorDetail{Location: "query.last", Message: "want a duration up to 30s", Value: in.Last})
	}
	about := name
	for _, p := range s.Box.State().Pairs {
		if p.Name == name && len(p.Links) > 0 {
			l := p.Links[0]
			about = fmt.Sprintf("%s: %s@%s seed %d", name, l.Profile, l.Hash, l.Seed)
		}
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		download(ctx, fmt.Sprintf("farlink-%s.pcapng", name))
		if err := r.Write(ctx.BodyWriter(), s.Now().Add(-time.Duration(last)), about); err != nil {
			s.Log.Debug("capture", "error", err) // the client went
		}
	}}, nil
}

// download says that what follows is a file.
func download(ctx huma.Context, name string) {
	ctx.SetHeader("Content-Type", typePcapng)
	ctx.SetHeader("Content-Disposition", `attachment; filename="`+name+`"`)
	ctx.SetHeader("Cache-Control", "no-store")
}

func (s *Server) getSaved(_ context.Context, in *savedInput) (*huma.StreamResponse, error) {
	b, err := []byte(nil), os.ErrNotExist
	if captureID.MatchString(in.ID) {
		b, err = os.ReadFile(s.capturePath(in.ID))
	}
	if err != nil {
		return nil, problem.New(http.StatusNotFound, "no such capture",
			&huma.ErrorDetail{Location: "path.id", Message: "want an id of /capture", Value: in.ID})
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		download(ctx, in.ID+".pcapng")
		ctx.BodyWriter().Write(b)
	}}, nil
}
