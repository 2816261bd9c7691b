// Package shipments has the list of shipments and the page of one: its
// tracking, label, documents, events, and the requests to its carrier.
package shipments

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/newshipment"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// shipmentList is the page of shipments.
type shipmentList struct {
	Filter   shipmentQuery
	List     []ship.Shipment
	Next     string // address of the next page
	Carriers []parts.Choice
	Printed  map[ship.ShipmentID]store.LabelPrint
	Views    []account.SavedView

	NoCarrier bool // no carrier is connected in the mode
}

// A shipmentQuery is the filter as the address carries it.
type shipmentQuery struct {
	Status, Carrier, Order, To, From, Until string
	Days                                    string // created in the last days; "" for any time
	Sort                                    string // "" is newest first; "oldest", "due" or "due-last"
	Cursor                                  string
}

// maxDays is the longest period of the filter.
const maxDays = 365

// periods are the choices of when shipments were created.
var periods = []parts.Choice{
	{Value: "", Title: "Any time"},
	{Value: "1", Title: "Today"},
	{Value: "7", Title: "Last 7 days"},
	{Value: "30", Title: "Last 30 days"},
}

// readShipmentQuery reads the filter from an address or a form.
func readShipmentQuery(value func(name string) string) shipmentQuery {
	query := shipmentQuery{
		Status:  value("status"),
		Carrier: value("carrier"),
		Order:   value("order"),
		To:      value("to"),
		From:    value("from"),
		Until:   value("until"),
		Days:    value("days"),
		Cursor:  value("cursor"),
	}
	query.Sort = query.sortable(value("sort"))
	return query
}

// fields are the names and values of the filter, without the page of the list.
func (q shipmentQuery) fields() [][2]string {
	return [][2]string{
		{"status", q.Status},
		{"carrier", q.Carrier},
		{"order", q.Order},
		{"to", q.To},
		{"sort", q.Sort},
		{"from", q.From},
		{"until", q.Until},
		{"days", q.Days},
	}
}

// sortable returns the sort order, or "" if no index serves it together with
// the filters.
func (q shipmentQuery) sortable(sort string) string {
	if q.Order != "" || q.To != "" {
		return ""
	}
	if sort == "oldest" {
		return sort
	}

	// Labels that are pending, voided or failed are not sorted by due date.
	chosen, _ := parts.StatusFilterOf(q.Status)
	hasNoLiveLabel := chosen.Value != "" && chosen.Status == "" && chosen.Value != parts.ActiveFilter
	if hasNoLiveLabel || q.Carrier != "" || q.From != "" || q.Until != "" || q.Days != "" {
		return ""
	}
	if sort == "due" || sort == "due-last" {
		return sort
	}
	return ""
}

// isEmpty reports whether nothing is filtered.
func (q shipmentQuery) isEmpty() bool { return q == shipmentQuery{Cursor: q.Cursor, Sort: q.Sort} }

// narrowed reports whether more than the status is filtered.
func (q shipmentQuery) narrowed() bool {
	q.Status = ""
	return !q.isEmpty()
}

