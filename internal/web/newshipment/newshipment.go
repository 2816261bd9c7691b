// Package newshipment is the form for a new shipment: its fields, customs,
// rates and saved boxes, and the purchase. Routing tries its rules with the
// same form.
package newshipment

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// Form is the form for a new shipment, as it was filled in.
type Form struct {
	Order   ship.Order // what the form says, as the service takes it
	Once    string     // identifies the purchase: a second click is the same one
	From    string     // the shipment that the form is a copy of, if it is one
	Return  bool       // it is filled in for the return of that shipment
	Then    string     // what follows the purchase once a question is answered
	Parcels []parcelForm
	Insured amountForm
	Options optionsForm
	Customs customsForm
	Abroad  bool // the parcel crosses a border

	Points       []inquiry.Point // near the recipient; none until they are searched for
	PointProblem string          // why there are none
	Unread       []ship.FieldError

	Problem   site.Problems     // as the service reports it, by pointer
	Fields    map[string]string // error messages, by the form's own fields
	Earlier   *ship.Shipment    // the live shipment of the order, before it is shipped again
	EarlierID ship.ShipmentID   // likewise; known even while the shipment cannot be shown yet

	Countries  []parts.Choice
	Packagings []parts.Choice
	Units      ship.Units
	Locations  []ship.Location
	Boxes      []account.Box
	Asked      []carrierAccount // whose rates are requested; none while the form has errors
	Accounts   offers.AccountNames
	Chosen     string // the selected offer: see offerKey
	Quotes     *quoting.Quotes
	Warnings   []fieldProblem // what customs would object to
	NoCarrier  bool           // no carrier is connected in the mode
	Last       *ship.Shipment // the one that was just bought and printed
}

// isReturn reports whether the form brings back the parcels of a shipment.
func (p Form) isReturn() bool { return p.Order.ReturnOf != "" }

// getForm handles GET /app/{account}/{mode}/shipments/new: an empty form,
// or one filled in from an earlier shipment.
func getForm(v *site.Visit) error {
	if v.Query("from") != "" {
		return showCopy(v)
	}

	page := ReadForm(v)
	page.Order.Destination.Country = Origin(v).Country

	// After printing, the person is back here for the next order.
	if id, ok := ship.ParseShipmentID(v.Query("last")); ok {
		if last, err := v.Shipping.Shipment(v.Context(), v.Tenant(), id); err == nil {
			page.Last = &last
		}
	}
	return showForm(v, http.StatusOK, page)
}

// showForm answers with the whole page.
func showForm(v *site.Visit, status int, page Form) error {
	if err := offerChoices(v, &page); err != nil {
		return err
	}
	return v.Show(status, newShipmentPage(v.Frame("New shipment", "shipments"), page))
}

