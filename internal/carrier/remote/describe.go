// Package remote is the driver of carriers that are not part of this program:
// plug-ins, which anybody writes in any language and which answer over HTTP as
// api/carrier-plugin.yaml says. What a plug-in can do is what it describes; a
// purchase at one is made with the care of any other.
//
// Requests and answers are signed. An answer without a valid signature is an
// answer that was lost: of a purchase, the outcome is then uncertain.
package remote

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Protocol is the version of the contract that this driver speaks.
const Protocol = 1

// A Description is what a plug-in says about its carrier: the answer of
// POST /describe.
type Description struct {
	Protocol        int                 `json:"protocol"`
	Title           string              `json:"title"`
	Abilities       []string            `json:"abilities"`
	Fields          []Field             `json:"fields,omitempty"`
	Services        []Code              `json:"services,omitempty"`
	Packagings      []Code              `json:"packagings,omitempty"`
	Extras          map[string][]string `json:"extras,omitempty"`
	LabelFormats    []string            `json:"labelFormats,omitempty"`
	AddressLimits   *AddressLimits      `json:"addressLimits,omitempty"`
	AddressChecks   *AddressChecks      `json:"addressChecks,omitempty"`
	Quota           *Quota              `json:"quota,omitempty"`
	Timeouts        *Timeouts           `json:"timeouts,omitempty"`
	TrackBatch      int                 `json:"trackBatch,omitempty"`
	PushBatch       int                 `json:"pushBatch,omitempty"`
	Lookup          *Lookup             `json:"lookup,omitempty"`
	OnePickup       bool                `json:"onePickupPerPlace,omitempty"`
	ManifestScope   string              `json:"manifestScope,omitempty"`
	Documents       *Documents          `json:"documents,omitempty"`
	ReturnsBilledOn string              `json:"returnsBilledOn,omitempty"`
	Statuses        []StatusMeaning     `json:"statuses,omitempty"`
	TrackingNumbers []string            `json:"trackingNumbers,omitempty"`
	Limits          []string            `json:"limits,omitempty"`
	Examples        Examples            `json:"examples,omitzero"`
}

// A Field is a credential that accounts enter.
type Field struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Help     string `json:"help,omitempty"`
	Secret   bool   `json:"secret,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// A Code is a service or a packaging.
type Code struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// AddressLimits are what the carrier can print; zero sets no limit.
type AddressLimits struct {
	Name    int    `json:"name,omitempty"`
	Company int    `json:"company,omitempty"`
	City    int    `json:"city,omitempty"`
	State   int    `json:"state,omitempty"`
	Zip     int    `json:"zip,omitempty"`
	Phone   int    `json:"phone,omitempty"`
	Email   int    `json:"email,omitempty"`
	Lines   int    `json:"lines,omitempty"`
	Line    int    `json:"line,omitempty"`
	Charset string `json:"charset,omitempty"`
}

// AddressChecks say where the carrier checks addresses.
type AddressChecks struct {
	Streets []string `json:"streets,omitempty"`
	Places  bool     `json:"places,omitempty"`
}

// A Quota is how many calls an account may make.
type Quota struct {
	Calls      int `json:"calls"`
	PerSeconds int `json:"perSeconds"`
	Burst      int `json:"burst,omitempty"`
}

// Timeouts are how long operations may take, in seconds; zero means the default.
type Timeouts struct {
	Check     int `json:"check,omitempty"`
	Rates     int `json:"rates,omitempty"`
	Buy       int `json:"buy,omitempty"`
	Find      int `json:"find,omitempty"`
	Void      int `json:"void,omitempty"`
	Track     int `json:"track,omitempty"`
	Addresses int `json:"addresses,omitempty"`
	Pickups   int `json:"pickups,omitempty"`
	Manifests int `json:"manifests,omitempty"`
	Points    int `json:"points,omitempty"`
	Proof     int `json:"proof,omitempty"`
	Duties    int `json:"duties,omitempty"`
	Documents int `json:"documents,omitempty"`
}

// Documents say which documents for customs the carrier takes after a purchase.
type Documents struct {
	Types        []string `json:"types"`
	Announced    bool     `json:"announced,omitempty"` // the purchase must say that documents follow
	ApartSeconds int      `json:"apartSeconds,omitempty"`
}

// A Lookup says what a look-up by reference can be relied on for.
type Lookup struct {
	LagSeconds int  `json:"lagSeconds,omitempty"`
	LacksLabel bool `json:"lacksLabel,omitempty"`
}

// A StatusMeaning is what a code of the carrier's scans means.
type StatusMeaning struct {
	Code   string `json:"code"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

