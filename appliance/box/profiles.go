package box

import (
	"farlink/appliance"
)

// Profiles lists the profiles of the box, shipped and the user's, by name.
func (b *Box) Profiles() ([]appliance.ProfileInfo, error) { return b.library.List() }

// Profile returns the document of a profile, as TOML.
func (b *Box) Profile(name string) ([]byte, error) {
	_, doc, err := b.library.Lookup(name)
	return doc, err
}

// PutProfile checks a document, TOML or JSON, and stores it as the profile
// called name. Every problem is in the error.
func (b *Box) PutProfile(name string, doc []byte, isJSON bool, o appliance.Options) (appliance.ProfileInfo, error) {
	return b.library.Put(name, doc, isJSON, o)
}

// DeleteProfile removes a profile of the user that no pair refers to.
func (b *Box) DeleteProfile(name string, o appliance.Options) error {
	return b.library.Delete(name, b.userOf, o)
}

// userOf is the pair that refers to a profile, "" if none does.
func (b *Box) userOf(profile string) string {
	for _, p := range b.State().Pairs {
		for _, link := range p.Want.Names() {
			if l, _ := p.Want.Named(link); l.Profile == profile {
				return p.Name
			}
		}
	}
	return ""
}