// offerChoices adds what can be chosen in the form.
func offerChoices(v *site.Visit, page *Form) error {
	var err error
	if page.Boxes, err = v.Account.Boxes(v.Context(), v.Tenant()); err != nil {
		return err
	}

	if page.Locations, err = v.Account.Locations(v.Context(), v.Tenant()); err != nil {
		return err
	}

	carriers, err := v.Shipping.Carriers(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	page.NoCarrier = v.Live && len(carriers) == 0
	page.Packagings = packagingChoices(carriers)
	page.Accounts = offers.NameAccounts(carriers)
	return nil
}

// packagingChoices lists the packagings of all carriers, after the client's own
// packaging.
func packagingChoices(carriers []shipping.CarrierInfo) []parts.Choice {
	list := []parts.Choice{{Value: "", Title: "Your own packaging"}}
	for _, carrier := range carriers {
		for _, packaging := range carrier.Packagings {
			known := slices.ContainsFunc(list, func(have parts.Choice) bool { return have.Value == packaging.Code })
			if !known && packaging.Code != "custom" {
				list = append(list, parts.Choice{Value: packaging.Code, Title: parts.CarrierTitle(carrier.Name) + ": " + packaging.Name})
			}
		}
	}
	return list
}

// buyShipment handles POST /app/{account}/{mode}/shipments: it buys the chosen
// rate, or what the rules choose.
//
// An order that has a live shipment is not bought a second time until the
// person confirms it. The purchase itself decides that, under the lock that the
// API's onDuplicateOrder uses: two people who ship the same order at once get
// one label and one question.
func buyShipment(v *site.Visit) error {
	page := ReadForm(v)
	if err := ship.InvalidFields(page.Unread); err != nil {
		return notBought(v, page, err)
	}

	in := shipping.BuyInput{
		Tenant:         v.Tenant(),
		Account:        v.Who.Account,
		Person:         v.Who.Actor.Person.ID,
		Limits:         ship.SpendingLimits{Daily: v.Who.Actor.DailyLimit},
		Order:          page.Order,
		OneParcel:      len(page.Order.Parcels) == 1,
		RateID:         v.Form("rate"),
		OnDuplicate:    "reject",
		IdempotencyKey: ship.ServiceKey(ship.KeyOfDashboard, page.Once),
		// The form and the rate identify the purchase: the same form sent twice
		// buys once, and a changed one is another purchase.
		Fingerprint: sha256.Sum256([]byte(v.Request.PostForm.Encode())),
	}
	in.FormerName = ship.KeyName{Key: "dashboard-" + page.Once, Fingerprint: in.Fingerprint}
	if id, ok := ship.ParseShipmentID(v.Form("again")); ok {
		in.AcceptDuplicate = id
	}
	if page.isReturn() {
		// The order has a shipment, or there would be nothing to return.
		in.OnDuplicate = "allow"
		in.AnotherReturn = in.AcceptDuplicate != ""
	}

	bought, err := v.Shipping.Buy(v.Context(), in)
	if err != nil {
		return notBought(v, page, err)
	}
	return afterPurchase(v, bought)
}

// afterPurchase leads to the label: to its page, or to the printer and from
// there back to the next order.
func afterPurchase(v *site.Visit, bought shipping.Bought) error {
	id := string(bought.Shipment.ID)
	v.Record("shipment.bought", id, nil)

	switch {
	case bought.Pending:
		return v.Redirect(v.To("shipments", id), "pending")
	case v.Form("then") == "print":
		return v.Redirect(v.To("shipments", id, "print")+"?next=new", "")
	}
	return v.Redirect(v.To("shipments", id), "created")
}

// notBought shows the form again with what was typed, why nothing was bought,
// and which fields are the reason.
func notBought(v *site.Visit, page Form, err error) error {
	// While the outcome of a purchase is unknown, the form must not come back
	// under a new key: sending it again could buy a second label.
	problems, fixable := site.ProblemsOf(err)
	if !fixable || ship.KindOf(err) == ship.Uncertain || ship.CodeOf(err) == "idempotency_in_progress" {
		return err
	}

	// Nothing was bought under the old key, so another try is another purchase.
	page.Once = parts.NewPurchaseKey()
	page.Chosen = chosenOffer(v)
	page.Explain(problems)

	if code := ship.CodeOf(err); code == "duplicate_order" || code == "return_exists" {
		page.Then = v.Form("then")
		if err := findEarlier(v, &page, err); err != nil {
			return err
		}
		return showForm(v, http.StatusConflict, page)
	}
	return showForm(v, http.StatusUnprocessableEntity, page)
}

// findEarlier adds to the form the shipment that its order already has, or the
// return that its shipment has.
func findEarlier(v *site.Visit, page *Form, duplicate error) error {
	coded, _ := errors.AsType[*ship.Error](duplicate)
	text, _ := coded.Details["possibleDuplicateOf"].(string)
	if page.isReturn() {
		text, _ = coded.Details["returnId"].(string)
	}
	page.EarlierID = ship.ShipmentID(text)

	// The ID is known even while the shipment itself cannot be read yet.
	earlier, err := v.Shipping.Shipment(v.Context(), v.Tenant(), page.EarlierID)
	switch {
	case err == nil:
		page.Earlier = &earlier
	case ship.KindOf(err) != ship.NotFound:
		return err
	}
	return nil
}

// getFields handles POST /app/{account}/{mode}/shipments/fields: a part of
// the form that depends on another.
func getFields(v *site.Visit) error {
	page := ReadForm(v)
	if err := offerChoices(v, &page); err != nil {
		return err
	}

	// The event makes the page request the rates again.
	v.Writer.Header().Set("HX-Trigger-After-Swap", "filled")

	frame := v.Frame("", "")
	switch v.Query("part") {
	case "country":
		return v.Show(http.StatusOK, countryParts(frame, page))

	case "address":
		if err := useSuggestion(v, &page); err != nil {
			return err
		}
		return v.Show(http.StatusOK, destinationFields(frame, page))

	case "item":
		page.Customs.Items = edited(page.Customs.Items, v.Query("remove"), customsLine{Quantity: "1"}, maxLines)
		return v.Show(http.StatusOK, customsCard(frame, page, false))

	case "tax":
		page.Customs.TaxIDs = edited(page.Customs.TaxIDs, v.Query("remove"), taxLine{Party: "sender"}, maxLines)
		return v.Show(http.StatusOK, customsCard(frame, page, false))

	case "parcel":
		// Another parcel is most often like the last one.
		last := page.Parcels[len(page.Parcels)-1]
		page.Parcels = edited(page.Parcels, v.Query("remove"), last, ship.MaxParcels)
		return v.Show(http.StatusOK, ParcelsFields(frame, page))

	case "box":
		i, err := strconv.Atoi(cmp.Or(v.Query("parcel"), "0"))
		if err != nil || i < 0 || i >= len(page.Parcels) {
			return site.ErrNoPage
		}
		page.Parcels[i].fillBox(page.Boxes)
		return v.Show(http.StatusOK, ParcelsFields(frame, page))
	}
	return site.ErrNoPage
}

// edited returns the lines without the one whose number is given, or with
// another one added if no number is given.
func edited[T any](list []T, remove string, added T, most int) []T {
	i, err := strconv.Atoi(remove)
	switch {
	case err == nil && i >= 0 && i < len(list):
		return slices.Delete(list, i, i+1)
	case remove == "" && len(list) < most:
		return append(list, added)
	}
	return list
}

// Origin returns the address that the account ships from; the sandbox uses a
// sample warehouse in the United States until that is known.
func Origin(v *site.Visit) ship.Address {
	switch account := v.Who.Account; {
	case account.Location != nil:
		return account.Location.Address
	case account.Origin != nil:
		return *account.Origin
	}
	return ship.Address{Country: "US"}
}

// today returns the default ship date.
func today() string { return time.Now().UTC().Format(time.DateOnly) }
