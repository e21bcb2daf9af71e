package entry

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"farlink/appliance"
	"farlink/appliance/access"
	"farlink/appliance/api/gate"
	"farlink/appliance/api/problem"
	"farlink/appliance/door"
)

// SettingsChange changes some of the settings; what is not given stays.
type SettingsChange struct {
	Listen       *string   `json:"listen,omitempty" maxLength:"100" doc:"Address and port of API and panel." example:"192.0.2.2:8443"`
	AllowedHosts *[]string `json:"allowed_hosts,omitempty" maxItems:"100" doc:"Names by which the box may be called, besides addresses, localhost and the machine's own name."`
	Open         *string   `json:"open,omitempty" enum:"none,read,drive" doc:"What a caller without a token or login may do."`
	TLS          *string   `json:"tls,omitempty" enum:"off,self,own" doc:"How API and panel are served."`
}

// CertificateWish is a certificate with its key.
type CertificateWish struct {
	Certificate string `json:"certificate" maxLength:"100000" doc:"PEM; the certificates of its issuers may follow."`
	Key         string `json:"key" maxLength:"20000" doc:"PEM, without a passphrase. It is never shown again."`
}

type settingsOutput struct{ Body door.SettingsState }

type settingsInput struct {
	DryRun bool `query:"dry_run" doc:"Check the change, make none."`
	Body   SettingsChange
}

type certificateInput struct{ Body CertificateWish }

// Settings registers the operations of where and how the API is served.
func (e *Entry) Settings(a huma.API) {
	huma.Register(a, gate.Operation("get-settings", http.MethodGet, "/settings", access.Admin, gate.Reads, "Where and how the API is served"),
		func(context.Context, *struct{}) (*settingsOutput, error) { return &settingsOutput{e.Door.Look()}, nil })

	patch := gate.Operation("patch-settings", http.MethodPatch, "/settings", access.Admin, gate.Freely, "Change where and how the API is served")
	patch.Description += " In force at once, and kept in the state directory, where it goes before the configuration. A new address or TLS is on trial: unless somebody with scope admin comes in there within a minute, it goes back."
	patch.Errors = append(patch.Errors, http.StatusConflict)
	huma.Register(a, patch, e.patchSettings)

	reset := gate.Operation("delete-settings", http.MethodDelete, "/settings", access.Admin, gate.Freely, "Serve the API as the configuration says")
	reset.Errors = patch.Errors
	huma.Register(a, reset, e.resetSettings)

	huma.Register(a, gate.Operation("put-certificate", http.MethodPut, "/settings/certificate", access.Admin, gate.Freely, "Upload a certificate for TLS own"),
		e.putCertificate)
}

func (e *Entry) patchSettings(ctx context.Context, in *settingsInput) (*settingsOutput, error) {
	w := gate.Caller(ctx)
	was := e.Door.Look().Settings
	want := was
	lay(&want.Listen, in.Body.Listen)
	lay(&want.AllowedHosts, in.Body.AllowedHosts)
	lay(&want.Open, in.Body.Open)
	lay(&want.TLS, in.Body.TLS)
	w.Note.On, w.Note.Before, w.Note.After = "settings", was, want
	if in.DryRun {
		w.Note.What = gate.DryRun
	}
	state, err := e.Door.Move(want, in.DryRun)
	return &settingsOutput{state}, refuseSettings(err)
}

// lay lays what is given over what is.
func lay[T any](over, given *T) {
	if given != nil {
		*over = *given
	}
}

func (e *Entry) resetSettings(ctx context.Context, _ *struct{}) (*settingsOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On, w.Note.Before = "settings", e.Door.Look().Settings
	state, err := e.Door.Reset()
	w.Note.After = state.Settings
	return &settingsOutput{state}, refuseSettings(err)
}

func (e *Entry) putCertificate(ctx context.Context, in *certificateInput) (*settingsOutput, error) {
	w := gate.Caller(ctx)
	w.Note.On = "certificate"
	if c := e.Door.Look().Certificate; c != nil {
		w.Note.Before = c.Fingerprint
	}
	state, err := e.Door.Upload(in.Body.Certificate, in.Body.Key)
	if err != nil {
		var bad appliance.Problems
		if errors.As(err, &bad) {
			for i := range bad { // nobody wants his key back in an error
				bad[i].Got = "what was sent"
			}
			err = bad
		}
		return nil, refuseSettings(err)
	}
	w.Note.After = state.Certificate.Fingerprint
	return &settingsOutput{state}, nil
}

func refuseSettings(err error) error {
	if errors.Is(err, door.ErrTrial) {
		return problem.Named("trial", http.StatusConflict, err.Error())
	}
	return problem.Refuse(err, "body")
}
