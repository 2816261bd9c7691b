package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
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

// exchanges handles GET /app/{account}/{mode}/shipments/{id}/exchanges: a page,
// or a part of the shipment's page.
func (s *Web) exchanges(v *visit) error {
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	if !ok {
		return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}

	shipment, err := s.Shipping.Shipment(v.ctx(), v.tenant(), id)
	if err != nil {
		return err
	}
	list, err := s.Journal.OfShipment(v.ctx(), v.tenant(), id)
	if err != nil {
		return err
	}

	page := exchangeView{Shipment: shipment, List: list}
	frame := v.frame("Carrier requests", "shipments")
	if v.isPart() {
		return v.show(http.StatusOK, exchangeList(frame, page))
	}
	return v.show(http.StatusOK, exchangesPage(frame, page))
}

var operationWords = map[carrier.Operation]string{
	carrier.OpBuy:   "Buy",
	carrier.OpFind:  "Look up",
	carrier.OpVoid:  "Void",
	carrier.OpRates: "Rates",
	carrier.OpCheck: "Check",
	carrier.OpTrack: "Track",
}

func operationWord(operation carrier.Operation) string {
	if word := operationWords[operation]; word != "" {
		return word
	}
	return plain(string(operation))
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
