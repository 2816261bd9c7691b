package ship

import "time"

// A PickupID names a pickup.
type PickupID string // pik_

const pickupPrefix = "pik_"

// NewPickupID makes the id of a new pickup.
func NewPickupID(shard Shard, at time.Time) PickupID {
	return PickupID(newText(shard, at, pickupPrefix))
}

func (id PickupID) Raw() RawID { return raw(string(id), pickupPrefix) }

func PickupIDOf(id RawID) PickupID { return PickupID(id.text(pickupPrefix)) }

// ParsePickupID reads a pickup id as an address carries it.
func ParsePickupID(s string) (PickupID, bool) {
	id, ok := parseID(s, pickupPrefix)
	return PickupIDOf(id), ok
}

// A PickupOrder asks a carrier to collect parcels. It never changes after the
// pickup is created.
type PickupOrder struct {
	// Address is where the parcels are. Its name and phone are the contact's.
	Address Address `json:"address"`
	// Location is the one that the address is of; zero for none.
	Location OrderLocation `json:"location,omitzero"`
	// Window has the offset of the place: carriers are sent its wall time.
	Window       TimeWindow      `json:"window"`
	Parcels      []PickupParcels `json:"parcels"`
	WeightGrams  int64           `json:"grams,omitempty"` // of all; zero if unknown
	Instructions string          `json:"instructions,omitempty"`
	// TrackingNumbers are those of the parcels, as far as they are known.
	TrackingNumbers []string `json:"trackingNumbers,omitempty"`
}

// Count returns how many parcels are collected.
func (o PickupOrder) Count() int {
	sum := 0
	for _, parcels := range o.Parcels {
		sum += parcels.Count
	}
	return sum
}

// PickupParcels are parcels that are collected together.
type PickupParcels struct {
	Service string `json:"service,omitempty"` // the carrier's code, as in its Spec; empty if unknown
	Country string `json:"country,omitempty"` // that they go to; empty if unknown
	Count   int    `json:"count"`
}

// A TimeWindow is from when until when a driver may come.
type TimeWindow struct {
	ReadyAt time.Time `json:"readyAt"`
	CloseAt time.Time `json:"closeAt"`
}

// Date returns the day of the window at its place.
func (w TimeWindow) Date() Date { return Date(w.ReadyAt.Format(time.DateOnly)) }

// A PickupBooking is a pickup that a carrier confirmed.
type PickupBooking struct {
	// Confirmation is the carrier's number of it. It is empty if the carrier has
	// the pickup, but its answer with the number was lost.
	Confirmation string `json:"confirmation,omitempty"`
	// Details are what the driver needs besides the number to cancel the pickup.
	// Only the driver that booked reads them.
	Details string `json:"details,omitempty"`
	// Window is when the carrier comes; the zero value means as it was asked.
	Window TimeWindow `json:"window,omitzero"`
	Price  Money      `json:"price,omitzero"` // zero if unknown
	// Existed says that the carrier had a pickup at this place on this day and
	// booked no other. It is ours if an earlier answer was lost.
	Existed bool `json:"existed,omitempty"`
}
