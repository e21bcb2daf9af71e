package api

import (
	"context"

	"farlink/appliance"
	"farlink/appliance/box"
	"farlink/appliance/bus"
	"farlink/pep/bundle"
)

// Box is what the API drives: a box.Box, or anything that keeps its
// promises.
type Box interface {
	// State says what is; it is cheap enough for ten calls a second.
	State() appliance.State
	// Want says what was asked of a pair, and its version; "" names the
	// only pair.
	Want(pair string) (appliance.Want, string, error)
	// Apply makes want the pair's, all of it or nothing.
	Apply(ctx context.Context, pair string, want appliance.Want, o appliance.Options) (appliance.Applied, error)
	// Patch lays a merge patch (RFC 7396) over the pair's want.
	Patch(ctx context.Context, pair string, patch []byte, o appliance.Options) (appliance.Applied, error)
	// Disrupt begins a link event.
	Disrupt(ctx context.Context, pair string, d appliance.Disruption, by string) (appliance.Disruption, error)
	// PEP is the state of a pair's proxies.
	PEP(pair string) (appliance.PEPState, error)
	// ApplyPEP makes want the proxies', all of it or nothing.
	ApplyPEP(ctx context.Context, pair string, want appliance.PEP, o appliance.Options) (appliance.PEPState, error)
	// PatchPEP lays a merge patch (RFC 7396) over the want of the proxies.
	PatchPEP(ctx context.Context, pair string, patch []byte, o appliance.Options) (appliance.PEPState, error)
	// Splits lists split connections, as the proxy of a side sees them.
	Splits(pair, side string, offset, most int) ([]appliance.Split, int, error)
	// Multipath is the state of the bundle of paths, with a page of the
	// connections that it carries.
	Multipath(offset, most int) (appliance.MultipathState, error)
	// ApplyMultipath makes want the bundle's, all of it or nothing.
	ApplyMultipath(want bundle.Carriage, o appliance.Options) (appliance.MultipathState, error)
	// PatchMultipath lays a merge patch (RFC 7396) over the want of the bundle.
	PatchMultipath(patch []byte, o appliance.Options) (appliance.MultipathState, error)
	// Reset puts the box back to its boot state.
	Reset(ctx context.Context, by string) error
	// Engine is what drives a pair now, nil if nothing does.
	Engine(pair string) box.Engine
	// Subscribe gives events: those after an id, then those that come.
	Subscribe(after uint64) *bus.Subscription
	// Hosts are the ends of the traffic that a pair makes itself.
	Hosts(pair string) (appliance.HostsConfig, error)
	// Tell makes an event known.
	Tell(e appliance.Event)

	// Profiles lists the profiles by name.
	Profiles() ([]appliance.ProfileInfo, error)
	// Profile returns the document of a profile, as TOML.
	Profile(name string) ([]byte, error)
	// PutProfile checks a document and stores it as a profile of the user.
	PutProfile(name string, doc []byte, isJSON bool, o appliance.Options) (appliance.ProfileInfo, error)
	// DeleteProfile removes a profile of the user.
	DeleteProfile(name string, o appliance.Options) error
}
