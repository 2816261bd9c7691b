package ship

import "slices"

// SpendingLimits are what an API key, or a person in the dashboard, may buy. The
// amounts are about live purchases: others cost nothing.
type SpendingLimits struct {
	Daily       Money // in a day of UTC; zero for no limit
	PerPurchase Money // for one label; zero for no limit
	// ApprovalAbove is the price above which a person must approve a purchase
	// before anything is bought; zero for never. An amount of nothing in a
	// currency means every purchase.
	ApprovalAbove Money
	// Countries are those that parcels may be sent to, as ISO codes; none means
	// all.
	Countries []string
}

// IsLimited reports whether there is any limit.
func (l SpendingLimits) IsLimited() bool {
	none := Money{}
	return l.Daily != none || l.PerPurchase != none || l.ApprovalAbove != none || len(l.Countries) > 0
}

// AllowsCountry reports whether a parcel may be sent there.
func (l SpendingLimits) AllowsCountry(code string) bool {
	return len(l.Countries) == 0 || slices.Contains(l.Countries, code)
}
