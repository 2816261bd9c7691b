package ship

import (
	"strings"
	"time"
)

// Personal data: what an erasure removes from a shipment, and the ids of those
// who ask for it. Cities, states, postal codes and countries stay, because
// rules, zones and statistics need them; so do amounts, numbers and times.

// An ErasureID names an erasure of personal data; an ExportID, a file with what
// is held about a person.
type (
	ErasureID string // ers_
	ExportID  string // exp_
)

const (
	erasurePrefix = "ers_"
	exportPrefix  = "exp_"
)

// NewErasureID makes the id of a new erasure.
func NewErasureID(shard Shard, at time.Time) ErasureID {
	return ErasureID(newText(shard, at, erasurePrefix))
}

// NewExportID makes the id of a new export.
func NewExportID(shard Shard, at time.Time) ExportID {
	return ExportID(newText(shard, at, exportPrefix))
}

func (id ErasureID) Raw() RawID { return raw(string(id), erasurePrefix) }
func (id ExportID) Raw() RawID  { return raw(string(id), exportPrefix) }

func ErasureIDOf(id RawID) ErasureID { return ErasureID(id.text(erasurePrefix)) }
func ExportIDOf(id RawID) ExportID   { return ExportID(id.text(exportPrefix)) }

// ParseErasureID reads the id of an erasure as a client writes it.
func ParseErasureID(s string) (ErasureID, bool) {
	id, ok := parseID(s, erasurePrefix)
	return ErasureIDOf(id), ok
}

// ParseExportID reads the id of an export as a client writes it.
func ParseExportID(s string) (ExportID, bool) {
	id, ok := parseID(s, exportPrefix)
	return ExportIDOf(id), ok
}

// WithoutPersonalData returns the address without the person: the area stays,
// and what kind of address it is.
func (a Address) WithoutPersonalData() Address {
	return Address{
		City:        a.City,
		State:       a.State,
		Zip:         a.Zip,
		Country:     a.Country,
		Residential: a.Residential,
		Type:        a.Type,
	}
}

// WithoutPersonalData returns the order without people: no names, streets,
// phones, e-mails, tax numbers or payer's account. The metadata goes too,
// because it is the client's own and may hold anything.
func (o Order) WithoutPersonalData() Order {
	o.Origin = o.Origin.WithoutPersonalData()
	o.Destination = o.Destination.WithoutPersonalData()
	o.Options.ServicePoint = "" // it says where a person collects parcels
	o.Metadata = nil

	if o.Billing != nil {
		billing := *o.Billing
		billing.Account = ""
		o.Billing = &billing
	}
	if o.Customs != nil {
		customs := *o.Customs
		customs.Signer = ""
		customs.TaxIDs = nil
		customs.TaxIdentifiers = nil
		o.Customs = &customs
	}
	return o
}

// WithoutPersonalData returns the pickup without people: of its place, the area stays.
func (o PickupOrder) WithoutPersonalData() PickupOrder {
	o.Address = o.Address.WithoutPersonalData()
	o.Instructions = ""
	return o
}

// WithoutPersonalData returns the purchase without the texts of carriers, which
// may quote an address.
func (p Purchase) WithoutPersonalData() Purchase {
	p.Warnings = nil
	if len(p.Routing.Failed) > 0 {
		failed := make([]FailedOffer, len(p.Routing.Failed))
		for i, offer := range p.Routing.Failed {
			offer.Message = ""
			failed[i] = offer
		}
		p.Routing.Failed = failed
	}
	return p
}

// WithoutPersonalData returns the snapshot without the texts of carriers.
func (s Snapshot) WithoutPersonalData() Snapshot {
	if s.Purchase != nil {
		purchase := s.Purchase.WithoutPersonalData()
		s.Purchase = &purchase
	}
	if s.Scan != nil && !(Scan{Code: s.Scan.Code}).isOwn() {
		scan := *s.Scan
		scan.Description = scan.Status.Text()
		s.Scan = &scan
	}
	return s
}

// WithoutPersonalData returns the scan with a text of our own: carriers write
// the name of whoever signed for a parcel into theirs.
func (s Scan) WithoutPersonalData() Scan {
	if !s.isOwn() {
		s.Description = s.Status.Text()
	}
	return s
}

// Text returns the status in plain words, for scans whose own text was erased.
func (s Status) Text() string {
	switch s {
	case Created:
		return "Shipment created"
	case LabelGenerated:
		return "Label generated"
	case PickedUp:
		return "Picked up"
	case InTransit:
		return "In transit"
	case OutForDelivery:
		return "Out for delivery"
	case Delivered:
		return "Delivered"
	case Exception:
		return "Delivery exception"
	}
	return "Tracking update"
}

// A Person says whose data an erasure or an export is about: exactly one field
// is set. A shipment stands for the people in it.
type Person struct {
	Email    string
	Phone    string
	Shipment ShipmentID
}

// NormalizePerson returns the person as people are compared, and the invalid
// fields.
func NormalizePerson(p Person) (Person, []FieldError) {
	check := addressCheck{}
	p.Email = strings.ToLower(check.email(p.Email))
	p.Phone = check.phone(p.Phone)

	given := 0
	for _, value := range []string{p.Email, p.Phone, string(p.Shipment)} {
		if value != "" {
			given++
		}
	}
	if given != 1 && len(check.errors) == 0 {
		check.errors = append(check.errors, FieldError{Code: "invalid", Detail: "exactly one of these fields must be given"})
	}
	return p, check.errors
}

// Kind names the field that is set: "email", "phone" or "shipment".
func (p Person) Kind() string {
	switch {
	case p.Email != "":
		return "email"
	case p.Phone != "":
		return "phone"
	}
	return "shipment"
}

// PhoneDigits returns the digits by which phone numbers are compared: without
// punctuation and without zeros at the front, which stand for a prefix.
func PhoneDigits(phone string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone)
	return strings.TrimLeft(digits, "0")
}

// minNational is the fewest digits at which a number without its country code
// is compared with one that has it.
const minNational = 8

// SamePhone reports whether two phone numbers are one: they have the same
// digits, or one of them is the other behind a country code.
func SamePhone(a, b string) bool {
	long := PhoneDigits(a)
	short := PhoneDigits(b)
	if len(long) < len(short) {
		long, short = short, long
	}
	if long == short {
		return short != ""
	}
	return len(short) >= minNational && len(long)-len(short) <= 3 && strings.HasSuffix(long, short)
}

// Is reports whether the address is the person's.
func (a Address) Is(p Person) bool {
	switch {
	case p.Email != "":
		return strings.EqualFold(a.Email, p.Email)
	case p.Phone != "":
		return SamePhone(a.Phone, p.Phone)
	}
	return false
}

// PersonalTerms returns the texts by which the address is recognized in the
// texts of others, such as a push of a carrier: those that are long enough not
// to be found by chance.
func (a Address) PersonalTerms() []string {
	var terms []string
	add := func(text string, shortest int) {
		if len(text) >= shortest {
			terms = append(terms, text)
		}
	}
	add(a.Email, 6)
	add(a.Phone, 7)
	add(a.Name, 5)
	add(a.Address1, 7)
	return terms
}
