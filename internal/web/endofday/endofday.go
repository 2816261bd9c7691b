package endofday

import (
	"cmp"
	"crypto/sha256"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// day is the page: what waits, and what was handed over and booked lately.
type day struct {
	Groups    []handover.Group
	Manifests []store.Manifest
	Pickups   []store.Pickup
	Accounts  offers.AccountNames
	Collect   map[handover.Seller]bool // carrier accounts that take bookings of pickups
	Today     string
	Wrong     site.Problems
	Failed    string // what the form with the problems is about: a manifest, or the first shipment of a group
	Once      string // identifies a manifest: a second click is the same one
}

// shown is how many manifests and pickups the page lists.
const shown = 20

// getDay handles GET /app/{account}/{mode}/end-of-day.
func getDay(v *site.Visit) error { return dayWith(v, http.StatusOK, site.Problems{}) }

func dayWith(v *site.Visit, status int, wrong site.Problems) error {
	groups, err := v.Handover.Waiting(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	manifests, err := v.Handover.Manifests(v.Context(), v.Tenant(), ship.Page{Limit: shown})
	if err != nil {
		return err
	}
	pickups, err := v.Handover.Pickups(v.Context(), v.Tenant(), ship.Page{Limit: shown})
	if err != nil {
		return err
	}
	accounts, err := offers.ReadAccountNames(v)
	if err != nil {
		return err
	}
	collect, err := v.Handover.TakesPickups(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	page := day{
		Groups:    groups,
		Manifests: manifests,
		Pickups:   pickups,
		Accounts:  accounts,
		Collect:   collect,
		Today:     time.Now().UTC().Format(time.DateOnly),
		Wrong:     wrong,
		Failed:    cmp.Or(v.Form("manifest"), v.Form("first")),
		Once:      parts.NewPurchaseKey(),
	}
	return v.Show(status, dayPage(v.Frame("End of day", "end-of-day"), page))
}

// sellerOf reads which carrier account a form is about.
func sellerOf(v *site.Visit) handover.Seller {
	return handover.Seller{Connection: ship.ConnectionID(v.Form("connection")), Carrier: v.Form("carrier")}
}

// groupOf returns the group of labels that a form is about: its carrier account,
// and the place, which is named by its first shipment.
func groupOf(v *site.Visit) (handover.Group, error) {
	groups, err := v.Handover.Waiting(v.Context(), v.Tenant())
	if err != nil {
		return handover.Group{}, err
	}
	for _, group := range groups {
		if group.Seller == sellerOf(v) && string(group.Shipments[0]) == v.Form("first") {
			return group, nil
		}
	}
	return handover.Group{}, ship.Coded(ship.Conflict, "handed_over", "these labels were handed over meanwhile")
}

// closeManifest handles POST /app/{account}/{mode}/end-of-day/manifests.
func closeManifest(v *site.Visit) error {
	group, err := groupOf(v)
	if err == nil {
		in := handover.ManifestInput{
			Tenant:    v.Tenant(),
			Account:   v.Who.Account,
			Seller:    group.Seller,
			Shipments: group.Shipments,
			Address:   group.Address,
			Name: ship.KeyName{
				Key:         ship.ServiceKey(ship.KeyOfDashboardHandover, v.Form("once")),
				Fingerprint: sha256.Sum256([]byte(v.Request.PostForm.Encode())),
			},
		}
		switch {
		case group.CoversDay:
			// The carrier would refuse to leave out the labels of other places.
			in.Address, in.Shipments = ship.Address{}, nil
			in.ShipDate = group.Day
		case group.IsAtLocation():
			in.Address, in.Location = ship.Address{}, group.Location.ID
		}
		_, err = v.Handover.CloseManifest(v.Audited("", "", nil), in)
	}
	return answer(v, err, "handed-over")
}

// answer shows what is wrong with a form, or goes back to the page.
func answer(v *site.Visit, err error, done string) error {
	if wrong, fixable := site.ProblemsOf(err); fixable {
		if wrong.At(contactPointer) != "" {
			wrong.All = "Check the marked fields."
		}
		return dayWith(v, http.StatusUnprocessableEntity, wrong)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("end-of-day"), done)
}

// printManifest handles GET /app/{account}/{mode}/end-of-day/manifests/{id}: the
// form to print.
func printManifest(v *site.Visit) error {
	id, ok := ship.ParseManifestID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	document, err := v.Handover.ManifestDocument(v.Context(), v.Tenant(), id, 1)
	if err != nil {
		return err
	}

	kind := "application/octet-stream" // a carrier's format that is not expected is not opened by the browser
	switch document.Format {
	case "pdf":
		kind = "application/pdf"
	case "txt":
		kind = "text/plain; charset=utf-8"
	}
	header := v.Writer.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Disposition", `inline; filename="`+string(id)+"."+document.Format+`"`)
	header.Set("Content-Length", strconv.Itoa(len(document.Data)))
	_, err = v.Writer.Write(document.Data)
	return err
}

// bookPickup handles POST /app/{account}/{mode}/end-of-day/pickups, for labels that are
// not handed over yet or those of a manifest. It books a pickup for each place and each
// division of the carrier; those that are booked are not booked again.
func bookPickup(v *site.Visit) error {
	groups, err := groupsToCollect(v)
	if err != nil {
		return answer(v, err, "")
	}
	window, err := windowOf(v)
	if err != nil {
		return answer(v, err, "")
	}

	done := "pickup-booked"
	for _, group := range groups {
		hasPending, err := bookFor(v, group, window)
		if err != nil {
			return answer(v, err, "")
		}
		if hasPending {
			done = "pickup-pending"
		}
	}
	return answer(v, nil, done)
}

// groupsToCollect returns the groups that a form of a pickup is about.
func groupsToCollect(v *site.Visit) ([]handover.Group, error) {
	if v.Form("manifest") == "" {
		group, err := groupOf(v)
		return []handover.Group{group}, err
	}

	id, ok := ship.ParseManifestID(v.Form("manifest"))
	if !ok {
		return nil, site.ErrNoPage
	}
	groups, err := v.Handover.Collectable(v.Context(), v.Tenant(), id)
	if ship.KindOf(err) == ship.NotFound {
		return nil, site.ErrNoPage
	}
	return groups, err
}

// bookFor books the pickups of a group, and reports whether the carrier has not answered
// for one yet.
func bookFor(v *site.Visit, group handover.Group, window ship.TimeWindow) (hasPending bool, err error) {
	in := handover.PickupInput{
		Tenant:       v.Tenant(),
		Account:      v.Who.Account,
		Seller:       group.Seller,
		Address:      group.Address,
		Window:       window,
		Instructions: v.Form("instructions"),
		Contact:      strings.TrimSpace(v.Form("contact")),
	}
	if group.IsAtLocation() {
		in.Address, in.Location = ship.Address{}, group.Location.ID
	}

	for _, collection := range group.Pickups {
		in.Shipments = collection.Shipments
		booked, err := v.Handover.BookPickup(v.Audited("", "", nil), in)
		if err != nil {
			return hasPending, err
		}
		hasPending = hasPending || booked.State.IsOpen()
	}
	return hasPending, nil
}

// contactPointer is where the API has the contact of a pickup.
const contactPointer = "/address/name"

// pickupForm is what a form of a pickup begins with.
type pickupForm struct {
	contact, ready, closes string
	wrong                  site.Problems // of this form
}

// formFor returns the form for a group of labels.
func (p day) formFor(g handover.Group) pickupForm {
	return pickupForm{contact: g.PickupAddress().Name, ready: readyTime(g), closes: closingTime(g), wrong: p.wrongAt(string(g.Shipments[0]))}
}

// formAfter returns the form for the parcels of a manifest.
func (p day) formAfter(m store.Manifest) pickupForm {
	return pickupForm{contact: m.Order.Address.Name, ready: "12:00", closes: "17:00", wrong: p.wrongAt(string(m.ID))}
}

// wrongAt returns the problems of the form that is about a manifest or a first shipment.
func (p day) wrongAt(about string) site.Problems {
	if about != p.Failed {
		return site.Problems{}
	}
	return p.Wrong
}

// windowOf reads from when until when a driver may come. The script adds the
// offset of the place where the page is open; without it, times are in UTC.
func windowOf(v *site.Visit) (ship.TimeWindow, error) {
	var window ship.TimeWindow
	var invalid []ship.FieldError
	read := func(field string) time.Time {
		at, err := time.Parse("2006-01-02T15:04Z07:00", v.Form("date")+"T"+v.Form(field)+cmp.Or(v.Form("offset"), "Z"))
		if err != nil {
			invalid = append(invalid, ship.FieldError{Pointer: "/" + field, Code: "invalid", Detail: "must be a day and a time"})
		}
		return at
	}
	window.ReadyAt = read("readyAt")
	window.CloseAt = read("closeAt")
	return window, ship.InvalidFields(invalid)
}

// cancelPickup handles POST /app/{account}/{mode}/end-of-day/pickups/{id}/cancel.
func cancelPickup(v *site.Visit) error {
	id, ok := ship.ParsePickupID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	_, err := v.Handover.CancelPickup(v.Audited("", "", nil), v.Tenant(), id)
	if ship.KindOf(err) == ship.NotFound {
		return site.ErrNoPage
	}
	return answer(v, err, "pickup-cancelled")
}

// findingOf reads what a person learned from the carrier.
func findingOf(v *site.Visit) (handover.Finding, error) {
	found := handover.Finding{Done: v.Form("outcome") == "done"}
	if !found.Done && v.Form("outcome") != "not_done" {
		return found, ship.InvalidFields([]ship.FieldError{{Pointer: "/outcome", Code: "required", Detail: "say what the carrier has"}})
	}
	if found.Done {
		found.Number = v.Form("number")
	}
	return found, nil
}

// resolveManifest handles POST /app/{account}/{mode}/end-of-day/manifests/{id}/resolve.
func resolveManifest(v *site.Visit) error {
	id, ok := ship.ParseManifestID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	found, err := findingOf(v)
	if err == nil {
		_, err = v.Handover.ResolveManifest(v.Audited("manifest.resolved", "", nil), v.Tenant(), id, found)
	}
	if ship.KindOf(err) == ship.NotFound {
		return site.ErrNoPage
	}
	return answer(v, err, "resolved")
}

// resolvePickup handles POST /app/{account}/{mode}/end-of-day/pickups/{id}/resolve.
func resolvePickup(v *site.Visit) error {
	id, ok := ship.ParsePickupID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	found, err := findingOf(v)
	if err == nil {
		_, err = v.Handover.ResolvePickup(v.Audited("pickup.resolved", "", nil), v.Tenant(), id, found)
	}
	if ship.KindOf(err) == ship.NotFound {
		return site.ErrNoPage
	}
	return answer(v, err, "resolved")
}

// stateWords are the states of manifests and pickups as people read them.
var stateWords = map[effect.State]string{
	effect.Pending:     "Waiting for the carrier",
	effect.Uncertain:   "Waiting for the carrier",
	effect.Failed:      "Failed",
	effect.NeedsReview: "Needs review",
}

func manifestWords(m store.Manifest) string { return cmp.Or(stateWords[m.State], "Handed over") }

func pickupWords(p store.Pickup) string {
	if !p.CancelledAt.IsZero() {
		return "Cancelled"
	}
	return cmp.Or(stateWords[p.State], "Scheduled")
}

// accountName returns the name of a carrier account.
func (p day) accountName(carrier string, connection ship.ConnectionID) string {
	return cmp.Or(p.Accounts[connection], parts.CarrierTitle(carrier))
}

// hasOtherPlaces reports whether closing the group's manifest hands over labels of
// other groups, too.
func (p day) hasOtherPlaces(group handover.Group) bool {
	count := 0
	for _, other := range p.Groups {
		if other.Seller == group.Seller && other.Day == group.Day && other.HasManifest {
			count++
		}
	}
	return group.CoversDay && count > 1
}

// placeName is what people call where a group leaves from.
func placeName(location, city string) string { return cmp.Or(location, city) }

// closingTime is until when the group's parcels can be collected, as a form
// suggests it.
func closingTime(g handover.Group) string { return cmp.Or(g.Location.CutoffFor(g.Carrier), "17:00") }

// readyTime is from when the group's parcels can be collected, as a form suggests
// it.
func readyTime(g handover.Group) string {
	if closingTime(g) <= "13:00" {
		return "08:00"
	}
	return "12:00"
}

// pickupPlace is where a driver of the group goes, in one line.
func pickupPlace(g handover.Group) string {
	address := g.PickupAddress()
	words := []string{address.Name, address.Address1, address.Address2, address.City}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ", ")
}

// windowWords are a window in the wall time of its place.
func windowWords(w ship.TimeWindow) string {
	return w.ReadyAt.Format("Mon 2 Jan, 15:04") + " to " + w.CloseAt.Format("15:04")
}

func labelWords(n int) string { return plural(n, "label") }

func parcelWords(n int) string { return plural(n, "parcel") }

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// collectableFor is how long after its closing a pickup can be booked for a manifest from
// its row.
const collectableFor = 24 * time.Hour

// canCollect reports whether a pickup can be booked for the parcels of a manifest, and
// this person may book one.
func (p day) canCollect(f site.Frame, m store.Manifest) bool {
	takes := p.Collect[handover.Seller{Connection: m.Connection, Carrier: m.Carrier}]
	isRecent := time.Since(m.ID.Raw().Time()) < collectableFor
	return takes && isRecent && m.State == effect.Succeeded && f.Who.Can(member.BuyShipments)
}

// canResolve reports whether the state waits for a person, and this one may end it.
func canResolve(f site.Frame, state effect.State) bool {
	return state == effect.NeedsReview && f.Who.Can(member.BuyShipments)
}

// canCancel reports whether the pickup can still be cancelled, and the person may
// do it.
func canCancel(f site.Frame, p store.Pickup) bool {
	return p.State == effect.Succeeded && p.CancelledAt.IsZero() && p.Booking.Confirmation != "" && f.Who.Can(member.BuyShipments)
}
