package fedex

import (
	"errors"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

const (
	paperlessService  = "ELECTRONIC_TRADE_DOCUMENTS"
	commercialInvoice = "COMMERCIAL_INVOICE"
)

// invoiceByFedEx asks FedEx to make the invoice of the declaration. It does so
// for paperless shipments too, and sends it to customs itself.
func invoiceByFedEx() *documentSpec {
	return &documentSpec{
		Types:   []string{commercialInvoice},
		Invoice: invoiceSpec{documentFormat{StockType: "PAPER_LETTER", DocType: "PDF"}},
	}
}

// usesPaperless reports whether customs get the documents of the order
// electronically: unless the client wants them printed, or FedEx refused them
// for this account and lane before.
func (d *driver) usesPaperless(order *ship.Order) bool {
	if order.Customs == nil || order.Customs.Paperless == "off" {
		return false
	}
	_, refused := d.printedLanes.Load(printedLane(order))
	return !refused
}

// printedLane is the key of a lane on which documents are printed.
func printedLane(order *ship.Order) string {
	lane := laneOf(order)
	return countryOf(lane.from) + "-" + countryOf(lane.to)
}

// withoutPaperless looks for a refusal of electronic documents among the errors
// of a purchase. FedEx cannot be asked beforehand whether an account is
// enrolled or a lane allows them: the refusal is remembered, and the next
// attempt has its documents printed.
func (d *driver) withoutPaperless(order *ship.Order, isPaperless bool, err error) error {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || !isPaperless || refused.Kind != ship.Invalid || !refusesPaperless(refused.Refusal) {
		return err
	}

	d.printedLanes.Store(printedLane(order), true)
	return &ship.Error{
		Kind:    ship.Unavailable,
		Message: "FedEx does not accept customs documents electronically from this account on this lane; nothing was bought: try again to buy with a printed invoice",
		Refusal: refused.Refusal,
		Err:     refused.Err,
	}
}

// refusesPaperless reads a refusal of the special service. FedEx does not
// publish its codes.
func refusesPaperless(refusal ship.Refusal) bool {
	text := strings.ToUpper(refusal.Code + " " + refusal.Message)
	words := strings.FieldsFunc(text, func(r rune) bool { return r < 'A' || r > 'Z' })
	return slices.Contains(words, "ETD") || slices.Contains(words, "ETDDETAIL") ||
		strings.Contains(strings.Join(words, " "), "ELECTRONIC TRADE DOCUMENT")
}

// isPaperless reports whether the purchase asks for electronic documents.
func (r *shipRequest) isPaperless() bool {
	extra := r.RequestedShipment.SpecialServices
	return extra != nil && slices.Contains(extra.Types, paperlessService)
}

// tookDocuments reports whether FedEx says that it has the documents.
func (a *shipAnswer) tookDocuments() bool {
	return slices.ContainsFunc(a.Output.Shipments, func(s soldShipment) bool {
		etd := s.Completed.ETD
		return etd != nil && (etd.FolderID != "" || etd.Type != "" || len(etd.Documents) > 0)
	})
}
