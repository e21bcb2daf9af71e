package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/entry"
	"farlink/appliance/api/gate"
)

// Status is the whole state of the box with the lease.
type Status struct {
	appliance.State
	Lease entry.LeaseState `json:"lease"`
	Runs  []RunBrief       `json:"runs" doc:"The runs that go on."`
}

type statusInput struct {
	Prefer      string `header:"Prefer" doc:"wait=SECONDS holds the answer back until the state differs from If-None-Match, at most 60." example:"wait=10"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of a state already known."`
}

type statusOutput struct {
	ETag    string `header:"ETag" doc:"Version of the state; counters alone do not change it."`
	Applied string `header:"Preference-Applied"`
	Body    Status
}

func (s *Server) statusOperations(a huma.API) {
	op := gate.Operation("get-status", http.MethodGet, "/status", access.Read, gate.Reads, "The whole state in one document")
	op.Description += " With Prefer: wait and If-None-Match it answers when the state changes (long poll), or 304."
	op.Metadata[gate.LongKey] = true
	huma.Register(a, op, s.getStatus)
}

func (s *Server) getStatus(ctx context.Context, in *statusInput) (*statusOutput, error) {
	wait, asked := waitOf(in.Prefer)
	status, tag, changed := s.look()
	if asked && in.IfNoneMatch != "" {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		for matches(in.IfNoneMatch, tag) {
			select {
			case <-changed:
				status, tag, changed = s.look()
				continue
			case <-timer.C:
			case <-ctx.Done():
			}
			break
		}
	}
	if matches(in.IfNoneMatch, tag) {
		return nil, huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"Etag": {quote(tag)}})
	}
	out := &statusOutput{ETag: quote(tag), Body: status}
	if asked {
		out.Applied = "wait=" + strconv.Itoa(int(wait/time.Second))
	}
	return out, nil
}

// look takes the state, its version, and a channel that is closed when the
// version changes. The channel is taken first, so that no change is missed.
func (s *Server) look() (Status, string, <-chan struct{}) {
	changed := s.hub.Changed()
	status := s.statusOf(s.Box.State())
	return status, version(status), changed
}

// statusOf adds what the API knows to a state of the box.
func (s *Server) statusOf(st appliance.State) Status {
	return Status{State: st, Lease: s.entry.LeaseState(), Runs: s.running()}
}

// version is a digest of what of the state is not a running figure.
func version(st Status) string {
	st.Now = time.Time{}
	st.Lease.Remaining = 0
	pairs := make([]appliance.PairState, len(st.Pairs))
	for i, p := range st.Pairs {
		p.Figures, p.Readings = nil, nil
		p.Checks = slices.Clone(p.Checks)
		for j := range p.Checks {
			p.Checks[j].Text = "" // counts on; the word does not
		}
		pairs[i] = p
	}
	st.Pairs = pairs
	st.Paths = slices.Clone(st.Paths)
	for i := range st.Paths {
		st.Paths[i].UpBytes, st.Paths[i].DownBytes = 0, 0
	}
	b, err := json.Marshal(st)
	if err != nil { // cannot be: the operation writes the same
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// waitOf reads "wait=10" out of a Prefer header (RFC 7240).
func waitOf(prefer string) (time.Duration, bool) {
	for part := range strings.SplitSeq(prefer, ",") {
		text, ok := strings.CutPrefix(strings.TrimSpace(part), "wait=")
		if !ok {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			continue
		}
		return min(time.Duration(min(n, 3600))*time.Second, gate.PollMost), true
	}
	return 0, false
}

// quote makes an ETag of a version.
func quote(version string) string { return `"` + version + `"` }

// matches reports whether an If-Match or If-None-Match names the version.
func matches(header, version string) bool {
	for part := range strings.SplitSeq(header, ",") {
		tag := strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if tag == "*" || strings.Trim(tag, `"`) == version && version != "" {
			return true
		}
	}
	return false
}

func writeBody(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(v) // the client may be gone; there is nobody to tell
}
