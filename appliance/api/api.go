package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/entry"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/appliance/door"
	"farlink/appliance/experiment/shelf"
	"farlink/appliance/metrics"
	"farlink/appliance/page"
	"farlink/appliance/run"
	"farlink/appliance/stream"
	"farlink/ui"
)

// Base is the path under which the versioned operations stand.
const Base = gate.Base

const (
	headerMost = 16 << 10
	idleTime   = 2 * time.Minute
	workTime   = 20 * time.Second // for what the box is asked to do
)

// Config is what a server is made of.
type Config struct {
	Box     Box
	Keys    *access.Keyring
	Desk    *access.Desk  // nil makes one
	Audit   *access.Audit // nil keeps the log in memory
	Version string
	// Door is where the API is served, and for whom; nil is plain HTTP for
	// nobody without credentials, whose address is not the box's own matter.
	Door *door.Door
	// State is the state directory; "" keeps no captures and no runs.
	State string
	// Capture has captures armed from the start.
	Capture bool
	Log     *slog.Logger     // nil is silent
	Now     func() time.Time // nil is time.Now
}

// Server answers the requests. Run must go on while it does.
type Server struct {
	Config
	gate       *gate.Gate
	entry      *entry.Entry
	handler    http.Handler
	docs       *huma.OpenAPI
	hub        *stream.Hub
	past       run.History
	taps       recorders
	runs       *run.Keeper
	shelf      *shelf.Shelf
	previewing chan struct{} // one at a time
	counts     metrics.Counts
}

// New makes a server.
func New(c Config) (*Server, error) {
	if c.Box == nil || c.Keys == nil {
		return nil, errors.New("api: want a box and a keyring")
	}
	return build(c)
}

// OpenAPI returns the description of the API, OpenAPI 3.1 as YAML: what
// stands in docs/openapi.yaml.
func OpenAPI() ([]byte, error) {
	s, err := build(Config{})
	if err != nil {
		return nil, err
	}
	return s.docs.YAML()
}

func build(c Config) (*Server, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if c.Door == nil {
		c.Door = door.Still(door.Settings{Open: access.None.String(), TLS: "off"})
	}
	if c.Desk == nil {
		c.Desk = access.NewDesk(c.Now)
	}
	if c.Audit == nil {
		c.Audit, _ = access.OpenAudit("") // no file, no error
	}
	keptIn := ""
	if c.State != "" {
		keptIn = filepath.Join(c.State, "runs")
	}
	runs, err := run.Open(keptIn, c.Now)
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, runs: runs, previewing: make(chan struct{}, 1), hub: stream.New()}
	s.gate = &gate.Gate{Keys: c.Keys, Desk: c.Desk, Audit: c.Audit, Door: c.Door, Log: c.Log, Now: c.Now, Count: s.counts.Request, Wrote: s.hub.Kick}
	s.entry = &entry.Entry{Gate: s.gate}
	keptIn = ""
	if c.State != "" {
		keptIn = filepath.Join(c.State, "experiments")
	}
	if s.shelf, err = shelf.Open(keptIn, c.Version, func(st shelf.ExperimentState) { s.hub.Publish("experiment", st) }); err != nil {
		return nil, err
	}
	files, err := page.Read(ui.Files)
	if err != nil {
		return nil, fmt.Errorf("panel: %w", err)
	}
	r := router()
	s.describe(r)
	s.plain(r, files)
	s.handler = s.gate.Guard(r)
	return s, nil
}

// quiet does once what gin and huma keep in package variables.
var quiet = sync.OnceFunc(func() {
	gin.SetMode(gin.ReleaseMode)
	huma.DefaultArrayNullable = false
})

func router() *gin.Engine {
	quiet()
	r := gin.New()
	r.HandleMethodNotAllowed = true
	r.RedirectTrailingSlash = false
	r.UseRawPath = true
	r.NoRoute(func(c *gin.Context) {
		problem.Write(c.Writer, problem.New(http.StatusNotFound, "nothing stands at "+c.Request.URL.Path))
	})
	r.NoMethod(func(c *gin.Context) {
		problem.Write(c.Writer, problem.New(http.StatusMethodNotAllowed,
			fmt.Sprintf("%s is not possible here, but %s", c.Request.Method, c.Writer.Header().Get("Allow"))))
	})
	return r
}

