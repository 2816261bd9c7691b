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
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// formRoutes are the parts of the form of a new shipment, and the boxes that
// it offers.
func (s *Web) formRoutes() []route {
	return []route{
		keeping(post("/app/{mode}/shipments/fields", member.BuyShipments, s.shipmentFields)),
		get("/app/{mode}/boxes", member.BuyShipments, s.boxes),
		keeping(post("/app/{mode}/boxes", member.BuyShipments, s.addBox)),
		post("/app/{mode}/boxes/{id}/remove", member.BuyShipments, s.removeBox),
	}
}

// newShipment is the form of a new shipment, as it was filled in.
type newShipment struct {
	Order   ship.Order // what the form says, as the service takes it
	Once    string     // names the purchase: a second click is the same one
	From    string     // the shipment that the form is a copy of, if it is one
	Then    string     // what follows the purchase that a question interrupted
	Parcels []parcelForm
	Insured amountForm
	Customs customsForm
	Abroad  bool // the parcel crosses a border
	Unread  []ship.FieldError

	Problem   problems          // as the service tells it, by pointer
	Fields    map[string]string // what is wrong, by the form's own fields
	Earlier   *ship.Shipment    // the live shipment of the order, before it is shipped again
	EarlierID ship.ShipmentID   // likewise; known even where the shipment is not yet shown

	Countries  []choice
	Packagings []choice
	Units      ship.Units
	Boxes      []account.Box
	Asked      []carrierAccount // who is asked for rates, when all is well
	Accounts   accountNames
	Chosen     string // the offer that is ticked: see offerKey
	Quotes     *shipping.Quotes
	NoCarrier  bool           // is connected in the mode
	Last       *ship.Shipment // that was just bought and printed
}

// emptyShipment handles GET /app/{mode}/shipments/new: an empty form, or one
// filled in from an earlier shipment.
func (s *Web) emptyShipment(v *visit) error {
	if v.query("from") != "" {
		return v.showCopy()
	}
	p := v.readShipmentForm()
	p.Order.Destination.Country = v.originCountry()

	// After printing, the person is back here for the next order.
	if id, ok := ship.ParseShipmentID(v.query("last")); ok {
		if last, err := s.Shipping.Shipment(v.ctx(), v.tenant(), id); err == nil {
			p.Last = &last
		}
	}
	return v.showForm(http.StatusOK, p)
}

// showForm answers with the whole page.
func (v *visit) showForm(status int, p newShipment) error {
	if err := v.offerChoices(&p); err != nil {
		return err
	}
	return v.show(status, newShipmentPage(v.frame("New shipment", "shipments"), p))
}

