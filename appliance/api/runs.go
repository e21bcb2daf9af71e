package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/appliance/run"
)

// RunBrief is a run that goes on, as the status shows it.
type RunBrief struct {
	ID    string    `json:"id"`
	Title string    `json:"title,omitempty"`
	Pair  string    `json:"pair"`
	Begun time.Time `json:"begun"`
}

// RunWish begins a run, or ends it.
type RunWish struct {
	Title string `json:"title,omitempty" maxLength:"200"`
	Phase string `json:"phase,omitempty" enum:"running,stopped" doc:"running when not given."`

	Record string `json:"record,omitempty" doc:"Record the channel of all of the run, up to so many bytes on disk: each packet's arrival and fate, some 230 bytes. 1MB to 100GB; nothing is recorded when not given." example:"2GB"`
}

// MarkWish puts a mark into a run.
type MarkWish struct {
	Text string `json:"text" maxLength:"500" doc:"What happened." example:"handset moved"`
}

type runsOutput struct{ Body []run.Run }

// RunInput names a run.
type RunInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the run, chosen by who begins it." example:"nightly-42"`
}

type putRunInput struct {
	PairInput
	RunInput
	Body RunWish
}

type runOutput struct{ Body run.Run }

type markInput struct {
	RunInput
	Body MarkWish
}

type markOutput struct{ Body run.Mark }

type reportInput struct {
	RunInput
	Format string `query:"format" enum:"html,json,csv,junit" default:"html" doc:"html is one file that needs nothing else; csv is the series; junit is what a test bench judges."`
}

func (s *Server) runOperations(a huma.API) {
	huma.Register(a, gate.Operation("list-runs", http.MethodGet, "/runs", access.Read, gate.Reads, "All runs, the newest first"),
		func(context.Context, *struct{}) (*runsOutput, error) { return &runsOutput{s.runs.List()}, nil })

	get := gate.Operation("get-run", http.MethodGet, "/runs/{id}", access.Read, gate.Reads, "One run")
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(a, get, func(_ context.Context, in *RunInput) (*runOutput, error) {
		r, err := s.runs.Get(in.ID)
		return &runOutput{r}, refuseRun(err)
	})

	put := gate.Operation("put-run", http.MethodPut, "/runs/{id}", access.Drive, gate.UnderLease, "Begin a run, or end it")
	put.Description += " A run keeps samples, marks, events and the worst verdict of a pair; the same request twice is the same as once."
	put.Errors = append(put.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, put, s.putRun)

	remove := gate.Operation("delete-run", http.MethodDelete, "/runs/{id}", access.Drive, gate.UnderLease, "Remove a run that has ended")
	remove.Errors = append(remove.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, remove, s.deleteRun)

	mark := gate.Operation("post-mark", http.MethodPost, "/runs/{id}/marks", access.Drive, gate.UnderLease, "Put a mark into a run that goes on")
	mark.DefaultStatus = http.StatusCreated
	mark.Errors = append(mark.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, mark, s.postMark)

	series := gate.Operation("get-run-series", http.MethodGet, "/runs/{id}/series", access.Read, gate.Reads, "The samples of a run, in columns")
	series.Description += " Tenths of a second for the first ten minutes, then seconds."
	series.Errors = get.Errors
	huma.Register(a, series, func(_ context.Context, in *RunInput) (*seriesOutput, error) {
		r, samples, err := s.runSamples(in.ID)
		return &seriesOutput{run.Columns(r.Pair, samples)}, err
	})

	report := gate.Operation("get-run-report", http.MethodGet, "/runs/{id}/report", access.Read, gate.Reads, "A run as a report")
	report.Errors = get.Errors
	report.Responses = map[string]*huma.Response{"200": {Description: "The report.", Content: map[string]*huma.MediaType{
		"text/html": text, "text/csv": text, "application/xml": text, typeJSON: {Schema: schemaOf[run.Run](a)}}}}
	huma.Register(a, report, s.getReport)

	pcap := gate.Operation("get-run-pcap", http.MethodGet, "/runs/{id}/pcap", access.Drive, gate.Reads, "The last 30 s of a run with fates, as pcapng")
	pcap.Errors = get.Errors
	pcap.Responses = map[string]*huma.Response{"200": {Description: "A capture.", Content: map[string]*huma.MediaType{typePcapng: binary}}}
	huma.Register(a, pcap, s.getRunPcap)

	channel := gate.Operation("get-run-channel", http.MethodGet, "/runs/{id}/channel", access.Drive, gate.Reads, "The recorded channel of all of a run, as pcapng")
	channel.Description += " As a capture is, with 64 bytes of each frame; farlink trace record makes a recording of it that replays."
	channel.Errors = get.Errors
	channel.Responses = pcap.Responses
	huma.Register(a, channel, s.getRunChannel)
}

var (
	text   = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	binary = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
)

