package dhlparcelde

import (
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// taxOrder is which number of a party is sent: DHL has room for one, without its
// type. A number of a simplified import scheme decides who pays the tax.
var taxOrder = []string{"ioss", "voec", "eori", "vat", "ein", "gst", "other"}

// taxNumber returns the number of the first of the parties that has one.
func taxNumber(customs *ship.Customs, parties ...string) string {
	best, rank := "", len(taxOrder)+1
	for _, id := range customs.TaxNumbers() {
		if !slices.Contains(parties, id.Party) || fitting(id.Number, maxReference) == "" {
			continue
		}
		place := slices.Index(taxOrder, id.Type)
		if place < 0 {
			place = len(taxOrder)
		}
		if place < rank {
			best, rank = id.Number, place
		}
	}
	return best
}
