package ship

// A LandedCost is what a recipient pays to customs, as a carrier estimates it.
// Amounts of one estimate can be in several currencies, so they are not added up.
type LandedCost struct {
	Charges    []LandedCharge
	Guaranteed bool // the carrier bears the difference
	Messages   []string
}

// A LandedCharge is a duty, a tax or a fee.
type LandedCharge struct {
	Type   string // "duty", "tax" or "fee"
	Name   string // in the carrier's words: "VAT"
	Item   int    // of the declaration, from 0; -1 for the shipment as a whole
	Amount Money
}
