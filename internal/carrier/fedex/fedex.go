// Package fedex speaks to FedEx over its REST API: rates, labels, look-up by
// reference, cancellation and tracking, polled or pushed. It keeps no state but
// tokens and what it learned about the account, and never repeats a call that
// costs money.
package fedex

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Spec describes FedEx.
var Spec = carrier.Spec{
	Name:       "fedex",
	Title:      "FedEx",
	Mark:       carrier.Mark{Background: "#4d148c", Text: "#ff8a3c"},
	LiveURL:    "https://apis.fedex.com",
	TestURL:    "https://apis-sandbox.fedex.com",
	Fields:     fields,
	Services:   listServices(),
	Packagings: listPackagings(),
	Formats:    []string{"png", "pdf", "zpl"},
	Address: carrier.AddressLimits{
		Name:    70,
		Company: 35,
		Lines:   3,
		Line:    35,
		City:    35,
		Zip:     10,
		Phone:   15,
		Email:   80,
		Charset: "latin1",
	},
	Quota:            carrier.Quota{Calls: 1400, Per: 10 * time.Second, Burst: 140},
	TrackBatch:       trackBatch,
	LookupLag:        10 * time.Minute,
	LookupLacksLabel: true,
	Deadlines: carrier.Deadlines{
		Rates:    15 * time.Second,
		Find:     20 * time.Second,
		BuyPiece: 4 * time.Second,
		BuyMost:  120 * time.Second,
	},
	Limits: []string{
		"FedEx has no idempotency keys: two identical purchases create two labels. A purchase whose response is lost is looked up by its reference.",
		"A look-up confirms the purchase and returns its tracking number, but never its label: the purchase is cancelled and bought again.",
		"A look-up needs the Track API, which FedEx puts into a separate project. Without it, a purchase whose response is lost needs review.",
		"FedEx requires phone numbers for sender and recipient; if the recipient has none, the sender's is used. Quotes need none.",
		"The label shows Waybill's reference, the order number (PO) and your reference (INV, or DEPT if there is a customs invoice number), 30 characters each.",
		"FedEx requires a declaration of contents for every parcel that leaves a country, also within the European Union and to Puerto Rico. There, one line for all parcels is enough; Waybill adds it if the order declares nothing.",
		"The invoice is sent to customs electronically (ELECTRONIC_TRADE_DOCUMENTS) unless customs.paperless is off. If the account is not enrolled or the lane does not support it, FedEx rejects the purchase and nothing is bought; the next attempt uses a printed invoice.",
		"FedEx has two rate APIs, and a project may have either: the second is called if the first is not allowed.",
		"A label can be cancelled until the parcel is handed over.",
		"FedEx returns no price for some shipments that are billed to another account.",
		"A shipment has at most 40 pieces, all in the same packaging type.",
		"Delivery dates have no time zone: they are local to the destination, written as if in UTC.",
		"FedEx sends tracking pushes only to accounts that pay for Advanced Integrated Visibility. Enter the URL and the security token in the FedEx portal; there is no API for it. Without pushes, parcels are polled.",
		"FedEx reuses tracking numbers: if several parcels have the same number, the most recent one is used.",
		"The first scan of a Ground parcel may have only a date and no time zone: it is placed at the start of that day.",
		"Freight, dangerous goods, One Rate and cross-border returns are not supported.",
	},
	MeaningOf: meaning,
	Recognize: recognize,
	GoLive:    goLive,
	Open:      open,
}

var fields = []carrier.Field{
	{Name: "client_id", Title: "API key", Required: true, Help: "In the FedEx developer portal, under My Projects: the project with the Ship and Rate APIs. Test and production keys differ."},
	{Name: "client_secret", Title: "Secret key", Required: true, Secret: true, Help: "Shown once next to the API key, when the project is created or the key is renewed."},
	{Name: "account_number", Title: "Account number", Required: true, Help: "The nine digits of the shipping account that is billed, as shown on a FedEx invoice. For tests, the account number shown with the project's test key."},
	{Name: "track_client_id", Title: "Tracking API key", Help: "From the project with the Track API in the portal. If empty, the API key above is used, which FedEx allows for few accounts."},
	{Name: "track_client_secret", Title: "Tracking secret key", Secret: true, Help: "Shown once next to the tracking API key."},
	{Name: "ground_economy_hub", Title: "Ground Economy hub", Help: "The four-digit hub ID from your Ground Economy contract. Without it, that service is not offered."},
}