// address returns the address of a list with the filter; changes are names and
// values that replace those of the filter.
func (q shipmentQuery) address(path string, changes ...string) string {
	values := url.Values{}
	set := func(name, value string) {
		values.Del(name)
		if value != "" {
			values.Set(name, value)
		}
	}

	for _, field := range q.fields() {
		set(field[0], field[1])
	}
	for i := 0; i+1 < len(changes); i += 2 {
		set(changes[i], changes[i+1])
	}

	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// filter returns the filter for the service. Invalid values are ignored: an
// address that was typed must not end in an error.
func (q shipmentQuery) filter() shipping.Filter {
	filter := shipping.Filter{
		OrderID: q.Order,
		Carrier: q.Carrier,
		Query:   q.To,
		Page:    ship.Page{Limit: site.PageSize},
		Order: shipping.Order{
			Due:   strings.HasPrefix(q.Sort, "due"),
			First: q.Sort == "due" || q.Sort == "oldest",
		},
	}
	if chosen, ok := parts.StatusFilterOf(q.Status); ok {
		filter.Status = chosen.Status
		filter.States = chosen.States
	}

	// A period moves with the calendar, so a saved view shows what is new.
	if days, err := strconv.Atoi(q.Days); err == nil && days > 0 && days <= maxDays {
		filter.CreatedAfter = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
	}
	if day, err := time.Parse(time.DateOnly, q.From); err == nil {
		filter.CreatedAfter = day
	}
	if day, err := time.Parse(time.DateOnly, q.Until); err == nil {
		filter.CreatedBefore = day.AddDate(0, 0, 1) // the last day is included
	}

	// A cursor is an ID, and the due time behind it if that is the order.
	name, due, _ := strings.Cut(q.Cursor, "~")
	if id, ok := ship.ParseShipmentID(name); ok {
		filter.Page.Before = id.Raw()
	}
	if micros, err := strconv.ParseInt(due, 10, 64); err == nil {
		filter.DueAt = time.UnixMicro(micros)
	}
	return filter
}

// behind returns the cursor of the page that follows a shipment.
func (q shipmentQuery) behind(shipment ship.Shipment) string {
	if !strings.HasPrefix(q.Sort, "due") || shipment.Progress.EstimateAt.IsZero() {
		return string(shipment.ID)
	}
	return string(shipment.ID) + "~" + strconv.FormatInt(shipment.Progress.EstimateAt.UnixMicro(), 10)
}

// A sorting is the head of a column by which a list can be sorted.
type sorting struct {
	To   string // address of the list sorted by it; empty if it cannot be
	Aria string // "ascending", "descending"
}

// sorting returns the head of a column with two orders. A click chooses the
// first, and the second if the list has the first already.
func (q shipmentQuery) sorting(path, first, second, firstAria, secondAria string) sorting {
	var head sorting
	next := first
	switch q.Sort {
	case first:
		next = second
		head.Aria = firstAria
	case second:
		head.Aria = secondAria
	}

	if q.sortable(next) == next {
		head.To = q.address(path, "sort", next)
	}
	return head
}

// listShipments handles GET /app/{account}/{mode}/shipments.
func listShipments(v *site.Visit) error {
	v.Member.Note(v.Who.Actor, member.Entry{Action: "shipment.listed", Mode: v.Mode()})

	query := readShipmentQuery(v.Query)
	list, more, err := v.Shipping.Shipments(v.Context(), v.Tenant(), query.filter())
	if err != nil {
		return err
	}

	page := shipmentList{Filter: query, List: list, Carriers: parts.CarrierChoices()}
	if page.Printed, err = v.Bulk.LabelPrints(v.Context(), v.Tenant(), idsOf(list)); err != nil {
		return err
	}
	if more {
		page.Next = query.address(v.To("shipments"), "cursor", query.behind(list[len(list)-1]))
	}
	if page.Views, err = v.Account.Views(v.Context(), v.Who.Account.ID, v.Who.Actor.Person.ID); err != nil {
		return err
	}
	if len(list) == 0 {
		if page.NoCarrier, err = newshipment.NoCarrier(v); err != nil {
			return err
		}
	}

	frame := v.Frame("Shipments", "shipments")
	if v.IsPart() {
		return v.Show(http.StatusOK, shipmentTable(frame, page))
	}
	return v.Show(http.StatusOK, shipmentsPage(frame, page))
}

// exportShipments handles GET /app/{account}/{mode}/shipments.csv: the list as
// it is filtered, up to CSVLimit lines.
func exportShipments(v *site.Visit) error {
	ctx, cancel := v.ExportContext()
	defer cancel()

	// An export begins at the top, whichever page it was started from.
	filter := readShipmentQuery(v.Query).filter()
	filter.Page = ship.Page{Limit: site.PageSize}
	filter.DueAt = time.Time{}
	out := v.ExportCSV("shipments", shipmentColumns...)

	for n := 0; n < site.CSVLimit && out.Err == nil && !v.HasLeft(); {
		list, more, err := v.Shipping.Shipments(ctx, v.Tenant(), filter)
		if err != nil {
			return err
		}

		for _, shipment := range list {
			out.Row(shipmentCells(shipment)...)
		}
		if n == 0 {
			v.Begin()
		}
		n += len(list)
		if !more {
			return nil
		}

		// The first part is a page, so the download starts soon; each further
		// part is twice as long.
		last := list[len(list)-1]
		filter.Page = ship.Page{Limit: min(2*filter.Page.Limit, site.CSVPart), Before: last.ID.Raw()}
		filter.DueAt = last.Progress.EstimateAt
	}
	return nil
}

// shipmentColumns are the heads of shipmentCells.
var shipmentColumns = []string{
	"id", "order", "status", "label", "recipient", "city", "state", "zip", "country",
	"carrier", "service", "tracking number", "amount", "currency", "created", "estimated delivery",
}

func shipmentCells(shipment ship.Shipment) []string {
	to := shipment.Order.Destination
	purchase := shipment.Purchase
	estimate := ""
	if !shipment.Progress.EstimateAt.IsZero() {
		estimate = parts.MachineTime(shipment.Progress.EstimateAt)
	}

	return []string{
		string(shipment.ID),
		shipment.Order.OrderID,
		string(shipment.Progress.Status),
		shipment.State.LabelStatus(),
		to.Name,
		to.City,
		to.State,
		to.Zip,
		to.Country,
		purchase.Carrier,
		purchase.Service,
		purchase.TrackingNumber,
		purchase.Price.Amount(),
		purchase.Price.Currency,
		parts.MachineTime(shipment.CreatedAt()),
		estimate,
	}
}