// Examples are what "waybill carrier verify" works with, in the plug-in's test
// mode.
type Examples struct {
	Credentials    map[string]string `json:"credentials,omitempty"`
	Order          *ExampleOrder     `json:"order,omitempty"`
	Abroad         *ExampleOrder     `json:"abroad,omitempty"` // across a border, with a customs declaration
	ValidAddress   *Address          `json:"validAddress,omitempty"`
	InvalidAddress *Address          `json:"invalidAddress,omitempty"`
	Points         *PointsQuery      `json:"points,omitempty"`
	TrackingNumber string            `json:"trackingNumber,omitempty"` // of a carrier that sells nothing
}

// An ExampleOrder is an order that can be quoted, bought, found and voided.
type ExampleOrder struct {
	Service     string  `json:"service"`
	Origin      Address `json:"origin"`
	Destination Address `json:"destination"`
	Grams       int64   `json:"grams"`
}

// The abilities of plug-ins, as they are described. Each is one of the
// driver's, except "push", which are two, and "returns", which is a purchase.
const (
	abilityPush    = "push"
	abilityReturns = "returns"
)

// needs says which ability another one is of no use without.
var needs = map[string]string{
	"rates":          "",
	"buy":            "",
	"find":           "buy",
	"void":           "buy",
	"track":          "",
	abilityPush:      "track",
	"addresses":      "",
	"pickups":        "",
	"find_pickups":   "pickups",
	"cancel_pickups": "pickups",
	"manifests":      "buy",
	"find_manifests": "manifests",
	"points":         "",
	"proof":          "track",
	"duties":         "",
	"documents":      "buy",
	"find_documents": "documents",
	abilityReturns:   "buy",
}

// The bounds of a description. The largest carrier has a tenth of them.
const (
	maxFields   = 20
	maxCodes    = 500
	maxStatuses = 5000
	maxPatterns = 20
	maxPattern  = 200
	maxTitle    = 50
	maxText     = 500
	maxTimeout  = 120
)

var (
	codePattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,49}$`)
	fieldPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,49}$`)
	namePattern  = regexp.MustCompile(`^[a-z][a-z0-9_]{1,29}$`)
	labelFormats = []string{"pdf", "zpl", "png", "gif"}
)

// CheckName returns what is wrong with the name of a plug-in carrier.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return ship.Errorf(ship.Invalid, "the name must be 2 to 30 lower-case letters, digits and underscores and begin with a letter, such as acme_parcels")
	}
	return nil
}

// Check returns everything that is wrong with the description; nil if it can be
// used.
func (d Description) Check() error {
	var problems []string
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}

	require(d.Protocol == Protocol, "protocol must be %d", Protocol)
	require(isText(d.Title, maxTitle), "title must have 1 to %d printable characters", maxTitle)
	for _, ability := range d.Abilities {
		other, known := needs[ability]
		require(known, "abilities: %q is not one of them", ability)
		require(other == "" || d.Can(other), "abilities: %q needs %q", ability, other)
	}

	require(len(d.Fields) <= maxFields, "fields: at most %d", maxFields)
	for i, field := range d.Fields {
		isFirst := slices.IndexFunc(d.Fields, func(f Field) bool { return f.Name == field.Name }) == i
		require(fieldPattern.MatchString(field.Name) && isFirst, "fields: %q must be lower-case letters, digits and underscores, and unique", field.Name)
		require(isText(field.Title, maxTitle), "fields: %q needs a title of at most %d characters", field.Name, maxTitle)
		require(len(field.Help) <= maxText, "fields: the help of %q has more than %d characters", field.Name, maxText)
	}
	d.checkCodes("services", d.Services, require)
	d.checkCodes("packagings", d.Packagings, require)
	d.checkExtras(require)
	d.checkSelling(require)
	d.checkTracking(require)
	d.checkPlaces(require)

	if len(problems) == 0 {
		return nil
	}
	return ship.Errorf(ship.Invalid, "the plug-in's description is not valid: %s", strings.Join(problems, "; "))
}

