package web

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// formOn reads the fields of the form with an id as a browser would send them.
func formOn(t *testing.T, page, id string) url.Values {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}

	values := url.Values{}
	var form *html.Node
	for node := range root.Descendants() {
		if node.Data == "form" && attribute(node, "id") == id {
			form = node
		}
	}
	if form == nil {
		t.Fatalf("the page has no form %q", id)
	}

	for node := range form.Descendants() {
		name := attribute(node, "name")
		switch {
		case name == "":
		case node.Data == "select":
			values.Set(name, chosenOption(node))
		case node.Data == "input" && attribute(node, "type") == "checkbox":
			if hasAttribute(node, "checked") {
				values.Add(name, attribute(node, "value"))
			}
		case node.Data == "input":
			values.Set(name, attribute(node, "value"))
		}
	}
	return values
}

func chosenOption(list *html.Node) string {
	first, found := "", false
	for option := range list.Descendants() {
		if option.Data != "option" {
			continue
		}
		if hasAttribute(option, "selected") {
			return attribute(option, "value")
		}
		if !found {
			first, found = attribute(option, "value"), true
		}
	}
	return first
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttribute(node *html.Node, name string) bool {
	for _, a := range node.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func TestACopyOfAShipmentFillsInTheForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)

	to := people[1]
	to.Phone = "+12125550100"
	to.Email = "grace@example.com"
	got, err := b.web.Shipping.Buy(t.Context(), shipping.BuyInput{
		Tenant:    ship.Tenant{Account: b.owner.ID},
		Account:   b.owner,
		OneParcel: true,
		Order: ship.Order{
			OrderID:     "4711",
			Reference:   "PO 9",
			Destination: to,
			Options:     ship.Options{Signature: "adult"},
			Parcels:     []ship.Parcel{{Weight: 2.5, WeightUnit: ship.Pound, Dimensions: &ship.Dimensions{Length: 12, Width: 9, Height: 4, Unit: ship.Inch}}},
		},
	})
	b.must(err)
	address := b.home + "/shipments/new?from=" + string(got.Shipment.ID)

	again := formOn(t, b.send(member.Shipper, address, nil).Body.String(), "new")
	for name, want := range map[string]string{
		"order": "4711", "reference": "PO 9", "name": "Grace Hopper", "company": "Compiler Works", "address1": "350 5th Avenue", "address2": "Suite 4100",
		"city": "New York", "state": "NY", "zip": "10118", "country": "US", "phone": "+12125550100", "email": "grace@example.com", "signature": "adult",
	} {
		if again.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, again.Get(name), want)
		}
	}

	// The form is complete: once the person confirms that the order is to be
	// shipped again, it buys the same parcel.
	again.Set("again", string(got.Shipment.ID))
	w := b.send(member.Shipper, b.home+"/shipments", again)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the copy is not bought: %d %s", w.Code, w.Body)
	}
	id := regexp.MustCompile(`shp_\w+`).FindString(w.Header().Get("Location"))
	bought, err := b.web.Shipping.Shipment(t.Context(), got.Shipment.Tenant, ship.ShipmentID(id))
	b.must(err)
	if parcel := bought.Order.Parcels[0]; parcel.Weight != 2.5 || parcel.WeightUnit != ship.Pound || parcel.Dimensions == nil || parcel.Dimensions.Length != 12 {
		t.Errorf("the copy's parcel is %+v", parcel)
	}

	duplicate := formOn(t, b.send(member.Shipper, address+"&as=copy", nil).Body.String(), "new")
	if duplicate.Get("order") != "" || duplicate.Get("name") != "Grace Hopper" {
		t.Errorf("a duplicate has the order number %q and the name %q", duplicate.Get("order"), duplicate.Get("name"))
	}
}

func TestACopyOfAnotherAccountsShipmentIsNotFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	theirs := b.buy(b.account("Elsewhere"), "1", people[0], 1)
	for _, id := range []string{string(theirs.ID), "shp_nothing", "x"} {
		if w := b.send(member.Shipper, b.home+"/shipments/new?from="+id, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", id, w.Code)
		}
	}
}

func TestAVoidedShipmentExpectsNoDelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "900", people[0], 1)
	path := b.home + "/shipments/" + string(sh.ID)
	if page := b.send(member.Shipper, path, nil).Body.String(); !strings.Contains(page, "Expected") || strings.Contains(page, "no delivery is expected") {
		t.Error("a live label has no expected day")
	}

	if w := b.send(member.Shipper, path+"/void", url.Values{}); w.Code != http.StatusSeeOther {
		t.Fatalf("the void: %d %s", w.Code, w.Body)
	}
	page := b.send(member.Shipper, path, nil).Body.String()
	if strings.Contains(page, "Expected") || strings.Contains(page, `class="now"`) {
		t.Error("a voided shipment still expects a delivery")
	}
	header, rest, _ := strings.Cut(page, `aria-label="Progress"`)
	_, timeline, _ := strings.Cut(rest, "<h2>Timeline</h2>")
	if !strings.Contains(header, "Voided") || !strings.Contains(timeline[:min(len(timeline), 1500)], "Voided") {
		t.Error("header and timeline do not say that the label is voided")
	}
}

