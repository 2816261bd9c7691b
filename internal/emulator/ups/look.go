package ups

import (
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// recovery asks for the labels of a sale, by its number or its reference.
type recovery struct {
	Request            *head
	LabelSpecification *struct{ LabelImageFormat code }
	TrackingNumber     string
	ReferenceValues    *struct {
		ReferenceNumber struct{ Value string }
		ShipperNumber   string
	}
}

func (q *recovery) check() (refusal, bool) {
	switch {
	case q == nil || q.Request == nil || q.TrackingNumber == "" && q.ReferenceValues == nil:
		return refusal{"300005", "Either tracking number or combination of reference plus shipper number required"}, false
	case q.LabelSpecification == nil || !strings.EqualFold(q.LabelSpecification.LabelImageFormat.Code, "GIF"):
		return refusal{"300013", "Invalid Label Print Method"}, false
	case q.TrackingNumber == "" && q.ReferenceValues.ShipperNumber != Account:
		return refusal{"300031", "Invalid Shipper Number"}, false
	}
	return refusal{}, true
}

// recover gives labels again.
func (s *server) recover(w http.ResponseWriter, r *http.Request) {
	var in struct{ LabelRecoveryRequest *recovery }
	if !decode(w, r, &in) {
		return
	}
	q := in.LabelRecoveryRequest
	if no, ok := q.check(); !ok {
		refuse(w, no)
		return
	}
	live, voided := s.sales(q)
	switch {
	case len(live) > 1:
		refuse(w, refusal{"300001", "Multiple shipments found for the request"})
	case len(live) == 1:
		answer(w, http.StatusOK, recovered(live[0], q.Request.TransactionReference.CustomerContext))
	case voided:
		refuse(w, refusal{"300033", "The shipment for which you are trying to recover a label or Receipt has been voided"})
	default:
		refuse(w, refusal{"300007", "The shipment for the requested tracking number or the combination of reference number plus shipper number could not be found"})
	}
}

// sales are those that are meant and not voided, and whether one was.
func (s *server) sales(q *recovery) (live []emulator.Entry, voided bool) {
	if q.TrackingNumber != "" {
		e, voided, ok := s.Ledger.Sold(q.TrackingNumber)
		if ok && !voided {
			live = append(live, e)
		}
		return live, voided
	}
	reference := q.ReferenceValues.ReferenceNumber.Value
	if live = s.Find(reference); len(live) > 0 {
		return live, false
	}
	voided = slices.ContainsFunc(s.Ledger.Entries(), func(e emulator.Entry) bool { return e.Kind == "voided" && e.Reference == reference })
	return nil, voided
}

func recovered(e emulator.Entry, context string) []byte {
	var labels []map[string]any
	for _, n := range pieces(e) {
		labels = append(labels, map[string]any{
			"TrackingNumber": n,
			"LabelImage":     map[string]any{"LabelImageFormat": code{Code: "GIF"}, "GraphicImage": labelOf(n, e), "HTMLImage": "PGh0bWw+PC9odG1sPg=="},
		})
	}
	r := map[string]any{
		"Response": responseOf(context), "ShipmentIdentificationNumber": e.Number, "LabelResults": labels,
	}
	if keptOf(e).Invoice {
		r["Form"] = map[string]any{"Image": invoiceOf(e)}
	}
	return encode(map[string]any{"LabelRecoveryResponse": r})
}

// void takes a shipment back. Once more is no error.
func (s *server) void(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if len(id) != 18 {
		refuse(w, refusal{"190100", "Invalid ShipmentIdentificationNumber."})
		return
	}
	e, _, _ := s.Ledger.Sold(id)
	s.TakeBack(w, r, id, func(_, known bool) (int, string, []byte) {
		if !known {
			kind, body := failure(http.StatusBadRequest)
			return http.StatusBadRequest, kind, body
		}
		s.webhook.voided(e)
		var each []map[string]any
		for _, n := range pieces(e) {
			each = append(each, map[string]any{"TrackingNumber": n, "Status": code{"1", "Voided"}})
		}
		return http.StatusOK, "application/json", encode(map[string]any{"VoidShipmentResponse": map[string]any{
			"Response":            responseOf(""),
			"SummaryResult":       map[string]any{"Status": code{"1", "Voided"}},
			"PackageLevelResults": each,
		}})
	})
}