func (d Description) checkCodes(what string, codes []Code, require func(bool, string, ...any)) {
	require(len(codes) <= maxCodes, "%s: at most %d", what, maxCodes)
	for i, code := range codes {
		isFirst := slices.IndexFunc(codes, func(c Code) bool { return c.Code == code.Code }) == i
		require(codePattern.MatchString(code.Code) && isFirst, "%s: the code %q must be 1 to 50 letters, digits, dots, hyphens and underscores, and unique", what, code.Code)
		require(isText(code.Name, 100), "%s: %q needs a name of at most 100 characters", what, code.Code)
	}
}

// checkExtras requires that options are known and belong to services.
func (d Description) checkExtras(require func(bool, string, ...any)) {
	for extra, services := range d.Extras {
		require(slices.Contains(ship.AllExtras(), ship.Extra(extra)), "extras: %q is not one of them", extra)
		for _, code := range services {
			isService := slices.ContainsFunc(d.Services, func(c Code) bool { return c.Code == code })
			isEvery := code == carrier.EveryService[0] && len(services) == 1
			require(isService || isEvery, `extras: %q of %s is not a service; "*" alone stands for all`, code, extra)
		}
	}
}

func (d Description) checkSelling(require func(bool, string, ...any)) {
	if d.Can("buy") || d.Can("rates") {
		require(len(d.Services) > 0, "services: a carrier that sells or quotes has at least one")
	}
	if d.Can("buy") {
		require(len(d.LabelFormats) > 0, "labelFormats: a carrier that sells has at least one")
	}
	for _, format := range d.LabelFormats {
		require(slices.Contains(labelFormats, format), "labelFormats: %q must be one of %s", format, strings.Join(labelFormats, ", "))
	}

	if quota := d.Quota; quota != nil {
		require(quota.Calls > 0 && quota.PerSeconds > 0 && quota.Burst >= 0 && quota.Burst <= quota.Calls, "quota: calls and perSeconds must be positive, burst at most calls")
	}
	if timeouts := d.Timeouts; timeouts != nil {
		for _, seconds := range timeouts.all() {
			require(seconds >= 0 && seconds <= maxTimeout, "timeouts: each must be 1 to %d seconds", maxTimeout)
		}
	}
	if lookup := d.Lookup; lookup != nil {
		require(lookup.LagSeconds >= 0 && lookup.LagSeconds <= 3600, "lookup: lagSeconds must be 0 to 3600")
	}

	scopes := []string{"", string(carrier.ListedLabels), string(carrier.AllOfTheDay)}
	require(slices.Contains(scopes, d.ManifestScope) && (d.ManifestScope != "") == d.Can("manifests"), `manifestScope must be "labels" or "day" with the ability "manifests", and is left out without it`)
	d.checkDocuments(require)
	billings := []string{"", string(carrier.BilledOnPurchase), string(carrier.BilledOnScan)}
	require(slices.Contains(billings, d.ReturnsBilledOn), `returnsBilledOn must be "purchase" or "scan"`)
}

func (d Description) checkDocuments(require func(bool, string, ...any)) {
	taken := d.Documents
	require((taken != nil && len(taken.Types) > 0) == d.Can("documents"), `documents says which types are taken, with the ability "documents" and not without it`)
	if taken == nil {
		return
	}
	for _, kind := range taken.Types {
		require(slices.Contains(ship.UploadTypes, kind), "documents: the type %q must be one of %s", kind, strings.Join(ship.UploadTypes, ", "))
	}
	require(taken.ApartSeconds >= 0 && taken.ApartSeconds <= 86400, "documents: apartSeconds must be 0 to 86400")
}

