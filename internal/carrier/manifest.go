package carrier

import (
	"context"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// A ManifestScope says which labels a carrier's manifest covers.
type ManifestScope string

// The scopes.
const (
	NoManifest   ManifestScope = ""       // the carrier needs none; a hand-over sheet is printed instead
	ListedLabels ManifestScope = "labels" // those that are listed
	AllOfTheDay  ManifestScope = "day"    // all labels of the account and the day; none can be left out
)

// A Manifester closes manifests.
type Manifester interface {
	// CloseManifest hands the labels over. If the request may have reached the
	// carrier and no answer was read, the error must be of kind ship.Uncertain.
	// A carrier that says that it closed a manifest with these labels before is
	// a closing that Existed.
	CloseManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error)
}

// A ManifestFinder can look a closed manifest up.
type ManifestFinder interface {
	// FindManifest returns what was closed, or an error of kind ship.NotFound if
	// the labels are still open.
	FindManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error)
}

// ManifestScope returns which labels a manifest of the carrier covers.
func (c *Carrier) ManifestScope() ManifestScope {
	if _, ok := abilityOf[Manifester](c, "manifests"); !ok {
		return NoManifest
	}
	return c.spec.Manifest
}

// NeedsManifest reports whether labels of a service are handed over by a manifest of the
// carrier.
func (c *Carrier) NeedsManifest(service string) bool {
	if c.ManifestScope() == NoManifest {
		return false
	}
	return len(c.spec.ManifestServices) == 0 || slices.Contains(c.spec.ManifestServices, service)
}

// CanFindManifest reports whether a manifest whose answer was lost can be looked
// up. Where it cannot, closing again shows whether it was closed.
func (c *Carrier) CanFindManifest() bool {
	_, ok := abilityOf[ManifestFinder](c, "find_manifests")
	return ok
}

// CloseManifest hands labels over to the carrier.
func (c *Carrier) CloseManifest(ctx context.Context, order ship.ManifestOrder) (_ ship.ManifestClosing, err error) {
	manifester, ok := abilityOf[Manifester](c, "manifests")
	if !ok {
		return ship.ManifestClosing{}, c.errorf(ship.Unsupported, "%s has no manifests", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpManifest, c.Deadlines.Manifest)
	defer func() { done(err) }()
	closing, err := manifester.CloseManifest(ctx, order)
	if err != nil {
		return ship.ManifestClosing{}, c.explain(err, ship.Uncertain)
	}
	closing = storableClosing(closing)
	if closing.Number == "" && len(closing.Documents) == 0 && !closing.Existed {
		// The day may be closed, so this is not a plain failure.
		return ship.ManifestClosing{}, c.errorf(ship.Uncertain, "%s sent neither a number nor a form", c.spec.Title)
	}
	return closing, nil
}

// FindManifest returns the closed manifest, or an error of kind ship.NotFound if
// it is still open.
func (c *Carrier) FindManifest(ctx context.Context, order ship.ManifestOrder) (_ ship.ManifestClosing, err error) {
	finder, ok := abilityOf[ManifestFinder](c, "find_manifests")
	if !ok {
		return ship.ManifestClosing{}, c.errorf(ship.Unsupported, "%s cannot look up manifests", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpFind, c.Deadlines.Find)
	defer func() { done(err) }()
	closing, err := finder.FindManifest(ctx, order)
	if err != nil {
		return ship.ManifestClosing{}, c.explain(err, ship.Unavailable)
	}
	return storableClosing(closing), nil
}

// storableClosing returns what a carrier closed without what the database would
// refuse.
func storableClosing(closing ship.ManifestClosing) ship.ManifestClosing {
	closing.Number = plain(closing.Number)
	closing.Documents = plainDocuments(closing.Documents)
	return closing
}
