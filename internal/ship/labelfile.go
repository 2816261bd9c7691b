package ship

import "time"

// A LabelFileID names a file of labels that is prepared in the background.
type LabelFileID string // lbf_

const labelFilePrefix = "lbf_"

// NewLabelFileID makes the id of a new file of labels.
func NewLabelFileID(shard Shard, at time.Time) LabelFileID {
	return LabelFileID(newText(shard, at, labelFilePrefix))
}

func (id LabelFileID) Raw() RawID { return raw(string(id), labelFilePrefix) }

func LabelFileIDOf(id RawID) LabelFileID { return LabelFileID(id.text(labelFilePrefix)) }

// ParseLabelFileID reads the id of a file of labels as an address carries it.
func ParseLabelFileID(s string) (LabelFileID, bool) {
	id, ok := parseID(s, labelFilePrefix)
	return LabelFileIDOf(id), ok
}