func (d Description) checkTracking(require func(bool, string, ...any)) {
	require(d.TrackBatch >= 0 && d.TrackBatch <= 100, "trackBatch must be 1 to 100")
	require(d.PushBatch >= 0 && d.PushBatch <= 1000, "pushBatch must be 0 to 1000")
	require(!d.Can("track") || len(d.Statuses) > 0, "statuses: a carrier that tracks says what its codes mean")
	require(len(d.Statuses) <= maxStatuses, "statuses: at most %d", maxStatuses)
	for _, meaning := range d.Statuses {
		isKnown := meaning.Status == "" || ship.Status(meaning.Status).Valid()
		require(isText(meaning.Code, 50) && isKnown, "statuses: %q needs a code of at most 50 characters and one of the seven statuses, or an empty one", meaning.Code)
	}
	require(len(d.TrackingNumbers) <= maxPatterns, "trackingNumbers: at most %d", maxPatterns)
	for _, pattern := range d.TrackingNumbers {
		_, err := regexp.Compile(pattern)
		require(err == nil && len(pattern) <= maxPattern, "trackingNumbers: %q must be a regular expression (RE2) of at most %d characters", pattern, maxPattern)
	}
}

func (d Description) checkPlaces(require func(bool, string, ...any)) {
	checks := d.AddressChecks
	require((checks != nil && (checks.Places || len(checks.Streets) > 0)) == d.Can("addresses"), `addressChecks says where addresses are checked, with the ability "addresses" and not without it`)
	if limits := d.AddressLimits; limits != nil {
		require(slices.Contains([]string{"", "latin1", "ascii"}, limits.Charset), `addressLimits: charset must be "latin1" or "ascii", or is left out`)
		require(limits.Lines == 0 || limits.Lines <= 3, "addressLimits: lines must be 1 to 3")
	}
	require(len(d.Limits) <= 50, "limits: at most 50 sentences")
	for _, sentence := range d.Limits {
		require(isText(sentence, maxText), "limits: each has at most %d printable characters", maxText)
	}
}

func (t Timeouts) all() []int {
	return []int{t.Check, t.Rates, t.Buy, t.Find, t.Void, t.Track, t.Addresses, t.Pickups, t.Manifests, t.Points, t.Proof, t.Duties, t.Documents}
}

func isText(text string, longest int) bool {
	isPrintable := !strings.ContainsFunc(text, unicode.IsControl)
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= longest && isPrintable
}

// Can reports whether the plug-in claims an ability.
func (d Description) Can(ability string) bool { return slices.Contains(d.Abilities, ability) }

// A Plugin is a plug-in as it was registered.
type Plugin struct {
	Name        string // of the carrier, in this installation
	URL         string // without a slash at its end
	Secret      Secret
	Description Description
	Retired     bool // what was bought is still settled; nothing new is connected
	Revision    int  // counts the registrations
}

