package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/web/newshipment"
)

func TestTheFormOffersServicePoints(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	f := addressForm()
	w := b.send(member.Shipper, b.home+"/shipments/points", f, "HX-Request", "true")
	body := w.Body.String()
	for _, text := range []string{`type="radio" name="option.servicePoint"`, "Deliver to the address", "UPS Access Point", " mi<", "Mon"} {
		if w.Code != http.StatusOK || !strings.Contains(body, text) {
			t.Errorf("%d, no %q in %s", w.Code, text, body)
		}
	}

	f.Set("zip", "")
	f.Set("city", "")
	w = b.send(member.Shipper, b.home+"/shipments/points", f, "HX-Request", "true")
	if body := w.Body.String(); w.Code != http.StatusOK || strings.Contains(body, "radio") || !strings.Contains(body, "Enter the recipient&#39;s postal code or city first.") {
		t.Errorf("without a place: %d %s", w.Code, body)
	}

	f.Set("zip", "00001") // nothing is near it
	w = b.send(member.Shipper, b.home+"/shipments/points", f, "HX-Request", "true")
	if body := w.Body.String(); w.Code != http.StatusOK || strings.Contains(body, "radio") || !strings.Contains(body, "No service points were found") {
		t.Errorf("without points: %d %s", w.Code, body)
	}
}

func TestTheFormShowsDuties(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.send(member.Shipper, b.home+"/shipments/duties", abroadForm(), "HX-Request", "true")
	for _, text := range []string{"Duties and taxes", "DHL Express", "estimate"} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%d, no %q in %s", w.Code, text, w.Body)
		}
	}
	w = b.send(member.Shipper, b.home+"/shipments/duties", addressForm(), "HX-Request", "true")
	if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != "" {
		t.Errorf("inside a country: %d %q", w.Code, w.Body)
	}
}

func TestADeliveredShipmentHasItsProof(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owned := storetest.Conn(t, b.store.System().Config().ConnString())
	for carrier, hasProof := range map[string]bool{"ups": true, "usps": false} {
		bought, err := b.web.Shipping.Buy(t.Context(), shipping.BuyInput{
			Tenant: ship.Tenant{Account: b.owner.ID}, Account: b.owner, OneParcel: true, Carrier: carrier,
			Order: ship.Order{OrderID: carrier, Destination: people[0], Parcels: []ship.Parcel{{Weight: 1}}},
		})
		b.must(err)
		page := b.home + "/shipments/" + string(bought.Shipment.ID)
		if w := b.send(member.Shipper, page, nil); strings.Contains(w.Body.String(), "proof-of-delivery") {
			t.Error("a parcel that is not delivered has a proof")
		}

		if _, err := owned.Exec(t.Context(), "UPDATE shipment_states SET status = 'delivered'"); err != nil {
			t.Fatal(err)
		}
		w := b.send(member.Shipper, page+"/proof-of-delivery", nil)
		if isShown := w.Code == http.StatusOK && strings.HasPrefix(w.Body.String(), "%PDF"); isShown != hasProof {
			t.Errorf("%s: %d %.80s", carrier, w.Code, w.Body)
		}
		if isLinked := strings.Contains(b.send(member.Shipper, page, nil).Body.String(), "proof-of-delivery"); isLinked != hasProof {
			t.Errorf("%s: the page has a link: %v", carrier, isLinked)
		}

		// Without a file the page says what to choose.
		w = b.send(member.Shipper, page+"/documents", form("type", "other"))
		if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "Choose a PDF, PNG or JPEG file") || !strings.Contains(w.Body.String(), "Timeline") {
			t.Errorf("%s: an upload without a file: %d %.300s", carrier, w.Code, w.Body)
		}
	}
}

func TestWarningsNameTheFieldsOfTheForm(t *testing.T) {
	t.Parallel()
	for warning, want := range map[string]string{
		"/customs/incoterm is missing":           "Incoterm is missing",
		"/customs/items/1/hsCode is missing":     "Item 2, HS code is missing",
		"/customs/items have several currencies": "The declared items have several currencies",
		"the label costs more than was quoted":   "the label costs more than was quoted",
	} {
		if got := newshipment.NameField(warning); got != want {
			t.Errorf("%q is shown as %q, want %q", warning, got, want)
		}
	}
}
