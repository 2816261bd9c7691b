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

// usesPaperless reports whether customs get the papers of the order
// electronically: unless the client wants them printed, or FedEx refused them
// for this account and lane before.
func (d *driver) usesPaperless(o *ship.Order) bool {
	if o.Customs == nil || o.Customs.Paperless == "off" {
		return false
	}
	_, refused := d.printedLanes.Load(printedLane(o))
	return !refused
}

// printedLane is the key of a lane on which papers are printed.
func printedLane(o *ship.Order) string {
	lane := laneOf(o)
	return countryOf(lane.from) + "-" + countryOf(lane.to)
}

// withoutPaperless looks for a refusal of electronic papers among the errors of
// a purchase. Neither an account's enrolment nor a lane can be asked for before:
// the refusal is kept, and the next attempt has its papers printed.
func (d *driver) withoutPaperless(o *ship.Order, isPaperless bool, err error) error {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok || !isPaperless || e.Kind != ship.Invalid || !refusesPaperless(e.Refusal) {
		return err
	}

	d.printedLanes.Store(printedLane(o), true)
	return &ship.Error{
		Kind:    ship.Unavailable,
		Message: "FedEx does not take customs papers electronically from this account on this lane; nothing was bought: try again, and the invoice will be printed",
		Refusal: e.Refusal,
		Err:     e.Err,
	}
}

// refusesPaperless reads a refusal of the special service. FedEx does not
// publish its codes.
func refusesPaperless(r ship.Refusal) bool {
	said := strings.ToUpper(r.Code + " " + r.Message)
	words := strings.FieldsFunc(said, func(r rune) bool { return r < 'A' || r > 'Z' })
	return slices.Contains(words, "ETD") || slices.Contains(words, "ETDDETAIL") ||
		strings.Contains(strings.Join(words, " "), "ELECTRONIC TRADE DOCUMENT")
}

// isPaperless reports whether the purchase asks for electronic papers.
func (r *shipRequest) isPaperless() bool {
	s := r.RequestedShipment.SpecialServices
	return s != nil && slices.Contains(s.Types, paperlessService)
}

// tookDocuments reports whether FedEx says that it has the papers.
func (a *shipAnswer) tookDocuments() bool {
	return slices.ContainsFunc(a.Output.Shipments, func(s soldShipment) bool {
		etd := s.Completed.ETD
		return etd != nil && (etd.FolderID != "" || etd.Type != "" || len(etd.Documents) > 0)
	})
}
