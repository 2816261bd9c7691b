package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/site"
)

// returnsOf wires the returns of recipients to what ships, without a mail server.
func (b *bench) returnsOf(c site.Config) *returns.Service {
	return returns.New(returns.Config{
		Store: b.store,
		Log:   c.Log,
		Buy: func(ctx context.Context, p returns.Purchase) (returns.Bought, error) {
			bought, err := c.Shipping.Return(ctx, shipping.ReturnInput{Shipment: p.Shipment, BuyInput: shipping.BuyInput{
				Tenant: p.Tenant, Account: b.owner, Person: p.Spender.Person, IdempotencyKey: p.Key, Fingerprint: p.Fingerprint,
			}})
			return returns.Bought{Shipment: bought.Shipment.ID, Pending: bought.Pending}, err
		},
		LabelLink: func(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (string, time.Time, error) {
			link, err := c.Shipping.LabelLink(ctx, t, id, label.PDF, time.Hour)
			return testBase + "/v1/labels/" + string(id) + ".pdf?token=" + url.QueryEscape(link.Token), link.ExpiresAt, err
		},
	})
}

// allowReturns turns self-service returns on.
func (b *bench) allowReturns(a ship.Account) {
	b.Helper()
	rule := ship.DefaultReturnRule()
	rule.Enabled = true
	_, err := b.web.Returns.SaveRule(b.Context(), ship.Tenant{Account: a.ID}, rule)
	b.must(err)
}

// askForReturn has the recipient of a delivered parcel of the account ask for its
// return.
func (b *bench) askForReturn(a ship.Account) ship.ReturnRequest {
	b.Helper()
	b.allowReturns(a)
	sh := b.buy(a, "returned", people[0], 1)
	b.advance(sh, ship.Delivered, "")
	tracked, err := b.web.Tracking.Track(b.Context(), sh.Tenant, string(sh.ID), "")
	b.must(err)
	sh.Progress = tracked.Progress

	// The form itself is limited by address, and many tests need a request.
	request, err := b.web.Returns.Ask(b.Context(), returns.Ask{
		Parcel:   returns.Parcel{Shipment: sh, Scans: tracked.Scans},
		Proof:    people[0].Zip,
		Reason:   "Wrong size",
		Comment:  "<b>small</b>",
		Email:    "ada@example.com",
		Language: "en",
	})
	b.must(err)
	return request
}

// TestARecipientReturnsAParcel: the offer comes with the delivery, the address of the
// page alone is not enough, and the label comes after a person has approved.
func TestARecipientReturnsAParcel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	path := b.trackPathOf(sh)
	offers := func() bool {
		return strings.Contains(b.send("", path, nil).Body.String(), "Return this parcel")
	}
	b.advance(sh, ship.Delivered, "")
	if offers() {
		t.Error("returns are offered without a rule")
	}
	b.allowReturns(b.owner)
	if !offers() {
		t.Error("returns are not offered after the delivery")
	}
	page := b.send("", path+"/return?lang=de", nil)
	if !strings.Contains(page.Body.String(), "Postleitzahl der Lieferadresse") || page.Header().Get("Set-Cookie") != "" {
		t.Errorf("the form: %s", page.Body)
	}

	// A wrong form is shown again with what was written, as text.
	wrong := form("reason", "Wrong size", "email", "nobody", "postalCode", "78702", "comment", `"><script>x</script>`)
	again := b.send("", path+"/return", wrong)
	for _, want := range []string{"such as name@example.com", "&lt;script&gt;"} {
		if again.Code != http.StatusUnprocessableEntity || !strings.Contains(again.Body.String(), want) {
			t.Errorf("a wrong form: %d, without %q", again.Code, want)
		}
	}
	right := form("reason", "Wrong size", "email", "ada@example.com", "postalCode", "78702", "items", "Blue jacket")
	if w := b.send("", path+"/return", right); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "This is not the postal code") {
		t.Errorf("with another postal code: %d", w.Code)
	}
	right.Set("postalCode", " 78701-0001")
	if w := b.send("", path+"/return", right, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", w.Code)
	}
	for range 2 { // a second click is the same request
		if w := b.send("", path+"/return", right); w.Code != http.StatusSeeOther {
			t.Fatalf("the form: %d %s", w.Code, w.Body)
		}
	}
	if page := b.send("", path+"/return", nil).Body.String(); !strings.Contains(page, "The sender will review it.") || strings.Contains(page, "ada@example.com") {
		t.Errorf("the page does not say that it was requested, or shows who asked")
	}

	// A person approves, and the job buys.
	queue := b.send(member.Viewer, b.home+"/returns", nil).Body.String()
	if !strings.Contains(queue, "Blue jacket") || strings.Contains(queue, "Approve") {
		t.Error("a viewer does not see the request, or could approve it")
	}
	list, err := b.web.Returns.Requests(t.Context(), sh.Tenant, "", ship.Page{Limit: 5})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d requests, %v", len(list), err)
	}
	if w := b.send(member.Shipper, b.home+"/returns/"+string(list[0].ID)+"/approve", form()); w.Code != http.StatusSeeOther {
		t.Fatalf("approve: %d %s", w.Code, w.Body)
	}
	if _, err := b.web.Returns.Fulfil(t.Context(), sh.Tenant, list[0].ID); err != nil {
		t.Fatal(err)
	}

	// The label is for whoever knows the postal code.
	page = b.send("", path+"/return", nil)
	if !strings.Contains(page.Body.String(), "Download label") || strings.Contains(page.Body.String(), "/v1/labels/") {
		t.Errorf("the page: %s", page.Body)
	}
	if w := b.send("", path+"/return/label", form("postalCode", "10001")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("the label without the postal code: %d", w.Code)
	}
	w := b.send("", path+"/return/label", form("postalCode", "78701"))
	if w.Code != http.StatusSeeOther || !strings.Contains(w.Header().Get("Location"), "/v1/labels/") {
		t.Errorf("the label: %d to %q", w.Code, w.Header().Get("Location"))
	}
	if history := b.send(member.Viewer, b.home+"/returns", nil).Body.String(); !strings.Contains(history, "Label sent") || !strings.Contains(history, "View return") {
		t.Error("the history does not show the return")
	}
}

