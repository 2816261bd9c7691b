package web

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// formRoutes are the parts of the form for a new shipment, and the saved boxes
// that it offers.
func (s *Web) formRoutes() []route {
	return []route{
		keeping(post("/app/{account}/{mode}/shipments/fields", member.BuyShipments, s.shipmentFields)),
		get("/app/{account}/{mode}/boxes", member.BuyShipments, s.boxes),
		keeping(post("/app/{account}/{mode}/boxes", member.BuyShipments, s.addBox)),
		post("/app/{account}/{mode}/boxes/{id}/remove", member.BuyShipments, s.removeBox),
	}
}

// newShipment is the form for a new shipment, as it was filled in.
type newShipment struct {
	Order   ship.Order // what the form says, as the service takes it
	Once    string     // identifies the purchase: a second click is the same one
	From    string     // the shipment that the form is a copy of, if it is one
	Then    string     // what follows the purchase once a question is answered
	Parcels []parcelForm
	Insured amountForm
	Customs customsForm
	Abroad  bool // the parcel crosses a border
	Unread  []ship.FieldError

	Problem   problems          // as the service reports it, by pointer
	Fields    map[string]string // error messages, by the form's own fields
	Earlier   *ship.Shipment    // the live shipment of the order, before it is shipped again
	EarlierID ship.ShipmentID   // likewise; known even while the shipment cannot be shown yet

	Countries  []choice
	Packagings []choice
	Units      ship.Units
	Boxes      []account.Box
	Asked      []carrierAccount // whose rates are requested; none while the form has errors
	Accounts   accountNames
	Chosen     string // the selected offer: see offerKey
	Quotes     *quoting.Quotes
	NoCarrier  bool           // no carrier is connected in the mode
	Last       *ship.Shipment // the one that was just bought and printed
}

// emptyShipment handles GET /app/{account}/{mode}/shipments/new: an empty form,
// or one filled in from an earlier shipment.
func (s *Web) emptyShipment(v *visit) error {
	if v.query("from") != "" {
		return v.showCopy()
	}

	page := v.readShipmentForm()
	page.Order.Destination.Country = v.origin().Country

	// After printing, the person is back here for the next order.
	if id, ok := ship.ParseShipmentID(v.query("last")); ok {
		if last, err := s.Shipping.Shipment(v.ctx(), v.tenant(), id); err == nil {
			page.Last = &last
		}
	}
	return v.showForm(http.StatusOK, page)
}

// showForm answers with the whole page.
func (v *visit) showForm(status int, page newShipment) error {
	if err := v.offerChoices(&page); err != nil {
		return err
	}
	return v.show(status, newShipmentPage(v.frame("New shipment", "shipments"), page))
}

// offerChoices adds what can be chosen in the form.
func (v *visit) offerChoices(page *newShipment) error {
	var err error
	if page.Boxes, err = v.Account.Boxes(v.ctx(), v.tenant()); err != nil {
		return err
	}

	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	if err != nil {
		return err
	}

	page.NoCarrier = v.live && len(carriers) == 0
	page.Packagings = packagingChoices(carriers)
	page.Accounts = accountNamesOf(carriers)
	return nil
}

