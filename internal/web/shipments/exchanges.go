package shipments

import (
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// exchangeView is the page of requests to carriers about a shipment.
type exchangeView struct {
	ship.Shipment
	List []journal.Exchange
}

// isOnItsWay reports whether the first exchange is probably about to appear: the
// journal is written a moment after the call.
func (p exchangeView) isOnItsWay() bool {
	return len(p.List) == 0 && p.Purchase.Connection != "" && time.Since(p.CreatedAt()) < 15*time.Second
}

// listExchanges handles GET /app/{account}/{mode}/shipments/{id}/exchanges: a
// page, or a part of the shipment's page.
func listExchanges(v *site.Visit) error {
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	if !ok {
		return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}

	shipment, err := v.Shipping.Shipment(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}
	list, err := v.Journal.OfShipment(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}

	page := exchangeView{Shipment: shipment, List: list}
	frame := v.Frame("Carrier requests", "shipments")
	if v.IsPart() {
		return v.Show(http.StatusOK, exchangeList(frame, page))
	}
	return v.Show(http.StatusOK, exchangesPage(frame, page))
}

// asSent formats the request as it was sent.
func asSent(exchange journal.Exchange) string {
	head := strings.Join(journal.HeadLines(exchange.Header), "\n")
	return exchange.Method + " " + exchange.URL + "\n" + head + "\n\n" + exchange.Body
}

// asAnswered formats the response as it was received.
func asAnswered(exchange journal.Exchange) string {
	head := strings.Join(journal.HeadLines(exchange.Answer), "\n")
	return http.StatusText(exchange.Status) + "\n" + head + "\n\n" + exchange.Answered
}
