package ship

import "time"

// A ManifestID names a manifest.
type ManifestID string // man_

const manifestPrefix = "man_"

// NewManifestID makes the id of a new manifest.
func NewManifestID(shard Shard, at time.Time) ManifestID {
	return ManifestID(newText(shard, at, manifestPrefix))
}

func (id ManifestID) Raw() RawID { return raw(string(id), manifestPrefix) }

func ManifestIDOf(id RawID) ManifestID { return ManifestID(id.text(manifestPrefix)) }

// ParseManifestID reads a manifest id as an address carries it.
func ParseManifestID(s string) (ManifestID, bool) {
	id, ok := parseID(s, manifestPrefix)
	return ManifestIDOf(id), ok
}

// A ManifestOrder lists labels that are handed over to a carrier together. It
// never changes after the manifest is created.
type ManifestOrder struct {
	Address  Address         `json:"address"`           // that the parcels leave from
	Location OrderLocation   `json:"location,omitzero"` // that the address is of; zero for none
	ShipDate Date            `json:"shipDate"`
	Labels   []ManifestLabel `json:"labels"`
}

// A ManifestLabel is a shipment on a manifest.
type ManifestLabel struct {
	Shipment ShipmentID `json:"shipment"`
	Service  string     `json:"service"` // the carrier's code, as in its Spec
	Numbers  []string   `json:"numbers"` // tracking numbers, of all pieces
}

// A ManifestClosing is what a carrier answered to a manifest.
type ManifestClosing struct {
	// Number is the carrier's of the manifest; empty if it has none.
	Number string `json:"number,omitempty"`
	// Documents are the carrier's forms. They are missing if the manifest was
	// closed, but the answer with them was lost.
	Documents []Document `json:"documents,omitempty"`
	// Excluded are labels that the carrier left out.
	Excluded []ManifestExclusion `json:"excluded,omitempty"`
	// Existed says that the carrier had closed a manifest with these labels
	// before. It is ours if an earlier answer was lost.
	Existed bool `json:"existed,omitempty"`
}

// A ManifestExclusion is a shipment that is not on a manifest.
type ManifestExclusion struct {
	Shipment ShipmentID `json:"shipment"`
	Reason   string     `json:"reason"` // one sentence
}