// packagingChoices lists the packagings of all carriers, after the client's own
// packaging.
func packagingChoices(carriers []shipping.CarrierInfo) []choice {
	list := []choice{{"", "Your own packaging"}}
	for _, carrier := range carriers {
		for _, packaging := range carrier.Packagings {
			known := slices.ContainsFunc(list, func(have choice) bool { return have.Value == packaging.Code })
			if !known && packaging.Code != "custom" {
				list = append(list, choice{packaging.Code, carrierTitle(carrier.Name) + ": " + packaging.Name})
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
func (s *Web) buyShipment(v *visit) error {
	page := v.readShipmentForm()
	if err := ship.InvalidFields(page.Unread); err != nil {
		return v.notBought(page, err)
	}

	in := shipping.BuyInput{
		Tenant:         v.tenant(),
		Account:        v.who.Account,
		Order:          page.Order,
		OneParcel:      len(page.Order.Parcels) == 1,
		RateID:         v.form("rate"),
		OnDuplicate:    "reject",
		IdempotencyKey: "dashboard-" + page.Once,
		// The form and the rate identify the purchase: the same form sent twice
		// buys once, and a changed one is another purchase.
		Fingerprint: sha256.Sum256([]byte(v.r.PostForm.Encode())),
	}
	if id, ok := ship.ParseShipmentID(v.form("again")); ok {
		in.AcceptDuplicate = id
	}

	bought, err := s.Shipping.Buy(v.ctx(), in)
	if err != nil {
		return v.notBought(page, err)
	}
	return v.afterPurchase(bought)
}

// afterPurchase leads to the label: to its page, or to the printer and from
// there back to the next order.
func (v *visit) afterPurchase(bought shipping.Bought) error {
	id := string(bought.Shipment.ID)
	v.record("shipment.bought", id, nil)

	switch {
	case bought.Pending:
		return v.redirect(v.to("shipments", id), "pending")
	case v.form("then") == "print":
		return v.redirect(v.to("shipments", id, "print")+"?next=new", "")
	}
	return v.redirect(v.to("shipments", id), "created")
}

// notBought shows the form again with what was typed, why nothing was bought,
// and which fields are the reason.
func (v *visit) notBought(page newShipment, err error) error {
	// While the outcome of a purchase is unknown, the form must not come back
	// under a new key: sending it again could buy a second label.
	problems, fixable := problemsOf(err)
	if !fixable || ship.KindOf(err) == ship.Uncertain || ship.CodeOf(err) == "idempotency_in_progress" {
		return err
	}

	// Nothing was bought under the old key, so another try is another purchase.
	page.Once = newOnce()
	page.Chosen = v.chosenOffer()
	page.explain(problems)

	if ship.CodeOf(err) == "duplicate_order" {
		page.Then = v.form("then")
		if err := v.findEarlier(&page, err); err != nil {
			return err
		}
		return v.showForm(http.StatusConflict, page)
	}
	return v.showForm(http.StatusUnprocessableEntity, page)
}

// findEarlier adds to the form the shipment that its order already has.
func (v *visit) findEarlier(page *newShipment, duplicate error) error {
	coded, _ := errors.AsType[*ship.Error](duplicate)
	text, _ := coded.Details["possibleDuplicateOf"].(string)
	page.EarlierID = ship.ShipmentID(text)

	// The ID is known even while the shipment itself cannot be read yet.
	earlier, err := v.Shipping.Shipment(v.ctx(), v.tenant(), page.EarlierID)
	switch {
	case err == nil:
		page.Earlier = &earlier
	case ship.KindOf(err) != ship.NotFound:
		return err
	}
	return nil
}

// shipmentFields handles POST /app/{account}/{mode}/shipments/fields: a part of
// the form that depends on another.
func (s *Web) shipmentFields(v *visit) error {
	page := v.readShipmentForm()
	if err := v.offerChoices(&page); err != nil {
		return err
	}

	// The event makes the page request the rates again.
	v.w.Header().Set("HX-Trigger-After-Swap", "filled")

	frame := v.frame("", "")
	switch v.query("part") {
	case "country":
		return v.show(http.StatusOK, countryParts(frame, page))

	case "item":
		page.Customs.Items = edited(page.Customs.Items, v.query("remove"), customsLine{Quantity: "1"}, maxLines)
		return v.show(http.StatusOK, customsCard(frame, page, false))

	case "tax":
		page.Customs.TaxIDs = edited(page.Customs.TaxIDs, v.query("remove"), taxLine{Party: "sender"}, maxLines)
		return v.show(http.StatusOK, customsCard(frame, page, false))

	case "parcel":
		// Another parcel is most often like the last one.
		last := page.Parcels[len(page.Parcels)-1]
		page.Parcels = edited(page.Parcels, v.query("remove"), last, ship.MaxParcels)
		return v.show(http.StatusOK, parcelsFields(frame, page))

	case "box":
		i, err := strconv.Atoi(or(v.query("parcel"), "0"))
		if err != nil || i < 0 || i >= len(page.Parcels) {
			return errNoPage
		}
		page.Parcels[i].fillBox(page.Boxes)
		return v.show(http.StatusOK, parcelsFields(frame, page))
	}
	return errNoPage
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

// origin returns the address that the account ships from; the sandbox uses a
// sample warehouse in the United States until that is known.
func (v *visit) origin() ship.Address {
	if origin := v.who.Account.Origin; origin != nil {
		return *origin
	}
	return ship.Address{Country: "US"}
}

// today is the default ship date.
func today() string { return time.Now().UTC().Format(time.DateOnly) }
