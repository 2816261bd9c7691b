package ship

import "time"

// A BatchID names a file of orders; a BoxID, a saved box.
type (
	BatchID string // bat_
	BoxID   string // box_
)

const (
	batchPrefix = "bat_"
	boxPrefix   = "box_"
)

// NewBatchID makes the id of a new batch.
func NewBatchID(shard Shard, at time.Time) BatchID { return BatchID(newText(shard, at, batchPrefix)) }

// NewBoxID makes the id of a new box.
func NewBoxID(shard Shard, at time.Time) BoxID { return BoxID(newText(shard, at, boxPrefix)) }

func (id BatchID) Raw() RawID { return raw(string(id), batchPrefix) }
func (id BoxID) Raw() RawID   { return raw(string(id), boxPrefix) }

func BatchIDOf(id RawID) BatchID { return BatchID(id.text(batchPrefix)) }
func BoxIDOf(id RawID) BoxID     { return BoxID(id.text(boxPrefix)) }

// ParseBatchID reads a batch id as an address carries it.
func ParseBatchID(s string) (BatchID, bool) {
	id, ok := parseID(s, batchPrefix)
	return BatchIDOf(id), ok
}

// ParseBoxID reads a box id as a form carries it.
func ParseBoxID(s string) (BoxID, bool) {
	id, ok := parseID(s, boxPrefix)
	return BoxIDOf(id), ok
}
