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

// driver is one FedEx account.
type driver struct {
	base    string
	account string
	hub     string // of Ground Economy; empty without a contract
	via     carrier.Doer
	ship    *project
	track   *project // the same as ship if there is only one
	// pushSecrets are the security tokens of the portal's webhook, the present
	// one first.
	pushSecrets []string

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
		base:        opening.BaseURL,
		account:     digits(credentials["account_number"]),
		hub:         digits(credentials["ground_economy_hub"]),
		via:         opening.Via,
		ship:        newProject(credentials["client_id"], credentials["client_secret"]),
		pushSecrets: opening.PushSecrets(),
		live:        opening.Live,
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
		if _, err := d.track.token.Get(ctx, d.fetchToken(d.track)); err != nil {
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

// probe returns the smallest request for a rate.
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
		return refusalOf(body)
	}

	// Each attempt gets a header of its own, as the second has another token.
	header := call.Header
	err := keys.token.Use(ctx, d.fetchToken(keys), func(token string) error {
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
