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

// recover returns labels again.
func (s *server) recover(w http.ResponseWriter, r *http.Request) {
	var in struct{ LabelRecoveryRequest *recovery }
	body, ok := decodeBody(w, r, &in)
	if !ok {
		return
	}
	q := in.LabelRecoveryRequest
	no, ok := q.check()
	if ok {
		no, ok = checkMembers("Recovery", body)
	}
	if !ok {
		refuse(w, no)
		return
	}

	live, voided := s.sales(q)
	how := s.settings.Load()
	context := q.Request.TransactionReference.CustomerContext
	byReference := q.TrackingNumber == ""

	switch {
	case how.TestEnvironment:
		refuse(w, unknownShipment)
	case how.Recovery == "never" && len(live) > 0 && !keptOf(live[0]).IsReturn:
		refuse(w, unknownShipment)
	case byReference && how.Recovery == "candidates" && len(live) > 0:
		answer(w, http.StatusOK, candidates(live, how.LeadOnly, context))
	case byReference && how.Recovery == "returns" && len(live) > 0 && !keptOf(live[0]).IsReturn:
		refuse(w, unknownShipment)
	case !byReference && len(live) == 1 && how.Recovery != "":
		answer(w, http.StatusOK, recovered(live[0], []string{q.TrackingNumber}, context)) // of this parcel alone
	case len(live) > 1:
		refuse(w, refusal{"300001", "Multiple shipments found for the request"})
	case len(live) == 1:
		answer(w, http.StatusOK, recovered(live[0], pieces(live[0]), context))
	case voided:
		refuse(w, refusal{"9801040", "The shipment for which you are trying to recover a label or Receipt has been voided"})
	default:
		refuse(w, unknownShipment)
	}
}

var unknownShipment = refusal{"9801031", "The shipment for the requested tracking number or the combination of reference number plus shipper number could not be found"}

// candidates returns the parcels of the sales, without their labels.
func candidates(sales []emulator.Entry, leadOnly bool, context string) []byte {
	var list []map[string]any
	for _, entry := range sales {
		numbers := pieces(entry)
		if leadOnly {
			numbers = numbers[:1]
		}
		day := entry.At.Format("20060102")
		for _, number := range numbers {
			candidate := map[string]any{
				"TrackingNumber":         number,
				"DestinationCountryCode": keptOf(entry).Country,
				"PickupDateRange":        map[string]string{"BeginDate": day, "EndDate": day},
			}
			if zip := keptOf(entry).Zip; zip != "" {
				candidate["DestinationPostalCode"] = zip
			}
			list = append(list, candidate)
		}
	}

	return encode(map[string]any{"LabelRecoveryResponse": map[string]any{
		"Response":          responseOf(context),
		"LabelResults":      []any{},
		"TrackingCandidate": list,
	}})
}

// sales returns the matching sales that are not voided, and whether a matching
// one was.
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

// recovered returns the labels of some parcels of a sale.
func recovered(entry emulator.Entry, numbers []string, context string) []byte {
	var labels []map[string]any
	for _, number := range numbers {
		labels = append(labels, map[string]any{
			"TrackingNumber": number,
			"LabelImage":     map[string]any{"LabelImageFormat": code{Code: "GIF"}, "GraphicImage": labelOf(number, entry), "HTMLImage": "PGh0bWw+PC9odG1sPg=="},
		})
	}
	answer := map[string]any{
		"Response": responseOf(context), "ShipmentIdentificationNumber": entry.Number, "LabelResults": labels,
	}
	if keptOf(entry).Invoice {
		answer["Form"] = map[string]any{"Image": invoiceOf(entry)}
	}
	return encode(map[string]any{"LabelRecoveryResponse": answer})
}

// void voids a shipment. Voiding it again is refused.
func (s *server) void(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if id == placeholder {
		s.Fail(w, http.StatusBadRequest) // no sale has that number
		return
	}
	if len(id) != 18 {
		refuse(w, refusal{"190100", "Invalid ShipmentIdentificationNumber."})
		return
	}

	entry, _, _ := s.Ledger.Sold(id)
	s.TakeBack(w, r, id, func(again, known bool) (int, string, []byte) {
		switch {
		case !known:
			kind, body := failure(http.StatusBadRequest)
			return http.StatusBadRequest, kind, body
		case again:
			return http.StatusBadRequest, "application/json", refusal{"190117", "The Shipment has already been voided"}.body()
		}

		s.webhook.voided(entry)
		var each []map[string]any
		for _, number := range pieces(entry) {
			each = append(each, map[string]any{"TrackingNumber": number, "Status": code{"1", "Voided"}})
		}
		return http.StatusOK, "application/json", encode(map[string]any{"VoidShipmentResponse": map[string]any{
			"Response":            responseOf(""),
			"SummaryResult":       map[string]any{"Status": code{"1", "Voided"}},
			"PackageLevelResults": each,
		}})
	})
}
