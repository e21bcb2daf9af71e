package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/appliance/experiment"
	"farlink/appliance/experiment/shelf"
	"farlink/appliance/traffic"
)

// ExperimentWish begins an experiment, goes on with it, or stops it.
type ExperimentWish struct {
	Shipped  string `json:"shipped,omitempty" doc:"Name of one that comes with farlink." example:"geo-web"`
	Document string `json:"document,omitempty" maxLength:"100000" doc:"Or one of your own, as TOML (docs/bench.md). Without either the one of that id goes on."`
	Quick    bool   `json:"quick,omitempty" doc:"See whether it works: one profile, one repetition, 3 s each, nothing expected."`
	Phase    string `json:"phase,omitempty" enum:"running,stopped" doc:"running when not given."`
}

// Experiments are those that are kept, and those that come with farlink.
type Experiments struct {
	Experiments []shelf.ExperimentState `json:"experiments" doc:"The newest first."`
	Shipped     []ShippedExperiment     `json:"shipped"`
}

// ShippedExperiment is an experiment that comes with farlink.
type ShippedExperiment struct {
	Name   string  `json:"name"`
	About  string  `json:"about"`
	Cells  int     `json:"cells" doc:"How many measurements it has."`
	Length float64 `json:"length_s" doc:"About how long it takes."`
}

type experimentsOutput struct{ Body Experiments }

type experimentOutput struct{ Body shelf.ExperimentState }

// ExperimentInput names an experiment.
type ExperimentInput struct {
	ID string `path:"id" maxLength:"64" doc:"Id of the experiment, chosen by who begins it." example:"nightly"`
}

type putExperimentInput struct {
	PairInput
	ExperimentInput
	DryRun bool `query:"dry_run" doc:"Check the document, begin nothing."`
	Body   ExperimentWish
}

type experimentReportInput struct {
	ExperimentInput
	Format string `query:"format" enum:"html,json,csv,junit" default:"html" doc:"html is one file that needs nothing else; csv has a row for each cell."`
}

func (s *Server) experimentOperations(a huma.API) {
	huma.Register(a, gate.Operation("list-experiments", http.MethodGet, "/experiments", access.Read, gate.Reads, "All experiments, and those that come with farlink"),
		func(context.Context, *struct{}) (*experimentsOutput, error) {
			return &experimentsOutput{Experiments{s.shelf.List(), shippedExperiments()}}, nil
		})

	get := gate.Operation("get-experiment", http.MethodGet, "/experiments/{id}", access.Read, gate.Reads, "One experiment, and how far it is")
	get.Errors = append(get.Errors, http.StatusNotFound)
	huma.Register(a, get, func(_ context.Context, in *ExperimentInput) (*experimentOutput, error) {
		state, err := s.shelf.Get(in.ID)
		return &experimentOutput{state}, refuseExperiment(err)
	})

	put := gate.Operation("put-experiment", http.MethodPut, "/experiments/{id}", access.Drive, gate.UnderLease, "Begin an experiment, go on with it, or stop it")
	put.Description += " The box makes the traffic itself, between the hosts that the configuration gives the pair; it takes the lease in the caller's name, and puts everything back in the end. The same request twice is the same as once. Each cell is kept at once, so that one that was stopped, by whatever, goes on where it was."
	put.Errors = append(put.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, put, s.putExperiment)

	remove := gate.Operation("delete-experiment", http.MethodDelete, "/experiments/{id}", access.Drive, gate.UnderLease, "Remove an experiment with all that it found")
	remove.Errors = append(remove.Errors, http.StatusNotFound, http.StatusConflict)
	huma.Register(a, remove, s.deleteExperiment)

	report := gate.Operation("get-experiment-report", http.MethodGet, "/experiments/{id}/report", access.Read, gate.Reads, "What an experiment found, as a report")
	report.Description += " It is there once the experiment has ended or was stopped."
	report.Errors = get.Errors
	report.Responses = map[string]*huma.Response{"200": {Description: "The report.", Content: map[string]*huma.MediaType{
		"text/html": text, "text/csv": text, "application/xml": text, typeJSON: {Schema: &huma.Schema{Type: huma.TypeObject}}}}}
	huma.Register(a, report, s.getExperimentReport)
}

// shippedExperiments reads those that come with farlink.
func shippedExperiments() (all []ShippedExperiment) {
	for _, name := range experiment.Names() {
		doc, _ := experiment.Shipped(name)
		if e, _ := experiment.ParseBoxed([]byte(doc), nil); e != nil {
			cells := e.Cells()
			all = append(all, ShippedExperiment{name, e.About, len(cells), e.Length(cells).Seconds()})
		}
	}
	return all
}

