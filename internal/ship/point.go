package ship

// A PointQuery looks for service points near a place.
type PointQuery struct {
	Country string
	Zip     string
	City    string
	Limit   int
}

// A ServicePoint is a place where parcels are handed in or collected: a shop, a
// locker, a post office.
type ServicePoint struct {
	ID        string // the carrier's, for Options.ServicePoint
	Name      string
	Address   Address
	DistanceM int64 // metres from the place; negative if unknown
	Hours     []PointHours
	Abilities []string // of PointAbilities
	Latitude  float64  // both zero if unknown
	Longitude float64
	IsLocker  bool
}

// PointAbilities are what a service point can do.
var PointAbilities = []string{"collect", "hand_in", "returns"}

// PointHours are when a service point is open on a day of the week.
type PointHours struct {
	Day   string // "monday"
	Open  string // "09:00"
	Close string // "18:30"
}
