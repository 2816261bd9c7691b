package carrier

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Spec describes a carrier. It is a value, listed in package all; importing
// a carrier has no side effect.
type Spec struct {
	Name       string // "ups": stored, in URLs, never changes
	Title      string // "UPS"
	Plugin     bool   // its driver is a program of its own, which the operator registered
	Revision   int    // of a plug-in: counts how often it was registered
	Retired    bool   // what was bought is settled and voided; it cannot be connected any more
	Mark       Mark   // its colours in the dashboard
	LiveURL    string // the carrier's API, without a slash at its end; empty for a simulated carrier
	TestURL    string // its own sandbox
	Fields     []Field
	Services   []Service
	Packagings []Packaging
	Origins    []string      // the countries that parcels can be sent from; empty for a carrier of every country
	Extras     Extras        // which services can do which options of a shipment
	Formats    []string      // of labels as the carrier sends them, the usual first: "gif", "zpl"
	Address    AddressLimits // what it can print
	// AddressCoverage says where it can check addresses.
	AddressCoverage AddressCoverage
	Quota           Quota     // how many calls an account may make
	Deadlines       Deadlines // how long its operations may take; what is zero has the default
	TrackBatch      int       // numbers in one call of Track; 0 means 1
	// SubscribeBatch is how many numbers one call of Subscribe takes; 0 if it
	// subscribes to the account as a whole.
	SubscribeBatch int
	// OnePickupPerPlace says that booking the same pickup again does not make a
	// second one: the carrier returns the first, or says that it exists.
	OnePickupPerPlace bool
	// ReturnsBilledOn says when the carrier charges for a return label: when it
	// is bought, or when the parcel is first scanned. Empty if the carrier does
	// not document it.
	ReturnsBilledOn ReturnBilling
	// Manifest says which labels a manifest covers.
	Manifest ManifestScope
	// ManifestAllDays says that a manifest of the day also covers the open labels of
	// the days before.
	ManifestAllDays bool
	// ManifestServices are the services whose labels need a manifest; empty for all.
	// A hand-over sheet is printed for the others.
	ManifestServices []string
	// Documents says which documents it takes after a purchase.
	Documents DocumentPolicy
	// VisibilityDelay is how long after its sale a purchase may be missing from a
	// look-up, until a connection has shown otherwise. Delay has the default.
	VisibilityDelay time.Duration
	// LookupWindow is how long before a purchase its look-up begins to search;
	// zero if it searches without limits of time.
	LookupWindow     time.Duration
	LookupLacksLabel bool // a purchase that is looked up comes without its label
	// LookupMayHaveLabel says, together with LookupLacksLabel, that only some
	// purchases come without it.
	LookupMayHaveLabel bool
	// DuplicateIsBilled says that the carrier charges for a label that nobody
	// uses, and that it cannot be voided by API at once.
	DuplicateIsBilled bool
	// Unconfirmed are the abilities that rest on a fact for which sources.tsv has no
	// source. They are off on a new live connection.
	Unconfirmed []Ability
	Limits      []string // what the carrier cannot do and what follows, a sentence each, for the documentation
	// Meaning says what a scan's code means, by the carrier's status table.
	// Track and DecodePush give scans the same, so that a better table can be run
	// over the scans that are stored. Nil for a carrier that is not tracked.
	MeaningOf func(code string) (status ship.Status, reason string, known bool)
	// Recognize says whether a tracking number, normalized, is one of the
	// carrier's.
	Recognize func(number string) Recognition
	// GoLive is for the certification of a connection.
	GoLive GoLive
	// Open creates a driver from complete credentials. It does no I/O.
	Open func(Opening) (Driver, error)
}

// ReturnBilling is when a return label is charged.
type ReturnBilling string

// When return labels are charged.
const (
	BilledOnPurchase ReturnBilling = "purchase"
	BilledOnScan     ReturnBilling = "scan"
)

// An Opening is what a driver is opened with.
type Opening struct {
	Credentials Credentials
	BaseURL     string // of the carrier's API, without a slash at its end
	Live        bool   // what is bought costs money
	PushSecret  string // 32 characters that verify the carrier's pushes, where we choose them
	// OldPushSecrets verify the pushes of subscriptions that were made before
	// PushSecret was changed.
	OldPushSecrets []string
	Via            Doer
}

// PushSecrets returns the secrets that verify a push, the present one first;
// none if pushes are not verified.
func (o Opening) PushSecrets() []string {
	if o.PushSecret == "" {
		return nil
	}
	return append([]string{o.PushSecret}, o.OldPushSecrets...)
}

// A Mark is the colours of a carrier's mark, as CSS has them.
type Mark struct {
	Background string
	Text       string
}

// A Quota is how many calls a carrier takes from one account. Zero values set
// no limit.
type Quota struct {
	Calls int           // in each period, all operations together
	Per   time.Duration // the period
	Burst int           // at once, at most Calls
}

// A Field is one credential. The fields drive the form, the validation, the
// redaction and the documentation.
type Field struct {
	Name     string // "client_secret"
	Title    string // "Client secret"
	Help     string // where a person finds it
	Secret   bool   // never shown, never in an error
	Required bool
}

// A Service is a shipping service of the carrier.
type Service struct {
	Code string // "ground": in the API and in rules, never changes
	Name string // "UPS Ground"
}

// A Packaging is a box or an envelope of the carrier's own.
type Packaging struct {
	Code string
	Name string
}

// Credentials are the values of a Spec's fields. Printing them in any format
// does not show them.
type Credentials map[string]string

func (Credentials) String() string { return "[credentials]" }

// GoString is the same for %#v.
func (Credentials) GoString() string { return "[credentials]" }

// A Doer sends one HTTP request. Drivers are given one and never make their
// own, so that pacing, recording and fault injection happen in one place.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// defaultVisibilityDelay is that of a carrier of which two sources say no less.
const defaultVisibilityDelay = 60 * time.Minute

// Delay returns the visibility delay of the carrier's look-ups.
func (s *Spec) Delay() time.Duration { return cmp.Or(s.VisibilityDelay, defaultVisibilityDelay) }

// TakesFrom reports whether parcels can be sent from the country.
func (s *Spec) TakesFrom(country string) bool {
	return len(s.Origins) == 0 || slices.Contains(s.Origins, country)
}

// Service returns the service of the code.
func (s Spec) Service(code string) (Service, bool) {
	i := slices.IndexFunc(s.Services, func(v Service) bool { return v.Code == code })
	if i < 0 {
		return Service{}, false
	}
	return s.Services[i], true
}

// check reports the required fields that are empty and the credentials that
// the carrier has no field for.
func (s Spec) check(given Credentials) error {
	var invalid []ship.FieldError
	for _, field := range s.Fields {
		if field.Required && strings.TrimSpace(given[field.Name]) == "" {
			invalid = append(invalid, ship.FieldError{Pointer: "/" + field.Name, Code: "required", Detail: "is required"})
		}
	}
	for name := range given {
		if !slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Name == name }) {
			invalid = append(invalid, ship.FieldError{Pointer: "/" + name, Code: "unknown_field", Detail: "is not a credential of this carrier"})
		}
	}

	slices.SortFunc(invalid, func(a, b ship.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return ship.InvalidFields(invalid)
}

// secrets returns the values that may not appear anywhere.
func (s Spec) secrets(given Credentials) []string {
	var list []string
	for _, field := range s.Fields {
		if value := given[field.Name]; field.Secret && value != "" {
			list = append(list, value)
		}
	}
	return list
}