// refuseExperiment turns an error of the shelf into a problem.
func refuseExperiment(err error) error {
	var bad shelf.Problems
	switch {
	case errors.As(err, &bad):
		return problem.Refuse(appliance.Problems(bad), "body.document")
	case errors.Is(err, shelf.ErrNone):
		return problem.New(http.StatusNotFound, err.Error(), &huma.ErrorDetail{Location: "path.id", Message: "want an id of /experiments"})
	case errors.Is(err, shelf.ErrID):
		return problem.New(http.StatusUnprocessableEntity, "the experiment's id does not do", &huma.ErrorDetail{Location: "path.id", Message: err.Error()})
	case errors.Is(err, shelf.ErrBusy), errors.Is(err, shelf.ErrRunning), errors.Is(err, shelf.ErrExists), errors.Is(err, shelf.ErrEnded),
		errors.Is(err, shelf.ErrMany), errors.Is(err, shelf.ErrNowhere):
		return problem.Named("experiment", http.StatusConflict, err.Error())
	}
	return problem.Refuse(err, "body")
}

func (s *Server) putExperiment(ctx context.Context, in *putExperimentInput) (*experimentOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On, w.Note.After = "experiment "+in.ID, in.Body
	if in.DryRun {
		w.Note.What = gate.DryRun
	}
	if in.Body.Phase == string(shelf.Stopped) {
		state, err := s.shelf.Stop(in.ID)
		return &experimentOutput{state}, refuseExperiment(err)
	}
	wish := shelf.Wish{ID: in.ID, Pair: in.Pair, By: w.Name, Text: in.Body.Document, Quick: in.Body.Quick, Known: s.hasProfile}
	if was, err := s.shelf.Get(in.ID); err == nil {
		wish.Pair = was.Pair
	}
	if in.Body.Shipped != "" {
		var ok bool
		if wish.Text, ok = experiment.Shipped(in.Body.Shipped); !ok || in.Body.Document != "" {
			return nil, problem.New(http.StatusUnprocessableEntity, "which experiment is meant", &huma.ErrorDetail{Location: "body.shipped",
				Message: "want one that comes with farlink, and no document beside it", Value: in.Body.Shipped})
		}
	}
	if in.DryRun {
		_, err := shelf.Check(wish.Text, wish.Quick, wish.Known)
		return &experimentOutput{}, refuseExperiment(err)
	}
	place, err := s.place(wish.Pair, w.Caller)
	if err != nil {
		return nil, err
	}
	state, err := s.shelf.Begin(ctx, wish, place)
	if errors.Is(err, shelf.ErrNone) {
		err = shelf.Problems{{Got: "nothing", Want: "a document, or in shipped the name of one that comes with farlink"}}
	}
	return &experimentOutput{state}, refuseExperiment(err)
}

func (s *Server) hasProfile(name string) bool {
	_, _, err := s.profile(name)
	return err == nil
}

// place is where the box makes experiments: between the hosts that the
// configuration gives the pair, over the box's own API in the caller's name.
func (s *Server) place(pair string, by access.Caller) (p experiment.Place, err error) {
	ends, err := s.Box.Hosts(pair)
	if err != nil {
		return p, problem.Refuse(err, "query")
	}
	if ends.A.Address == "" || ends.B.Address == "" {
		return p, problem.Named("no-hosts", http.StatusConflict, "the configuration gives the pair no hosts between which the box could make traffic; "+
			"add pairs.hosts, or use `farlink run FILE --api` from a machine that reaches both sides")
	}
	return experiment.Place{Box: inside{s, by}, Pair: pair, Shared: true, Hosts: traffic.Hosts{
		A: traffic.Host{Address: ends.A.Address, Netns: ends.A.Netns}, B: traffic.Host{Address: ends.B.Address, Netns: ends.B.Netns}}}, nil
}

func (s *Server) deleteExperiment(ctx context.Context, in *ExperimentInput) (*struct{}, error) {
	gate.Caller(ctx).Note.On = "experiment " + in.ID
	return nil, refuseExperiment(s.shelf.Delete(in.ID))
}

// reportFiles are the files and media types of the formats.
var reportFiles = map[string]struct{ file, media string }{
	"html": {"report.html", "text/html; charset=utf-8"}, "csv": {"cells.csv", "text/csv; charset=utf-8"},
	"json": {"results.json", typeJSON}, "junit": {"junit.xml", "application/xml"},
}

func (s *Server) getExperimentReport(_ context.Context, in *experimentReportInput) (*huma.StreamResponse, error) {
	f := reportFiles[in.Format]
	b, err := s.shelf.Report(in.ID, f.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, problem.New(http.StatusNotFound, "the report is written when the experiment has ended or was stopped")
	}
	if err != nil {
		return nil, refuseExperiment(err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", f.media)
		ctx.SetHeader("Content-Disposition", `inline; filename="farlink-`+in.ID+"-"+f.file+`"`)
		// The report's own style, and nothing that runs.
		ctx.SetHeader("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
		ctx.BodyWriter().Write(b)
	}}, nil
}