// TestPostalCodesCannotBeGuessed: the pages of a shipment stop to answer after a few
// wrong codes, wherever they come from and whichever copy of the program answers.
func TestPostalCodesCannotBeGuessed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.allowReturns(b.owner)
	shipment := b.buy(b.owner, "1", people[0], 1)
	b.advance(shipment, ship.Delivered, "")
	path := b.trackPathOf(shipment) + "/return"

	guesses := 0
	for range 10 {
		answer := b.send("", path, form("reason", "Wrong size", "email", "ada@example.com", "postalCode", "00000"))
		if answer.Code == http.StatusTooManyRequests {
			break
		}
		guesses++
	}
	if guesses != 5 {
		t.Errorf("%d guesses were compared, want 5", guesses)
	}

	right := form("reason", "Wrong size", "email", "ada@example.com", "postalCode", shipment.Order.Destination.Zip)
	if answer := b.send("", path, right); answer.Code != http.StatusTooManyRequests {
		t.Errorf("the right code after the guesses: %d", answer.Code)
	}
}

// TestALinkAloneReturnsNothing: where addresses have no postal code, the page asks
// for something else that only the recipient knows.
func TestALinkAloneReturnsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rule := ship.DefaultReturnRule()
	rule.Enabled = true
	rule.Approval = ship.ApprovalAutomatic
	_, err := b.web.Returns.SaveRule(t.Context(), ship.Tenant{Account: b.owner.ID}, rule)
	b.must(err)

	recipient := people[0]
	recipient.Zip = ""
	recipient.State = ""
	recipient.City = "Hong Kong"
	recipient.Country = "HK"
	recipient.Phone = "+852 2123 4567"
	shipment := b.buy(b.owner, "1", recipient, 1)
	b.advance(shipment, ship.Delivered, "")
	path := b.trackPathOf(shipment) + "/return"

	if page := b.send("", path, nil).Body.String(); !strings.Contains(page, "Last four digits") || strings.Contains(page, "4567") {
		t.Errorf("the form does not ask for the phone number, or shows it: %s", page)
	}
	thief := form("reason", "Wrong size", "email", "thief@elsewhere.test")
	if answer := b.send("", path, thief); answer.Code != http.StatusUnprocessableEntity || !strings.Contains(answer.Body.String(), "These are not the last four digits") {
		t.Errorf("with the link alone: %d %s", answer.Code, answer.Body)
	}
	if answer := b.send("", path+"/label", form()); answer.Code == http.StatusSeeOther {
		t.Error("the label without a proof")
	}

	own := form("reason", "Wrong size", "email", "ada@example.com", "phone", "4567")
	if answer := b.send("", path, own); answer.Code != http.StatusSeeOther {
		t.Fatalf("with the phone number: %d %s", answer.Code, answer.Body)
	}
	list, err := b.web.Returns.Requests(t.Context(), shipment.Tenant, "", ship.Page{Limit: 5})
	if err != nil || len(list) != 1 {
		t.Errorf("%d requests, %v; want that of the recipient", len(list), err)
	}
}

func TestTheReturnRuleIsSavedAsItIsShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.home + "/settings/returns"
	if w := b.send(member.Developer, path, form("days", "14")); w.Code != http.StatusForbidden {
		t.Errorf("a developer changes the rule: %d", w.Code)
	}
	rule := form("enabled", "yes", "days", "14", "reasons", "Wrong size\r\n\r\nToo late", "paidBy", "recipient", "approval", "automatic", "amount", "9.5", "currency", "usd", "carrier", "ups", "service", "ground")
	if w := b.send(member.Owner, path, rule); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	saved, err := b.web.Returns.Rule(t.Context(), ship.Tenant{Account: b.owner.ID})
	if err != nil || !saved.Enabled || saved.Days != 14 || len(saved.Reasons) != 2 || saved.MaxAmount != (ship.Money{Minor: 950, Currency: "USD"}) || saved.SavedBy.Person == "" {
		t.Errorf("saved %+v, %v", saved, err)
	}
	page := b.send(member.Viewer, path, nil).Body.String()
	for _, want := range []string{"Wrong size\nToo late", `value="14"`, `value="9.50"`, `<option value="ups" selected>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	rule.Set("amount", "much")
	if w := b.send(member.Owner, path, rule); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "15.00 and USD") {
		t.Errorf("a wrong amount: %d", w.Code)
	}
}
