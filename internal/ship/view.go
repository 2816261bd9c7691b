package ship

import "time"

// A ViewID names a saved view of the list of shipments.
type ViewID string // viw_

const viewPrefix = "viw_"

// NewViewID makes the id of a new saved view.
func NewViewID(shard Shard, at time.Time) ViewID { return ViewID(newText(shard, at, viewPrefix)) }

func (id ViewID) Raw() RawID { return raw(string(id), viewPrefix) }

func ViewIDOf(id RawID) ViewID { return ViewID(id.text(viewPrefix)) }

// ParseViewID reads the id of a saved view as an address carries it.
func ParseViewID(s string) (ViewID, bool) {
	id, ok := parseID(s, viewPrefix)
	return ViewIDOf(id), ok
}