// offerChoices adds what can be chosen in the form.
func (v *visit) offerChoices(p *newShipment) error {
	var err error
	if p.Boxes, err = v.Account.Boxes(v.ctx(), v.tenant()); err != nil {
		return err
	}

	carriers, err := v.Shipping.Carriers(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	p.NoCarrier = v.live && len(carriers) == 0
	p.Packagings = packagingChoices(carriers)
	p.Accounts = accountNamesOf(carriers)
	return nil
}

// packagingChoices are the packagings of all carriers, the account's own boxes
// first.
func packagingChoices(carriers []shipping.CarrierInfo) []choice {
	list := []choice{{"", "Your own packaging"}}
	for _, c := range carriers {
		for _, packaging := range c.Packagings {
			known := slices.ContainsFunc(list, func(have choice) bool { return have.Value == packaging.Code })
			if !known && packaging.Code != "custom" {
				list = append(list, choice{packaging.Code, carrierTitle(c.Name) + ": " + packaging.Name})
			}
		}
	}
	return list
}

// buyShipment handles POST /app/{mode}/shipments: buys the rate that was
// chosen, or what the rules choose.
//
// An order that has a live shipment is not bought a second time before the
// person says so. The purchase itself decides that, under the lock that the
// API's onDuplicateOrder uses: two people who ship the same order at once get
// one label and one question.
func (s *Web) buyShipment(v *visit) error {
	p := v.readShipmentForm()
	if err := ship.InvalidFields(p.Unread); err != nil {
		return v.notBought(p, err)
	}

	in := shipping.BuyInput{
		Tenant:         v.tenant(),
		Account:        v.who.Account,
		Order:          p.Order,
		OneParcel:      len(p.Order.Parcels) == 1,
		RateID:         v.form("rate"),
		OnDuplicate:    "reject",
		IdempotencyKey: "dashboard-" + p.Once,
		// The form and the rate make the purchase: the same form sent twice
		// buys once, and a changed one is another.
		Fingerprint: sha256.Sum256([]byte(v.r.PostForm.Encode())),
	}
	if id, ok := ship.ParseShipmentID(v.form("again")); ok {
		in.AcceptDuplicate = id
	}

	bought, err := s.Shipping.Buy(v.ctx(), in)
	if err != nil {
		return v.notBought(p, err)
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
// and where.
func (v *visit) notBought(p newShipment, err error) error {
	wrong, fixable := problemsOf(err)
	if !fixable || ship.KindOf(err) == ship.Uncertain || ship.CodeOf(err) == "idempotency_in_progress" {
		return err
	}

	// Nothing was bought under the old name, and another try is another
	// purchase.
	p.Once = newOnce()
	p.Chosen = v.chosenOffer()
	p.explain(wrong)

	if ship.CodeOf(err) == "duplicate_order" {
		p.Then = v.form("then")
		if err := v.findEarlier(&p, err); err != nil {
			return err
		}
		return v.showForm(http.StatusConflict, p)
	}
	return v.showForm(http.StatusUnprocessableEntity, p)
}

// findEarlier adds to the form the shipment that its order has already.
func (v *visit) findEarlier(p *newShipment, duplicate error) error {
	e, _ := errors.AsType[*ship.Error](duplicate)
	text, _ := e.Details["possibleDuplicateOf"].(string)
	p.EarlierID = ship.ShipmentID(text)

	earlier, err := v.Shipping.Shipment(v.ctx(), v.tenant(), p.EarlierID)
	switch {
	case err == nil:
		p.Earlier = &earlier
	case ship.KindOf(err) != ship.NotFound:
		return err
	}
	return nil
}

// shipmentFields handles POST /app/{mode}/shipments/fields: a part of the form
// that follows from another.
func (s *Web) shipmentFields(v *visit) error {
	p := v.readShipmentForm()
	if err := v.offerChoices(&p); err != nil {
		return err
	}

	v.w.Header().Set("HX-Trigger-After-Swap", "filled") // the rates are asked for again
	f := v.frame("", "")
	switch v.query("part") {
	case "country":
		return v.show(http.StatusOK, countryParts(f, p))

	case "item":
		p.Customs.Items = edited(p.Customs.Items, v.query("remove"), customsLine{Quantity: "1"}, maxLines)
		return v.show(http.StatusOK, customsCard(f, p, false))

	case "tax":
		p.Customs.TaxIDs = edited(p.Customs.TaxIDs, v.query("remove"), taxLine{Party: "sender"}, maxLines)
		return v.show(http.StatusOK, customsCard(f, p, false))

	case "parcel":
		// Another parcel is most often like the last one.
		last := p.Parcels[len(p.Parcels)-1]
		p.Parcels = edited(p.Parcels, v.query("remove"), last, ship.MaxParcels)
		return v.show(http.StatusOK, parcelsFields(f, p))

	case "box":
		i, err := strconv.Atoi(or(v.query("parcel"), "0"))
		if err != nil || i < 0 || i >= len(p.Parcels) {
			return errNoPage
		}
		p.Parcels[i].fillBox(p.Boxes)
		return v.show(http.StatusOK, parcelsFields(f, p))
	}
	return errNoPage
}

// edited is a list of lines with one more, or without the one whose number is
// given.
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

// originCountry is where the account's parcels come from; the sandbox sends
// from a sample warehouse until that is known.
func (v *visit) originCountry() string {
	if o := v.who.Account.Origin; o != nil {
		return o.Country
	}
	return "US"
}

// today is the default ship date.
func today() string { return time.Now().UTC().Format(time.DateOnly) }
