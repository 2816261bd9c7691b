package ship

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A LocationID names a ship-from location.
type LocationID string // loc_

const locationPrefix = "loc_"

// NewLocationID makes the id of a new location.
func NewLocationID(shard Shard, at time.Time) LocationID {
	return LocationID(newText(shard, at, locationPrefix))
}

func (id LocationID) Raw() RawID { return raw(string(id), locationPrefix) }

func LocationIDOf(id RawID) LocationID { return LocationID(id.text(locationPrefix)) }

// ParseLocationID reads a location id as an address carries it.
func ParseLocationID(s string) (LocationID, bool) {
	id, ok := parseID(s, locationPrefix)
	return LocationIDOf(id), ok
}

// Limits of locations.
const (
	MaxLocations = 200 // of a tenant

	maxCutoffs             = 50
	maxLocationConnections = 50
)

// A Location is a place that a tenant ships from. What leaves from it has a copy
// of its address: a later change does not change what was bought.
type Location struct {
	ID          LocationID
	Name        string
	Address     Address
	Contact     Contact
	CutoffTimes []CutoffTime
	Connections []ConnectionID // the carrier accounts that are used from here; none means all
	IsDefault   bool           // parcels leave from here if a client does not say
}

// A Contact is whom a carrier asks for at a location.
type Contact struct {
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
	Email string `json:"email,omitempty"`
}

// A CutoffTime is until when parcels must be handed over at a location, in the
// time of the place.
type CutoffTime struct {
	Carrier string `json:"carrier,omitempty"` // empty is for all that have none of their own
	Time    string `json:"time"`              // "17:00"
}

// CutoffFor returns until when parcels of the carrier must be handed over, such as
// "17:00"; empty if the location does not say.
func (l Location) CutoffFor(carrier string) string {
	general := ""
	for _, cutoff := range l.CutoffTimes {
		switch cutoff.Carrier {
		case carrier:
			return cutoff.Time
		case "":
			general = cutoff.Time
		}
	}
	return general
}

// PickupAddress is the address for a driver, with the contact in place of the
// sender where the location has one.
func (l Location) PickupAddress() Address {
	address := l.Address
	if l.Contact.Name != "" {
		address.Name = l.Contact.Name
	}
	if l.Contact.Phone != "" {
		address.Phone = l.Contact.Phone
	}
	if l.Contact.Email != "" {
		address.Email = l.Contact.Email
	}
	return address
}

// Normalize returns the location as stored, or an Invalid error that lists its
// invalid fields.
func (l Location) Normalize() (Location, error) {
	c := checker{}
	l.Name = c.text("/name", l.Name, MaxName, true)

	address, invalid := l.Address.Normalize("/address")
	l.Address = address
	c.add(invalid...)

	contact := addressCheck{prefix: "/contact"}
	l.Contact.Name, _ = contact.text("name", l.Contact.Name, maxLine)
	l.Contact.Phone = contact.phone(l.Contact.Phone)
	l.Contact.Email = contact.email(l.Contact.Email)
	c.add(contact.errors...)

	l.CutoffTimes = c.cutoffTimes(l.CutoffTimes)
	if len(l.Connections) > maxLocationConnections {
		c.fail("/connections", "too_long", fmt.Sprintf("must have at most %d connections", maxLocationConnections))
	}
	l.Connections = withoutRepeats(l.Connections)
	return l, InvalidFields(c.errors)
}

// cutoffTimes returns the times as stored; the client's own are not touched.
func (c *checker) cutoffTimes(given []CutoffTime) []CutoffTime {
	if len(given) > maxCutoffs {
		c.fail("/cutoffTimes", "too_long", fmt.Sprintf("must have at most %d times", maxCutoffs))
		return given
	}

	list := slices.Clone(given)
	for i := range list {
		cutoff := &list[i]
		pointer := fmt.Sprintf("/cutoffTimes/%d", i)

		cutoff.Carrier = c.text(pointer+"/carrier", cutoff.Carrier, 50, false)
		cutoff.Time = strings.TrimSpace(cutoff.Time)
		if _, err := time.Parse("15:04", cutoff.Time); err != nil || len(cutoff.Time) != len("15:04") {
			c.fail(pointer+"/time", "invalid", "must be a time of day in 24 hours, such as 17:00")
		}
		if slices.ContainsFunc(list[:i], func(earlier CutoffTime) bool { return earlier.Carrier == cutoff.Carrier }) {
			c.fail(pointer+"/carrier", "duplicate", "has a cut-off time already")
		}
	}
	return list
}

func withoutRepeats(ids []ConnectionID) []ConnectionID {
	var list []ConnectionID
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// An OrderLocation is the location that an order leaves from: as the client named
// it, and, once it is found, with its name of that moment.
type OrderLocation struct {
	ID   LocationID `json:"id"`
	Name string     `json:"name,omitempty"`

	// Connections are the carrier accounts that may be asked from there; none
	// means all. They are read with the location and not stored.
	Connections []ConnectionID `json:"-"`
}

// LeaveFrom makes the order leave from a location: with a copy of its address.
func (o *Order) LeaveFrom(l Location) {
	o.Origin = l.Address
	o.Location = OrderLocation{ID: l.ID, Name: l.Name, Connections: l.Connections}
}

// NamesLocation reports whether the order names a location that is not found yet.
func (o *Order) NamesLocation() bool { return o.Location.ID != "" && o.Origin == (Address{}) }

// UnknownLocation is the error of a request that names a location which the tenant
// does not have; pointer is where.
func UnknownLocation(pointer string) error {
	err := Coded(Invalid, "unknown_location", "the account has no such location; GET /v1/locations lists them")
	err.Fields = []FieldError{{Pointer: pointer, Code: "unknown_location", Detail: "is not a location of this account"}}
	return err
}