// Spec returns the carrier that the plug-in is the driver of.
func (p Plugin) Spec() carrier.Spec {
	d := p.Description
	spec := carrier.Spec{
		Name:              p.Name,
		Title:             d.Title,
		Plugin:            true,
		Retired:           p.Retired,
		Revision:          p.Revision,
		LiveURL:           p.URL,
		TestURL:           p.URL,
		Formats:           d.LabelFormats,
		TrackBatch:        d.TrackBatch,
		SubscribeBatch:    d.PushBatch,
		OnePickupPerPlace: d.OnePickup,
		Manifest:          carrier.ManifestScope(d.ManifestScope),
		ReturnsBilledOn:   carrier.ReturnBilling(d.ReturnsBilledOn),
		Limits:            d.Limits,
		Mark:              carrier.Mark{Background: "#475569", Text: "#ffffff"},
		Open:              func(opening carrier.Opening) (carrier.Driver, error) { return open(p, opening), nil },
	}

	for _, field := range d.Fields {
		spec.Fields = append(spec.Fields, carrier.Field(field))
	}
	for _, service := range d.Services {
		spec.Services = append(spec.Services, carrier.Service(service))
	}
	for _, packaging := range d.Packagings {
		spec.Packagings = append(spec.Packagings, carrier.Packaging(packaging))
	}
	for extra, services := range d.Extras {
		if spec.Extras == nil {
			spec.Extras = carrier.Extras{}
		}
		spec.Extras[ship.Extra(extra)] = services
	}

	// What the description leaves out is the default of every carrier.
	if limits := d.AddressLimits; limits != nil {
		spec.Address = carrier.AddressLimits(*limits)
	}
	if checks := d.AddressChecks; checks != nil {
		spec.AddressCoverage = carrier.AddressCoverage(*checks)
	}
	if quota := d.Quota; quota != nil {
		spec.Quota = carrier.Quota{
			Calls: quota.Calls,
			Per:   time.Duration(quota.PerSeconds) * time.Second,
			Burst: cmp.Or(quota.Burst, quota.Calls),
		}
	}
	if taken := d.Documents; taken != nil {
		spec.Documents = carrier.DocumentPolicy{
			Types:     taken.Types,
			Announced: taken.Announced,
			Apart:     time.Duration(taken.ApartSeconds) * time.Second,
		}
	}
	if timeouts := d.Timeouts; timeouts != nil {
		spec.Deadlines = timeouts.deadlines()
	}
	if lookup := d.Lookup; lookup != nil {
		if lookup.LagSeconds > 0 {
			spec.VisibilityDelay = max(time.Duration(lookup.LagSeconds)*time.Second, leastVisibilityDelay)
		}
		spec.LookupLacksLabel = lookup.LacksLabel
	}

	if d.Can("track") {
		spec.MeaningOf = meanings(d.Statuses)
	}
	if len(d.TrackingNumbers) > 0 {
		spec.Recognize = recognizer(d.TrackingNumbers)
	}
	return spec
}

// leastVisibilityDelay is the shortest that a plug-in can declare.
const leastVisibilityDelay = time.Minute

func (t Timeouts) deadlines() carrier.Deadlines {
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	return carrier.Deadlines{
		Check:        seconds(t.Check),
		Rates:        seconds(t.Rates),
		Buy:          seconds(t.Buy),
		Find:         seconds(t.Find),
		Void:         seconds(t.Void),
		Track:        seconds(t.Track),
		CheckAddress: seconds(t.Addresses),
		Pickup:       seconds(t.Pickups),
		Manifest:     seconds(t.Manifests),
		Points:       seconds(t.Points),
		Proof:        seconds(t.Proof),
		Duties:       seconds(t.Duties),
		Document:     seconds(t.Documents),
	}
}

// meanings returns the plug-in's status table as a function.
func meanings(table []StatusMeaning) func(code string) (ship.Status, string, bool) {
	byCode := make(map[string]StatusMeaning, len(table))
	for _, meaning := range table {
		byCode[meaning.Code] = meaning
	}
	return func(code string) (ship.Status, string, bool) {
		meaning, known := byCode[code]
		if !known {
			return "", "unmapped", false
		}
		return ship.Status(meaning.Status), meaning.Reason, true
	}
}

// recognizer returns what knows the plug-in's tracking numbers. A pattern has no
// check digit, so it never outranks a carrier that has one.
func recognizer(patterns []string) func(number string) carrier.Recognition {
	compiled := make([]*regexp.Regexp, len(patterns))
	for i, pattern := range patterns {
		compiled[i] = regexp.MustCompile(`\A(?:` + pattern + `)\z`)
	}
	return func(number string) carrier.Recognition {
		for _, pattern := range compiled {
			if pattern.MatchString(number) {
				return carrier.FitsLoosely
			}
		}
		return carrier.NotRecognized
	}
}
