package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
)

// exchangeView is what was said to carriers about a shipment.
type exchangeView struct {
	ship.Shipment
	List []journal.Exchange
}

// isOnItsWay reports whether something was just said that is not written down
// yet: that takes a moment.
func (p exchangeView) isOnItsWay() bool {
	return len(p.List) == 0 && p.Deal.Connection != "" && time.Since(p.CreatedAt()) < 15*time.Second
}

// exchanges handles GET /app/{mode}/shipments/{id}/exchanges: a page, or the
// part of the shipment's page.
func (s *Web) exchanges(v *visit) error {
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	if !ok {
		return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	var p exchangeView
	var err error
	if p.Shipment, err = s.Shipping.Shipment(v.ctx(), v.tenant(), id); err != nil {
		return err
	}
	if p.List, err = s.Journal.OfShipment(v.ctx(), v.tenant(), id); err != nil {
		return err
	}
	f := v.frame("Carrier exchange", "shipments")
	if v.isPart() {
		return v.show(http.StatusOK, exchangeList(f, p))
	}
	return v.show(http.StatusOK, exchangesPage(f, p))
}

var operationWords = map[carrier.Operation]string{
	carrier.OpBuy: "Buy", carrier.OpFind: "Look up", carrier.OpVoid: "Void", carrier.OpRates: "Rates", carrier.OpCheck: "Check", carrier.OpTrack: "Track",
}

func operationWord(op carrier.Operation) string {
	if w := operationWords[op]; w != "" {
		return w
	}
	return plain(string(op))
}

// asSent is the request as it went over the wire.
func asSent(x journal.Exchange) string {
	return x.Method + " " + x.URL + "\n" + strings.Join(journal.HeadLines(x.Header), "\n") + "\n\n" + x.Body
}

// asAnswered is the answer as it came.
func asAnswered(x journal.Exchange) string {
	return http.StatusText(x.Status) + "\n" + strings.Join(journal.HeadLines(x.Answer), "\n") + "\n\n" + x.Answered
}
