package box

import (
	"farlink/appliance"
	"farlink/pep/bundle"
)

// Multipath returns the state of the bundle of paths, with a page of the
// connections that it carries.
func (b *Box) Multipath(offset, most int) (appliance.MultipathState, error) {
	if b.relays == nil {
		return appliance.MultipathState{}, appliance.ErrNoMultipath
	}
	return b.relays.State(offset, most)
}

// ApplyMultipath makes want the one in force, all of it or nothing; connections
// that are go on as they began.
func (b *Box) ApplyMultipath(want bundle.Carriage, o appliance.Options) (appliance.MultipathState, error) {
	if b.relays == nil {
		return appliance.MultipathState{}, appliance.ErrNoMultipath
	}
	return b.relays.Apply(want, o)
}

// PatchMultipath lays a merge patch (RFC 7396) over what is wanted.
func (b *Box) PatchMultipath(patch []byte, o appliance.Options) (appliance.MultipathState, error) {
	if b.relays == nil {
		return appliance.MultipathState{}, appliance.ErrNoMultipath
	}
	return b.relays.Patch(patch, o)
}
