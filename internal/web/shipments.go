package web

import (
	"net/http"
	"net/url"
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
}

// shipmentQuery is the filter as the address carries it.
type shipmentQuery struct {
	Status, Carrier, Order, From, Until, Cursor string
}

func (v *visit) shipmentQuery() shipmentQuery {
	return shipmentQuery{
		Status: v.query("status"), Carrier: v.query("carrier"), Order: v.query("order"),
		From: v.query("from"), Until: v.query("until"), Cursor: v.query("cursor"),
	}
}

// isEmpty reports whether nothing is filtered.
func (q shipmentQuery) isEmpty() bool { return q == shipmentQuery{Cursor: q.Cursor} }

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
	f := shipping.Filter{OrderID: q.Order, Carrier: q.Carrier, Page: ship.Page{Limit: pageSize}}
	if s := ship.Status(q.Status); s.Valid() {
		f.Status = s
	}
	if t, err := time.Parse(time.DateOnly, q.From); err == nil {
		f.CreatedAfter = t
	}
	if t, err := time.Parse(time.DateOnly, q.Until); err == nil {
		f.CreatedBefore = t.AddDate(0, 0, 1)
	}
	if id, ok := ship.ParseShipmentID(q.Cursor); ok {
		f.Page.Before = id.Raw()
	}
	return f
}

// shipments handles GET /app/{mode}/shipments.
func (s *Web) shipments(v *visit) error {
	q := v.shipmentQuery()
	list, more, err := s.Shipping.Shipments(v.ctx(), v.tenant(), q.filter())
	if err != nil {
		return err
	}
	page := shipmentList{Filter: q, List: list, Carriers: []choice{{"", "All carriers"}}}
	for _, name := range []string{"ups", "usps", "fedex", "dhl_express"} {
		page.Carriers = append(page.Carriers, choice{name, carrierTitle(name)})
	}
	if more {
		page.Next = q.address(v.to("shipments"), "cursor", string(list[len(list)-1].ID))
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
	f := v.shipmentQuery().filter()
	f.Page.Limit = 500
	out := v.exportCSV("shipments", "id", "order", "status", "label", "recipient", "city", "state", "zip", "country",
		"carrier", "service", "tracking number", "amount", "currency", "created", "estimated delivery")
	for n := 0; n < csvLimit && out.err == nil; {
		list, more, err := s.Shipping.Shipments(v.ctx(), v.tenant(), f)
		if err != nil {
			return err
		}
		for _, sh := range list {
			out.row(shipmentCells(sh)...)
		}
		if n += len(list); !more {
			return nil
		}
		f.Page.Before = list[len(list)-1].ID.Raw()
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
