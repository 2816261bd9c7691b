package dhlexpress

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// proofContents are the proofs that DHL knows.
var proofContents = strings.Fields("epod-detail epod-summary epod-detail-esig epod-summary-esig epod-table epod-table-detail epod-table-esig")

// proof answers GET /shipments/{number}/proof-of-delivery: with a document for a
// shipment of the account that was delivered, else with 404.
func (s standIn) proof(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if content := query.Get("content"); content != "" && !slices.Contains(proofContents, content) {
		refuse(w, r, http.StatusBadRequest, "")
		return
	}

	sale, _, ok := s.Ledger.Sold(r.PathValue("number"))
	if !ok || query.Get("shipperAccountNumber") != Account {
		refuse(w, r, http.StatusNotFound, "")
		return
	}
	k := keptOf(sale)
	events := s.events(sale, k, time.Now().UTC(), false)
	i := slices.IndexFunc(events, func(e event) bool { return e.TypeCode == "OK" || e.TypeCode == "DD" })
	if i < 0 {
		refuse(w, r, http.StatusNotFound, "")
		return
	}

	p := emulator.Page{Wide: 595, High: 842}
	p.Text(40, 790, 16, "PROOF OF DELIVERY")
	p.Text(40, 770, 10, "Waybill %s   %s", sale.Number, strings.ToUpper(k.To.CityName))
	p.Text(40, 750, 10, "%s %s   signed by %s", events[i].Date, events[i].Time, events[i].SignedBy)
	reply(w, http.StatusOK, map[string]any{"documents": []any{map[string]any{
		"encodingFormat": "PDF",
		"content":        emulator.PDF(p),
		"typeCode":       "POD",
	}}})
}