// describe registers every operation.
func (s *Server) describe(r *gin.Engine) {
	hc := huma.DefaultConfig("farlink", "1")
	hc.Info.Description = "Satellite and cellular link emulator. Errors are problem details (RFC 9457)."
	hc.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	hc.Servers = []*huma.Server{{URL: Base}}
	hc.CreateHooks = nil
	hc.OpenAPIPath, hc.DocsPath, hc.SchemasPath = "", "", ""
	hc.RejectUnknownQueryParameters = true
	hc.Formats = formats()
	hc.Transformers = []huma.Transformer{problem.Finish(s.Log)}
	hc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "A token of the configuration or of /tokens."},
		"session": {Type: "apiKey", In: "cookie", Name: gate.SessionCookie, Description: "A session of the panel, begun at /session. At a host with a port the name ends in _PORT."},
	}
	a := humagin.NewWithGroup(r, r.Group(Base), hc)
	a.UseMiddleware(s.gate.Admit)
	s.statusOperations(a)
	s.profileOperations(a)
	s.linkOperations(a)
	s.pepOperations(a)
	s.multipathOperations(a)
	s.streamOperations(a)
	s.historyOperations(a)
	s.entry.Lease(a)
	s.captureOperations(a)
	s.runOperations(a)
	s.experimentOperations(a)
	s.previewOperations(a)
	s.entry.Sessions(a)
	s.entry.Tokens(a)
	s.entry.Settings(a)
	s.docs = a.OpenAPI()
	tidy(s.docs)
}

// tidy mends what huma writes otherwise than meant: a body that is wanted raw
// and checked is one of JSON all the same.
func tidy(docs *huma.OpenAPI) {
	for _, path := range []string{"/link", "/pep", "/multipath"} {
		body := docs.Paths[path].Patch.RequestBody
		delete(body.Content, "application/octet-stream")
		body.Content[typeJSON] = body.Content["application/merge-patch+json"]
		body.Required = true
	}
	docs.Paths["/preview"].Post.RequestBody.Content[typeTOML] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	body := docs.Paths["/profiles/{name}"].Put.RequestBody
	body.Content[typeTOML] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	body.Content[typeJSON] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject}}
	body.Required = true
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Serve answers the connections of l until ctx ends, then lets those under
// way finish for a moment.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	h := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: gate.BodyTime,
		ReadTimeout:       gate.BodyTime,
		WriteTimeout:      gate.AnswerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerMost,
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return gate.Begun(ctx)
		},
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		end() // streams and long polls end at once
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		stopped <- h.Shutdown(grace)
	}()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve API on %s: %w", l.Addr(), err)
	}
	return <-stopped
}

// plain registers what stands outside of /api/v1 and is not described.
func (s *Server) plain(r *gin.Engine, files page.Files) {
	yaml, err := s.docs.YAML()
	if err != nil { // cannot be: a test prints it
		panic(err)
	}
	r.GET(Base+"/openapi.yaml", func(c *gin.Context) { c.Data(http.StatusOK, "application/yaml", yaml) })
	r.GET("/metrics", s.gate.Readers, gin.WrapH(metrics.Handler(metrics.Source{
		State:     func() appliance.State { return s.Box.State() },
		PEP:       func(pair string) (appliance.PEPState, error) { return s.Box.PEP(pair) },
		Multipath: func() (appliance.MultipathState, error) { return s.Box.Multipath(0, 0) },
		Held:      func() bool { return s.Desk.Look().Held() },
		Streams:   s.hub.Load, Runs: s.runs.List, Counts: &s.counts})))
	r.GET("/healthz", gin.WrapF(s.healthz))
	r.GET("/readyz", gin.WrapF(s.readyz))
	for name, f := range files {
		r.GET(name, gin.WrapH(f))
		r.HEAD(name, gin.WrapH(f))
	}
}
