// Package shipments has the list of shipments and the page of one: its
// tracking, label, documents, events, and the requests to its carrier.
package shipments

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
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

	NoCarrier bool // no carrier is connected in the mode
}

// A shipmentQuery is the filter as the address carries it.
type shipmentQuery struct {
	Status, Carrier, Order, To, From, Until string
	Sort                                    string // "" is newest first; "oldest", "due" or "due-last"
	Cursor                                  string
}

func readShipmentQuery(v *site.Visit) shipmentQuery {
	query := shipmentQuery{
		Status:  v.Query("status"),
		Carrier: v.Query("carrier"),
		Order:   v.Query("order"),
		To:      v.Query("to"),
		From:    v.Query("from"),
		Until:   v.Query("until"),
		Cursor:  v.Query("cursor"),
	}
	query.Sort = query.sortable(v.Query("sort"))
	return query
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
	if hasNoLiveLabel || q.Carrier != "" || q.From != "" || q.Until != "" {
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

	set("status", q.Status)
	set("carrier", q.Carrier)
	set("order", q.Order)
	set("to", q.To)
	set("sort", q.Sort)
	set("from", q.From)
	set("until", q.Until)
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

	query := readShipmentQuery(v)
	list, more, err := v.Shipping.Shipments(v.Context(), v.Tenant(), query.filter())
	if err != nil {
		return err
	}

	page := shipmentList{Filter: query, List: list, Carriers: parts.CarrierChoices()}
	if more {
		page.Next = query.address(v.To("shipments"), "cursor", query.behind(list[len(list)-1]))
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
	filter := readShipmentQuery(v).filter()
	filter.Page = ship.Page{Limit: site.PageSize}
	filter.DueAt = time.Time{}
	out := v.ExportCSV("shipments", "id", "order", "status", "label", "recipient", "city", "state", "zip", "country",
		"carrier", "service", "tracking number", "amount", "currency", "created", "estimated delivery")

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
