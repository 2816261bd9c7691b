package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/site"
)

// settle resolves an open purchase at once, as the job does after its backoff.
func (b *bench) settle(sh ship.Shipment, want ship.State) {
	b.Helper()
	impatient := b.shippingWith(shipping.Waits{Settle: 1, Look: 1, Rebuy: 1, Review: 1, Answer: time.Second})
	for range 5 {
		time.Sleep(2 * time.Millisecond)
		_, err := impatient.Settle(b.Context(), sh.Tenant, sh.ID)
		b.must(err)
	}
	got, err := b.web.Shipping.Shipment(b.Context(), sh.Tenant, sh.ID)
	b.must(err)
	if got.State != want {
		b.Fatalf("order %s is %s, want %s", sh.Order.OrderID, got.State, want)
	}
}

// to returns a recipient whose name makes the sandbox fail in a certain way.
func to(name string) ship.Address {
	address := people[0]
	address.Name = name
	return address
}

// inEveryState gives the account shipments in every status and every state,
// and more live labels than a page of a list has.
func (b *bench) inEveryState() {
	b.Helper()
	tenant := ship.Tenant{Account: b.owner.ID}

	for i := range site.PageSize + 5 {
		b.buy(b.owner, "ready "+strconv.Itoa(i), people[i%3], 1)
	}
	for _, status := range []ship.Status{ship.PickedUp, ship.InTransit, ship.OutForDelivery, ship.Delivered, ship.Exception, ship.Exception} {
		sh := b.buy(b.owner, "parcel "+string(status), people[1], 1)
		_, err := b.web.Tracking.Advance(b.Context(), tenant, sh.ID, status, "")
		b.must(err)
	}
	for range 8 { // one step at a time, up to the scan that no status table knows
		unmapped := b.buy(b.owner, "unmapped", to("FAULT UNMAPPED"), 1)
		for range 8 {
			if _, err := b.web.Tracking.Advance(b.Context(), tenant, unmapped.ID, "", ""); err != nil {
				break
			}
		}
	}

	for order, name := range map[string]string{"voided": "Ada Lovelace", "voiding": "FAULT VOID TIMEOUT", "refund": "FAULT VOID PENDING"} {
		sh := b.buy(b.owner, order, to(name), 1)
		_, err := b.web.Shipping.Void(b.Context(), tenant, sh.ID)
		b.must(err)
	}
	delivered := b.buy(b.owner, "voided later", people[2], 1)
	_, err := b.web.Tracking.Advance(b.Context(), tenant, delivered.ID, ship.InTransit, "")
	b.must(err)
	_, err = b.web.Shipping.Void(b.Context(), tenant, delivered.ID)
	b.must(err)

	b.buy(b.owner, "uncertain", to("FAULT TIMEOUT"), 1)
	b.settle(b.buy(b.owner, "review", to("FAULT NO CONFIRMATION"), 1), ship.StateNeedsReview)
	b.settle(b.buy(b.owner, "failed", to("FAULT TIMEOUT"), 1), ship.StateFailed)

	// Its order has been shipped again since, so it needs no attention.
	b.settle(b.buy(b.owner, "failed and shipped", to("FAULT TIMEOUT"), 1), ship.StateFailed)
	b.buy(b.owner, "failed and shipped", people[0], 1)
}

// A shownCount is a number on a page and the list that its link leads to.
type shownCount struct {
	what  string
	count int
	list  string
}

// countsOn returns the numbers on a page that are links, or stand beside one.
func countsOn(t *testing.T, page string) (list []shownCount) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for node := range root.Descendants() {
		class := strings.Fields(attribute(node, "class"))
		switch {
		case node.Data == "a" && contains(class, "tile"):
			// Money and percentages do not count the items of a list.
			if n, err := strconv.Atoi(strings.ReplaceAll(textOf(find(node, "b")), ",", "")); err == nil {
				list = append(list, shownCount{textOf(find(node, "span")), n, attribute(node, "href")})
			}

		case node.Data == "li" && find(node, "meter") != nil:
			link := find(node, "a")
			number, _, _ := strings.Cut(textOf(last(node, "span")), " ")
			n, err := strconv.Atoi(strings.ReplaceAll(number, ",", ""))
			if err != nil {
				t.Errorf("%q has no number: %v", textOf(link), err)
			}
			list = append(list, shownCount{textOf(link), n, attribute(link, "href")})

		case node.Data == "a" && find(node, "rect") != nil:
			_, number, _ := strings.Cut(attribute(node, "aria-label"), ": ")
			n, err := strconv.Atoi(strings.ReplaceAll(number, ",", ""))
			if err != nil {
				t.Errorf("a bar is %q: %v", attribute(node, "aria-label"), err)
			}
			list = append(list, shownCount{attribute(node, "aria-label"), n, attribute(node, "href")})

		case node.Data == "span" && contains(class, "count"):
			n, err := strconv.Atoi(textOf(node))
			if err != nil {
				t.Errorf("a count is %q", textOf(node))
			}
			list = append(list, shownCount{textOf(node.Parent), n, attribute(node.Parent, "href")})
		}
	}
	return list
}

func contains(list []string, word string) bool {
	for _, x := range list {
		if x == word {
			return true
		}
	}
	return false
}

func find(node *html.Node, tag string) *html.Node {
	for x := range node.Descendants() {
		if x.Type == html.ElementNode && x.Data == tag {
			return x
		}
	}
	return nil
}

