package offers

import (
	"cmp"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// A Tried is an offer, and whether it could be chosen.
type Tried struct {
	ship.Rate
	Word  string
	Class string
}

// droppedWords are the reasons for which an offer could not be chosen.
var droppedWords = map[string]string{
	"late":           "Too late",
	"over_limit":     "Above your price limit",
	"other_currency": "In another currency",
	"forbidden":      "Forbidden",
	"not_in_rule":    "Not listed in the rule",
	"guard":          "Outside the rule's limits",
	"unsupported":    "Does not offer",
}

// DroppedWord says why an offer could not be chosen.
func DroppedWord(dropped ship.Dropped) string {
	word := cmp.Or(droppedWords[dropped.Why], parts.Plain(dropped.Why))
	if dropped.Rule != "" && dropped.Why == "forbidden" {
		word += " by “" + dropped.Rule + "”"
	}
	if dropped.Why == "unsupported" {
		word += " " + dropped.Option.String()
	}
	return word
}