// A viewer sees shipments but never their labels: not on the page, not as a
// file, and not through a link that somebody passed on.
func TestAViewerCannotPrint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "901", people[0], 1)
	path := b.home + "/shipments/" + string(sh.ID)

	page := b.send(member.Viewer, path, nil).Body.String()
	for _, hidden := range []string{"/print", "/label/", "label.png", ".zpl"} {
		if strings.Contains(page, path+hidden) || strings.Contains(page, hidden+`"`) {
			t.Errorf("a viewer's page leads to %s", hidden)
		}
	}

	for _, rt := range table(b.web.Config) {
		if !strings.Contains(rt.Path, "label") && !strings.Contains(rt.Path, "print") && !strings.Contains(rt.Path, "document") || strings.Contains(rt.Path, "track") {
			continue
		}
		// Uploads and reviews change the shipment.
		want := member.PrintLabels
		if rt.Method == http.MethodPost && strings.Contains(rt.Path, "{id}/documents") {
			want = member.BuyShipments
		}
		if rt.Action != want {
			t.Errorf("%s asks for %q, want %q", rt.Path, rt.Action, want)
		}
	}
	for _, file := range []string{"/print", "/label/label.pdf", "/label/label.png?dpi=300", "/label/label.zpl"} {
		if w := b.send(member.Viewer, path+file, nil); w.Code != http.StatusForbidden {
			t.Errorf("%s to a viewer: %d", file, w.Code)
		}
		if w := b.send(member.Shipper, path+file, nil); w.Code != http.StatusOK {
			t.Errorf("%s to a shipper: %d", file, w.Code)
		}
	}
}

// The form for a return is filled in with the way back, and buys one return: a
// second one only when the person confirms it.
func TestAReturnIsBoughtWithTheForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.buy(b.owner, "4712", people[1], 2)
	page := b.home + "/shipments/" + string(first.ID)
	address := b.home + "/shipments/new?as=return&from=" + string(first.ID)

	if text := b.send(member.Shipper, page, nil).Body.String(); !strings.Contains(text, "Create return") {
		t.Error("the page of a shipment does not offer a return")
	}
	if text := b.send(member.Viewer, page, nil).Body.String(); strings.Contains(text, "Create return") {
		t.Error("a viewer is offered a return")
	}

	form := formOn(t, b.send(member.Shipper, address, nil).Body.String(), "new")
	if form.Get("name") != first.Order.Origin.Name || form.Get("zip") != first.Order.Origin.Zip || form.Get("order") != "4712" {
		t.Fatalf("the form is filled in with %v", form)
	}
	w := b.send(member.Shipper, b.home+"/shipments", form)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("the return is not bought: %d %s", w.Code, w.Body)
	}
	id := regexp.MustCompile(`shp_\w+`).FindString(w.Header().Get("Location"))
	back, err := b.web.Shipping.Shipment(t.Context(), first.Tenant, ship.ShipmentID(id))
	b.must(err)
	if !back.Order.IsReturn || back.Order.ReturnOf != first.ID || back.Order.Origin != first.Order.Destination {
		t.Errorf("the return is %+v", back.Order)
	}

	// Both pages lead to each other.
	if text := b.send(member.Shipper, page, nil).Body.String(); !strings.Contains(text, b.home+"/shipments/"+id+`"`) {
		t.Error("the shipment's page does not lead to its return")
	}
	text := b.send(member.Shipper, b.home+"/shipments/"+id, nil).Body.String()
	if !strings.Contains(text, page+`"`) || strings.Contains(text, "Create return") {
		t.Error("the return's page does not lead to its shipment, or offers a return of it")
	}

	form = formOn(t, b.send(member.Shipper, address, nil).Body.String(), "new")
	w = b.send(member.Shipper, b.home+"/shipments", form)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "already has") || !strings.Contains(w.Body.String(), "Buy another return") {
		t.Fatalf("a second return: %d", w.Code)
	}
	form = formOn(t, w.Body.String(), "new")
	form.Set("again", id)
	if w = b.send(member.Shipper, b.home+"/shipments", form); w.Code != http.StatusSeeOther {
		t.Errorf("a second return on purpose: %d %s", w.Code, w.Body)
	}
}