// last returns the last child of node with the tag.
func last(node *html.Node, tag string) (found *html.Node) {
	for x := range node.ChildNodes() {
		if x.Type == html.ElementNode && x.Data == tag {
			found = x
		}
	}
	return found
}

func textOf(node *html.Node) string {
	var b strings.Builder
	for x := range node.Descendants() {
		if x.Type == html.TextNode {
			b.WriteString(x.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// rowsOf counts the lines of a list over all its pages.
func (b *bench) rowsOf(address string) (rows int) {
	b.Helper()
	for pages := 0; address != ""; pages++ {
		if pages > 20 {
			b.Fatalf("%s has no end", address)
		}
		w := b.send(member.Owner, address, nil)
		if w.Code != http.StatusOK {
			b.Fatalf("%s: %d", address, w.Code)
		}
		root, err := html.Parse(w.Body)
		b.must(err)
		address = ""
		for node := range root.Descendants() {
			if node.Data == "tr" && node.Parent.Data == "tbody" {
				rows++
			}
			if node.Data == "a" && attribute(node, "rel") == "next" {
				address = attribute(node, "href")
			}
		}
	}
	return rows
}

func TestEveryCountOnTheOverviewIsTheLengthOfItsList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.inEveryState()
	b.untilCounted()

	for _, path := range []string{b.home, b.home + "?days=7", b.home + "/attention"} {
		found := countsOn(t, b.send(member.Owner, path, nil).Body.String())
		if len(found) < 5 {
			t.Fatalf("%s shows %d counts", path, len(found))
		}
		for _, shown := range found {
			if rows := b.rowsOf(shown.list); rows != shown.count {
				t.Errorf("%s: %s says %d, %s lists %d", path, shown.what, shown.count, shown.list, rows)
			}
		}
	}
}

// untilCounted waits until the log shows all events and they are counted. The
// log shows an event only once no open transaction can precede it.
func (b *bench) untilCounted() {
	b.Helper()
	tenant := ship.Tenant{Account: b.owner.ID}
	for range 300 {
		b.rolled()
		a, err := b.web.Shipping.Attention(b.Context(), tenant)
		b.must(err)
		if a.Failed > 0 && a.Unknown > 1 && a.Exceptions > 1 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.Fatal("the shipments are not counted")
}

func TestTheOverviewCountsOnlyLiveLabels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 3 {
		b.buy(b.owner, "live "+strconv.Itoa(i), people[0], 1)
	}
	voided := b.buy(b.owner, "voided", people[0], 1)
	_, err := b.web.Shipping.Void(t.Context(), voided.Tenant, voided.ID)
	b.must(err)

	counts := map[string]int{}
	for _, shown := range countsOn(t, b.send(member.Owner, b.home, nil).Body.String()) {
		counts[shown.what] = shown.count
	}
	for what, want := range map[string]int{"Shipments": 3, "Label ready": 3, "Voided": 1} {
		if counts[what] != want {
			t.Errorf("%s is %d, want %d", what, counts[what], want)
		}
	}

	for filter, want := range map[string]int{"": 4, "active": 3, "label_generated": 3, "voided": 1, "failed": 0} {
		if rows := b.rowsOf(b.home + "/shipments?status=" + filter); rows != want {
			t.Errorf("the filter %q lists %d, want %d", filter, rows, want)
		}
	}
}

func TestAFailedPurchaseNeedsAttentionWithItsReason(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	failed := b.buy(b.owner, "5005", to("FAULT TIMEOUT"), 1)
	b.settle(failed, ship.StateFailed)
	for range 300 {
		b.rolled()
		if a, err := b.web.Shipping.Attention(t.Context(), failed.Tenant); err != nil || a.Failed > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}

	again := b.home + "/shipments/new?from=" + string(failed.ID)
	for path, wants := range map[string][]string{
		b.home + "/attention?kind=failed":          {"5005", "Not bought", "did not answer in time and has no record of the purchase", "Edit and buy again", "Duplicate", again},
		b.home + "/shipments/" + string(failed.ID): {"Not bought", "did not answer in time and has no record of the purchase", "Edit and buy again", "Duplicate", again},
	} {
		page := b.send(member.Shipper, path, nil).Body.String()
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
		if viewer := b.send(member.Viewer, path, nil).Body.String(); strings.Contains(viewer, "buy again</a>") {
			t.Errorf("%s offers a viewer to buy", path)
		}
	}

	// The order is shipped again to an address that works, so it no longer
	// needs attention.
	values := formOn(t, b.send(member.Shipper, again, nil).Body.String(), "new")
	values.Set("name", "Ada Lovelace")
	if w := b.send(member.Shipper, b.home+"/shipments", values); w.Code != http.StatusSeeOther {
		t.Fatalf("the order is not bought again: %d", w.Code)
	}
	if page := b.send(member.Shipper, b.home+"/attention?kind=failed", nil).Body.String(); strings.Contains(page, "5005") {
		t.Error("an order that was shipped again still needs attention")
	}
}

func TestOldAddressesOfFiltersStillWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy(b.owner, "open", to("FAULT TIMEOUT"), 1)
	b.buy(b.owner, "ready", people[0], 1)
	for query, want := range map[string]int{"status=created": 1, "status=nonsense": 2, "status=label_generated": 1, "status=voided&sort=due": 0} {
		if _, err := url.ParseQuery(query); err != nil {
			t.Fatal(err)
		}
		if rows := b.rowsOf(b.home + "/shipments?" + query); rows != want {
			t.Errorf("%s lists %d, want %d", query, rows, want)
		}
	}
}
