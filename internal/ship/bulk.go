package ship

import "time"

// A BulkActionID names an action on many shipments.
type BulkActionID string // blk_

const bulkActionPrefix = "blk_"

// NewBulkActionID makes the id of a new bulk action.
func NewBulkActionID(shard Shard, at time.Time) BulkActionID {
	return BulkActionID(newText(shard, at, bulkActionPrefix))
}

func (id BulkActionID) Raw() RawID { return raw(string(id), bulkActionPrefix) }

func BulkActionIDOf(id RawID) BulkActionID { return BulkActionID(id.text(bulkActionPrefix)) }

// ParseBulkActionID reads the id of a bulk action as an address carries it.
func ParseBulkActionID(s string) (BulkActionID, bool) {
	id, ok := parseID(s, bulkActionPrefix)
	return BulkActionIDOf(id), ok
}