// driver is one FedEx account.
type driver struct {
	base    string
	account string
	hub     string // of Ground Economy; empty without a contract
	via     carrier.Doer
	ship    *project
	track   *project // the same as ship if there is only one
	// pushSecret is the security token of the portal's webhook.
	pushSecret string

	live bool // what is bought costs money

	// otherRates is set once the project turned out to have the other of the
	// two interfaces for rates.
	otherRates atomic.Bool

	// printedLanes are the lanes on which FedEx refused electronic documents.
	printedLanes sync.Map
}

func open(opening carrier.Opening) (carrier.Driver, error) {
	credentials := opening.Credentials
	d := &driver{
		base:       opening.BaseURL,
		account:    digits(credentials["account_number"]),
		hub:        digits(credentials["ground_economy_hub"]),
		via:        opening.Via,
		ship:       newProject(credentials["client_id"], credentials["client_secret"]),
		pushSecret: opening.PushSecret,
		live:       opening.Live,
	}
	if len(d.account) != 9 {
		return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/account_number", Code: "invalid", Detail: "must be 9 digits"}})
	}

	// FedEx puts tracking into a project of its own for most accounts.
	d.track = d.ship
	hasID := credentials["track_client_id"] != ""
	hasSecret := credentials["track_client_secret"] != ""
	switch {
	case hasID && hasSecret:
		d.track = newProject(credentials["track_client_id"], credentials["track_client_secret"])
	case hasID != hasSecret:
		return nil, ship.InvalidFields([]ship.FieldError{{Pointer: "/track_client_secret", Code: "required", Detail: "must be given together with the tracking API key"}})
	}
	return d, nil
}

// Check verifies both keys and the account number. It asks for the price of a
// parcel that nobody sends: FedEx checks the account first, so a complaint
// about anything else proves that the account is valid.
func (d *driver) Check(ctx context.Context) error {
	if d.track != d.ship {
		if _, err := d.track.token.Get(ctx, d.fetch(d.track)); err != nil {
			return err
		}
	}

	var answer rateAnswer
	err := d.askForRates(ctx, d.probe(), &answer)
	if err == nil && answer.Output == nil {
		return ship.Errorf(ship.Unavailable, "FedEx sent no rates")
	}

	refused, ok := errors.AsType[*ship.Error](err)
	if ok && refused.Refusal.Code == requestMismatch {
		return nil // the keys were accepted, and the test environment has no such request recorded
	}
	if !ok || refused.Kind != ship.Invalid {
		return err
	}
	if strings.HasPrefix(refused.Refusal.Code, "ACCOUNT") {
		refused.Kind = ship.Forbidden
		refused.Message = "FedEx does not know the account number, or the project is not allowed to use it"
		return refused
	}
	return nil
}

// probe is the smallest request for a rate.
func (d *driver) probe() rateRequest {
	memphis := rateParty{Address: address{PostalCode: "38116", CountryCode: "US"}}
	return rateRequest{
		AccountNumber: account{d.account},
		RequestedShipment: rateShipment{
			Shipper:         memphis,
			Recipient:       memphis,
			PickupType:      dropOff,
			RateRequestType: []string{"ACCOUNT"},
			Packages:        []piece{{GroupPackageCount: 1, Weight: weight{Units: "LB", Value: "1"}}},
		},
	}
}

// call sends one request with a token of the project.
func (d *driver) call(ctx context.Context, keys *project, call carrierkit.Call, answer any) error {
	var faults []fault
	call.Refusal = func(body []byte) ship.Refusal {
		faults = faultsOf(body)
		return refusal(body)
	}

	// Each attempt gets a header of its own, as the second has another token.
	header := call.Header
	err := keys.token.Use(ctx, d.fetch(keys), func(token string) error {
		call.Header = header.Clone()
		if call.Header == nil {
			call.Header = http.Header{}
		}
		call.Header.Set("Authorization", "Bearer "+token)
		call.Header.Set("X-Locale", "en_US")
		return call.Do(ctx, d.via, answer)
	})
	return withRetryAfter(d.explain(err, faults), time.Now())
}

// window is the period in which FedEx counts calls.
const window = 10 * time.Second

// withRetryAfter gives a refusal because of too many calls the wait that FedEx
// does not state: until the end of the window, or until midnight if the day's
// calls are used up.
func withRetryAfter(err error, now time.Time) error {
	limited, ok := errors.AsType[*ship.Error](err)
	if !ok || limited.Kind != ship.Limited || limited.RetryAfter > 0 {
		return err
	}

	until := now.Truncate(window).Add(window)
	text := strings.ToLower(limited.Refusal.Code + limited.Refusal.Message)
	if strings.Contains(text, "daily") || strings.Contains(text, "quota") {
		until = now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	}

	waiting := *limited
	waiting.RetryAfter = until.Sub(now)
	return &waiting
}
