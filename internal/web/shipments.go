package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// pageSize is how many lines a list shows.
const pageSize = 50

// shipmentList is the page of shipments.
type shipmentList struct {
	Filter   shipmentQuery
	List     []ship.Shipment
	Next     string // address of the page behind
	Carriers []choice

	NoCarrier bool // is connected in the mode
}

// shipmentQuery is the filter as the address carries it.
type shipmentQuery struct {
	Status, Carrier, Order, To, From, Until string
	Sort                                    string // "" is the newest first; "oldest", "due" or "due-last"
	Cursor                                  string
}

func (v *visit) shipmentQuery() shipmentQuery {
	q := shipmentQuery{
		Status: v.query("status"), Carrier: v.query("carrier"), Order: v.query("order"), To: v.query("to"),
		From: v.query("from"), Until: v.query("until"), Cursor: v.query("cursor"),
	}
	q.Sort = q.sortable(v.query("sort"))
	return q
}

// sortable is the order, if an index carries it together with the filters.
func (q shipmentQuery) sortable(sort string) string {
	chosen, _ := statusFilterOf(q.Status)
	unsettled := chosen.Value != "" && chosen.Status == "" && chosen.Value != activeFilter
	switch {
	case q.Order != "" || q.To != "":
		return ""
	case unsettled && strings.HasPrefix(sort, "due"):
		return ""
	case sort == "oldest", (sort == "due" || sort == "due-last") && q.Carrier == "" && q.From == "" && q.Until == "":
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

// address is a list with the filter, changed as with says.
func (q shipmentQuery) address(path string, with ...string) string {
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
	for i := 0; i+1 < len(with); i += 2 {
		set(with[i], with[i+1])
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// filter is what the service is asked for. What makes no sense does not
// narrow: an address that was typed must not end in an error.
func (q shipmentQuery) filter() shipping.Filter {
	f := shipping.Filter{OrderID: q.Order, Carrier: q.Carrier, Query: q.To, Page: ship.Page{Limit: pageSize}}
	f.Order = shipping.Order{Due: strings.HasPrefix(q.Sort, "due"), First: q.Sort == "due" || q.Sort == "oldest"}
	if chosen, ok := statusFilterOf(q.Status); ok {
		f.Status, f.States = chosen.Status, chosen.States
	}
	if t, err := time.Parse(time.DateOnly, q.From); err == nil {
		f.CreatedAfter = t
	}
	if t, err := time.Parse(time.DateOnly, q.Until); err == nil {
		f.CreatedBefore = t.AddDate(0, 0, 1)
	}
	name, due, _ := strings.Cut(q.Cursor, "~")
	if id, ok := ship.ParseShipmentID(name); ok {
		f.Page.Before = id.Raw()
	}
	if micros, err := strconv.ParseInt(due, 10, 64); err == nil {
		f.DueAt = time.UnixMicro(micros)
	}
	return f
}

// behind is the cursor of the page behind a shipment.
func (q shipmentQuery) behind(sh ship.Shipment) string {
	if !strings.HasPrefix(q.Sort, "due") || sh.Progress.EstimateAt.IsZero() {
		return string(sh.ID)
	}
	return string(sh.ID) + "~" + strconv.FormatInt(sh.Progress.EstimateAt.UnixMicro(), 10)
}

// A sorting is a column's head by which a list can be sorted.
type sorting struct {
	To   string // address of the list, sorted by it; empty if it cannot be
	Aria string // "ascending", "descending"
}

// sorting is the head of a column with two orders, the first of which comes
// first.
func (q shipmentQuery) sorting(path, first, second, firstAria, secondAria string) sorting {
	sort, s := first, sorting{}
	switch q.Sort {
	case first:
		sort, s.Aria = second, firstAria
	case second:
		s.Aria = secondAria
	}
	if q.sortable(sort) == sort {
		s.To = q.address(path, "sort", sort)
	}
	return s
}

// shipments handles GET /app/{mode}/shipments.
func (s *Web) shipments(v *visit) error {
	q := v.shipmentQuery()
	list, more, err := s.Shipping.Shipments(v.ctx(), v.tenant(), q.filter())
	if err != nil {
		return err
	}
	page := shipmentList{Filter: q, List: list, Carriers: carrierChoices()}
	if more {
		page.Next = q.address(v.to("shipments"), "cursor", q.behind(list[len(list)-1]))
	}
	if len(list) == 0 {
		if page.NoCarrier, err = v.noCarrier(); err != nil {
			return err
		}
	}
	f := v.frame("Shipments", "shipments")
	if v.isPart() {
		return v.show(http.StatusOK, shipmentTable(f, page))
	}
	return v.show(http.StatusOK, shipmentsPage(f, page))
}

// shipmentsCSV handles GET /app/{mode}/shipments.csv: the list as it is
// filtered, up to a bound.
func (s *Web) shipmentsCSV(v *visit) error {
	ctx, cancel := v.exporting()
	defer cancel()

	f := v.shipmentQuery().filter()
	f.Page = ship.Page{Limit: pageSize}
	f.DueAt = time.Time{}
	out := v.exportCSV("shipments", "id", "order", "status", "label", "recipient", "city", "state", "zip", "country",
		"carrier", "service", "tracking number", "amount", "currency", "created", "estimated delivery")

	for n := 0; n < csvLimit && out.err == nil && !v.hasLeft(); {
		list, more, err := s.Shipping.Shipments(ctx, v.tenant(), f)
		if err != nil {
			return err
		}

		for _, sh := range list {
			out.row(shipmentCells(sh)...)
		}
		if n == 0 {
			v.begin()
		}
		n += len(list)
		if !more {
			return nil
		}

		last := list[len(list)-1]
		f.Page = ship.Page{Limit: min(2*f.Page.Limit, csvPart), Before: last.ID.Raw()}
		f.DueAt = last.Progress.EstimateAt
	}
	return nil
}

func shipmentCells(sh ship.Shipment) []string {
	to := sh.Order.Destination
	estimate := ""
	if !sh.Progress.EstimateAt.IsZero() {
		estimate = machineTime(sh.Progress.EstimateAt)
	}
	return []string{
		string(sh.ID), sh.Order.OrderID, string(sh.Progress.Status), sh.State.LabelStatus(), to.Name, to.City, to.State, to.Zip, to.Country,
		sh.Deal.Carrier, sh.Deal.Service, sh.Deal.TrackingNumber, sh.Deal.Price.Amount(), sh.Deal.Price.Currency, machineTime(sh.CreatedAt()), estimate,
	}
}