// refuseRun turns an error of the keeper into a problem.
func refuseRun(err error) error {
	switch {
	case errors.Is(err, run.ErrNoRun):
		return problem.New(http.StatusNotFound, err.Error(), &huma.ErrorDetail{Location: "path.id", Message: "want an id of /runs"})
	case errors.Is(err, run.ErrID):
		return problem.New(http.StatusUnprocessableEntity, "the run's id does not do", &huma.ErrorDetail{Location: "path.id", Message: err.Error()})
	case errors.Is(err, run.ErrBusy), errors.Is(err, run.ErrExists), errors.Is(err, run.ErrRunning), errors.Is(err, run.ErrOver),
		errors.Is(err, run.ErrMany), errors.Is(err, run.ErrNowhere):
		return problem.Named("run", http.StatusConflict, err.Error())
	}
	return problem.Refuse(err, "body")
}

func (s *Server) putRun(ctx context.Context, in *putRunInput) (*runOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On, w.Note.After = "run "+in.ID, in.Body
	if in.Body.Phase == string(run.Stopped) {
		return s.stopRun(in.ID)
	}
	name, err := s.pairName(in.Pair)
	if err != nil {
		return nil, err
	}
	for _, p := range s.Box.State().Pairs {
		if p.Name == name {
			return s.beginRun(in, w.Name, p)
		}
	}
	return nil, problem.Refuse(appliance.NoPair{Name: name}, "query")
}

// stopRun ends a run and keeps what was captured of its end.
func (s *Server) stopRun(id string) (*runOutput, error) {
	was, err := s.runs.Get(id)
	if err != nil {
		return nil, refuseRun(err)
	}
	if was.Phase == run.Running && was.Recording != nil {
		s.endRecording(was)
	}
	r, err := s.runs.Stop(id)
	if err != nil {
		return nil, refuseRun(err)
	}
	if was.Phase != run.Running {
		return &runOutput{r}, nil
	}
	if rec, _, err := s.recorder(r.Pair); err == nil && rec.Status().Packets > 0 {
		err := keep(s.runs.CapturePath(id), func(f *os.File) error { return rec.Write(f, r.Begun, "run "+id) })
		if err == nil {
			err = s.runs.Captured(id)
		}
		if err != nil {
			s.Box.Tell(appliance.Event{Kind: appliance.KindStorage, Pair: r.Pair, Text: fmt.Sprintf("run %s: capture of its end not saved: %v", id, err)})
		}
		r.Capture = err == nil
	}
	return &runOutput{r}, nil
}

// keep makes a file and has it written, whole or not at all.
func keep(path string, write func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func (s *Server) deleteRun(ctx context.Context, in *RunInput) (*struct{}, error) {
	gate.Caller(ctx).Note.On = "run " + in.ID
	return nil, refuseRun(s.runs.Delete(in.ID))
}

func (s *Server) postMark(ctx context.Context, in *markInput) (*markOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On, w.Note.After = "run "+in.ID, in.Body.Text
	m, err := s.runs.Mark(in.ID, in.Body.Text, w.Name)
	if err != nil {
		return nil, refuseRun(err)
	}
	s.marked(in.ID, m.Text)
	s.hub.Publish("mark", MarkSaid{Run: in.ID, Mark: m})
	return &markOutput{m}, nil
}

// MarkSaid tells of a mark that was put into a run.
type MarkSaid struct {
	Run string `json:"run"`
	run.Mark
}

func (s *Server) runSamples(id string) (run.Run, []run.Dated, error) {
	r, err := s.runs.Get(id)
	if err != nil {
		return r, nil, refuseRun(err)
	}
	samples, err := s.runs.Samples(id)
	return r, samples, err
}

func (s *Server) getReport(_ context.Context, in *reportInput) (*huma.StreamResponse, error) {
	r, samples, err := s.runSamples(in.ID)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		media, err := "", error(nil)
		say := func(m, extension string) {
			media = m
			ctx.SetHeader("Content-Type", media)
			ctx.SetHeader("Content-Disposition", `inline; filename="farlink-`+r.ID+extension+`"`)
			// The report's own style, and nothing that runs.
			ctx.SetHeader("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		}
		switch in.Format {
		case "csv":
			say("text/csv; charset=utf-8", ".csv")
			err = run.WriteCSV(ctx.BodyWriter(), run.Columns(r.Pair, samples))
		case "junit":
			say("application/xml", ".xml")
			err = run.WriteJUnit(ctx.BodyWriter(), r)
		case "json":
			say(typeJSON, ".json")
			writeBody(ctx.BodyWriter(), r)
		default:
			say("text/html; charset=utf-8", ".html")
			err = run.WriteHTML(ctx.BodyWriter(), r, samples, s.Version)
		}
		if err != nil {
			s.Log.Debug("report", "run", r.ID, "error", err) // the client went
		}
	}}, nil
}

func (s *Server) getRunPcap(_ context.Context, in *RunInput) (*huma.StreamResponse, error) {
	r, err := s.runs.Get(in.ID)
	if err != nil {
		return nil, refuseRun(err)
	}
	b, err := os.ReadFile(s.runs.CapturePath(r.ID))
	if err != nil {
		return nil, problem.New(http.StatusNotFound, "no capture was kept of the run")
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		download(ctx, "farlink-"+r.ID+".pcapng")
		ctx.BodyWriter().Write(b)
	}}, nil
}

// running lists the runs that go on.
func (s *Server) running() []RunBrief {
	out := []RunBrief{}
	for _, r := range s.runs.List() {
		if r.Phase == run.Running {
			out = append(out, RunBrief{r.ID, r.Title, r.Pair, r.Begun})
		}
	}
	return out
}
