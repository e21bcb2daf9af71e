package entry

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/emulator/link"
)

// LeaseState says who may drive the box.
type LeaseState struct {
	Held      bool          `json:"held"`
	Holder    string        `json:"holder,omitempty" doc:"Token or user that holds the lease."`
	Purpose   string        `json:"purpose,omitempty"`
	Since     time.Time     `json:"since,omitzero"`
	Until     time.Time     `json:"until,omitzero" doc:"When it ends unless renewed."`
	Remaining float64       `json:"remaining_s,omitempty"`
	Waiters   []WaiterState `json:"waiters" doc:"Who waits for it, first in first out."`
}

// WaiterState is one who waits for the lease.
type WaiterState struct {
	Name    string    `json:"name"`
	Purpose string    `json:"purpose,omitempty"`
	Since   time.Time `json:"since"`
}

// LeaseWish asks for the lease.
type LeaseWish struct {
	Purpose string        `json:"purpose,omitempty" maxLength:"200" doc:"Why, for the others." example:"nightly regression"`
	TTL     link.Duration `json:"ttl,omitempty" doc:"How long it lasts unless renewed, 5s to 24h; 15m when not given." example:"15m"`
}

const leaseUsual = 15 * time.Minute

type leaseInput struct {
	Force bool `query:"force" doc:"Take it from another; needs scope admin."`
	Wait  bool `query:"wait" doc:"Join the queue when another holds it, and ask again within a minute to keep the place."`
	Body  LeaseWish
}

type leaseOutput struct {
	Status int
	Body   LeaseState
}

type releaseInput struct {
	Force bool `query:"force" doc:"Give back another's; needs scope admin."`
}

// Lease registers the operations of the lease.
func (e *Entry) Lease(a huma.API) {
	get := gate.Operation("get-lease", http.MethodGet, "/lease", access.Read, gate.Reads, "Who may drive the box")
	huma.Register(a, get, func(context.Context, *struct{}) (*leaseOutput, error) {
		return &leaseOutput{http.StatusOK, e.LeaseState()}, nil
	})
	put := gate.Operation("put-lease", http.MethodPut, "/lease", access.Drive, gate.Freely, "Take the lease, renew it, or wait for it")
	put.Description += " 202 says that you wait, 423 that another holds it."
	put.Errors = append(put.Errors, http.StatusLocked)
	huma.Register(a, put, e.putLease)
	remove := gate.Operation("delete-lease", http.MethodDelete, "/lease", access.Drive, gate.Freely, "Give the lease back, or the place in the queue")
	remove.Errors = append(remove.Errors, http.StatusLocked)
	huma.Register(a, remove, e.deleteLease)
}

// LeaseState says who may drive the box now.
func (e *Entry) LeaseState() LeaseState {
	l := e.Desk.Look()
	st := LeaseState{Held: l.Held(), Holder: l.Holder, Purpose: l.Purpose, Since: l.Since, Until: l.Until, Waiters: []WaiterState{}}
	if l.Held() {
		st.Remaining = l.Until.Sub(e.Now()).Seconds()
	}
	for _, w := range l.Waiters {
		st.Waiters = append(st.Waiters, WaiterState{w.Name, w.Purpose, w.Since})
	}
	return st
}

func (e *Entry) putLease(ctx context.Context, in *leaseInput) (*leaseOutput, error) {
	w := gate.Caller(ctx)
	ttl := time.Duration(in.Body.TTL)
	if ttl == 0 {
		ttl = leaseUsual
	}
	if ttl < access.LeaseMin || ttl > access.LeaseMost {
		return nil, problem.New(http.StatusUnprocessableEntity, "the lease cannot last that long",
			&huma.ErrorDetail{Location: "body.ttl", Message: "want 5s to 24h", Value: in.Body.TTL.String()})
	}
	if in.Force && !w.May(access.Admin) {
		return nil, problem.New(http.StatusForbidden, "taking the lease by force needs scope admin")
	}
	before := e.Desk.Look()
	l, ok := e.Desk.Take(w.Name, in.Body.Purpose, ttl, in.Wait, in.Force)
	w.Note.On, w.Note.Before, w.Note.After = "lease", before.Holder, l.Holder
	w.Note.Forced = in.Force && before.Held() && before.Holder != w.Name
	switch {
	case ok:
		return &leaseOutput{http.StatusOK, e.LeaseState()}, nil
	case in.Wait:
		return &leaseOutput{http.StatusAccepted, e.LeaseState()}, nil
	}
	return nil, problem.Leased(l)
}

func (e *Entry) deleteLease(ctx context.Context, in *releaseInput) (*leaseOutput, error) {
	w := gate.Caller(ctx)
	if in.Force && !w.May(access.Admin) {
		return nil, problem.New(http.StatusForbidden, "giving back another's lease needs scope admin")
	}
	before := e.Desk.Look()
	l, ok := e.Desk.Release(w.Name, in.Force)
	w.Note.On, w.Note.Before, w.Note.After = "lease", before.Holder, l.Holder
	w.Note.Forced = in.Force && before.Held() && before.Holder != w.Name
	if !ok && l.Held() {
		return nil, problem.Leased(l)
	}
	return &leaseOutput{http.StatusOK, e.LeaseState()}, nil
}
