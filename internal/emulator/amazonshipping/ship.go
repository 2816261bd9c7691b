package amazonshipping

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

type purchaseRequest struct {
	Token    string `json:"requestToken"`
	RateID   string `json:"rateId"`
	Document struct {
		Format string   `json:"format"`
		Size   size     `json:"size"`
		DPI    int      `json:"dpi"`
		Layout string   `json:"pageLayout"`
		Joined *bool    `json:"needFileJoining"`
		Types  []string `json:"requestedDocumentTypes"`
		Custom any      `json:"requestedLabelCustomization"`
	} `json:"requestedDocumentSpecification"`
	Extras []struct {
		ID string `json:"id"`
	} `json:"requestedValueAddedServices"`
	Inputs any `json:"additionalInputs"`
}

// kept is what the emulator needs of a sale to answer again.
type kept struct {
	Key    string   `json:"key"`
	Body   string   `json:"body"`
	Format string   `json:"format"`
	From   []string `json:"from"`
	To     []string `json:"to"`
	City   string   `json:"city"`
	State  string   `json:"state"`
	Days   int      `json:"days"`
}

// purchase answers POST /shipping/v2/shipments.
func (a *amazon) purchase(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var in purchaseRequest
	if err == nil {
		err = decode(bytes.NewReader(body), &in)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", err.Error())
		return
	}

	key := r.Header.Get("X-Amzn-Idempotencykey")
	sale, isRepeated := a.soldUnder(key)
	a.mu.Lock()
	bought := a.quotes[in.Token]
	a.mu.Unlock()
	life := time.Duration(a.settings.Load().QuoteLife)
	if life == 0 {
		life = 10 * time.Minute
	}
	switch {
	case bought == nil:
		refuse(w, http.StatusBadRequest, "InvalidRequest", "The request token is not known")
	case time.Since(bought.at) > life:
		// Whether Amazon still recognizes a repetition then is not documented.
		refuse(w, http.StatusBadRequest, "TOKEN_EXPIRED", "The request token has expired")
	case isRepeated && keptOf(sale).Body != string(body):
		refuse(w, http.StatusBadRequest, "InvalidRequest", "The idempotency key was used with another request")
	case isRepeated:
		reply(w, http.StatusOK, answerOf(sale))
	case bought.cents[in.RateID] == 0:
		refuse(w, http.StatusBadRequest, "InvalidRequest", "The rate is not one of the request token")
	case !in.isOffered():
		refuse(w, http.StatusBadRequest, "InvalidRequest", "The document specification is not one that the rate supports")
	case !in.hasChosen():
		refuse(w, http.StatusBadRequest, "InvalidRequest", "The requested value added services are invalid. Please check the value added services offered in the GetRates response.")
	case a.Refuses():
		a.Fail(w, http.StatusBadRequest)
	default:
		a.sell(w, r, in, bought, key, string(body))
	}
}

// soldUnder returns the sale with an idempotency key.
func (a *amazon) soldUnder(key string) (emulator.Entry, bool) {
	for _, entry := range a.Ledger.Entries() {
		if key != "" && entry.Kind == "sold" && keptOf(entry).Key == key {
			return entry, true
		}
	}
	return emulator.Entry{}, false
}

// hasChosen reports whether one service of the group that requires a choice was chosen,
// and no other.
func (in purchaseRequest) hasChosen() bool {
	return len(in.Extras) == 1 && (in.Extras[0].ID == "SIGNATURE_CONFIRMATION" || in.Extras[0].ID == "NO_CONFIRMATION")
}

// isOffered reports whether the rate has the document.
func (in purchaseRequest) isOffered() bool {
	if in.Document.Joined == nil || *in.Document.Joined || in.Document.DPI != 203 && in.Document.DPI != 300 {
		return false
	}
	isKnown := func(kind string) bool { return kind == "LABEL" || kind == "PACKSLIP" }
	if slices.ContainsFunc(in.Document.Types, func(kind string) bool { return !isKnown(kind) }) {
		return false
	}
	return slices.Contains(in.Document.Types, "LABEL") && slices.ContainsFunc(documents, func(offered document) bool {
		layouts, _ := offered.Options[0]["supportedPageLayouts"].([]string)
		return offered.Format == in.Document.Format && offered.Size == in.Document.Size && slices.Contains(layouts, in.Document.Layout)
	})
}

func (a *amazon) sell(w http.ResponseWriter, r *http.Request, in purchaseRequest, bought *quoted, key, body string) {
	cents := bought.cents[in.RateID]
	if in.Extras[0].ID == "SIGNATURE_CONFIRMATION" {
		cents += signatureCents
	}
	offered := bought.product[in.RateID]
	to := bought.request.ShipTo
	stored, err := json.Marshal(kept{
		Key:    key,
		Body:   body,
		Format: in.Document.Format,
		From:   bought.request.ShipFrom.lines(),
		To:     to.lines(),
		City:   to.City,
		State:  to.State,
		Days:   offered.days,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	n := a.Ledger.Next()
	a.Sell(w, r, emulator.Entry{
		Number:    fmt.Sprintf("TBA%012d", 300000000000+n),
		ID:        fmt.Sprintf("amzn1.sid.%d", n),
		Reference: bought.request.Packages[0].Reference,
		Account:   BusinessID,
		Service:   offered.id,
		Amount:    fmt.Sprintf("%d.%02d", cents/100, cents%100),
		Currency:  "USD",
		Kept:      stored,
	}, func(sale emulator.Entry) (int, string, []byte) {
		return http.StatusOK, "application/json", encode(answerOf(sale))
	})
}

func (p place) lines() []string {
	return []string{strings.TrimSpace(p.Name + " " + p.Company), p.Line1, p.City + " " + p.State + " " + p.Zip}
}

// keptOf reads what was stored with a sale.
func keptOf(sale emulator.Entry) kept {
	var stored kept
	if err := json.Unmarshal(sale.Kept, &stored); err != nil {
		panic(err) // the package itself wrote it
	}
	return stored
}

// answerOf is the answer to a purchase.
func answerOf(sale emulator.Entry) map[string]any {
	stored := keptOf(sale)
	return map[string]any{"payload": map[string]any{
		"shipmentId": sale.ID,
		"promise":    promise(stored.Days),
		"packageDocumentDetails": []map[string]any{{
			"packageClientReferenceId": sale.Reference,
			"trackingId":               sale.Number,
			"packageDocuments": []map[string]any{{
				"type":     "LABEL",
				"format":   stored.Format,
				"contents": base64.StdEncoding.EncodeToString(label(sale, stored)),
			}},
		}},
	}}
}

// label draws the label, four by six inches.
func label(sale emulator.Entry, stored kept) []byte {
	if stored.Format == "ZPL" {
		var out strings.Builder
		out.WriteString("^XA^CI28^PW812^LL1218^FO40,40^A0N,48,48^FDAMAZON SHIPPING^FS")
		for i, line := range append(append([]string{"NOT A REAL LABEL"}, stored.From...), stored.To...) {
			fmt.Fprintf(&out, "^FO40,%d^A0N,30,30^FD%s^FS", 110+40*i, strings.NewReplacer("^", " ", "~", " ").Replace(line))
		}
		fmt.Fprintf(&out, "^FO40,700^BY3^BCN,200,Y,N,N^FD%s^FS^XZ", sale.Number)
		return []byte(out.String())
	}

	page := emulator.Page{Wide: 288, High: 432}
	page.Text(16, 404, 16, "AMAZON SHIPPING  %s", sale.Service)
	page.Text(16, 388, 8, "NOT A REAL LABEL")
	for i, line := range stored.From {
		page.Text(16, 366-12*i, 8, "%s", line)
	}
	for i, line := range stored.To {
		page.Text(16, 312-14*i, 10, "%s", line)
	}
	page.Bars(16, 130, 80, sale.Number)
	page.Text(16, 114, 10, "%s", sale.Number)
	return emulator.PDF(page)
}

// cancel answers PUT /shipping/v2/shipments/{id}/cancel.
func (a *amazon) cancel(w http.ResponseWriter, r *http.Request) {
	a.TakeBack(w, r, r.PathValue("id"), func(again, known bool) (int, string, []byte) {
		switch {
		case !known:
			return http.StatusNotFound, "application/json", encode(problem("NotFound", "The shipment was not found", ""))
		case again:
			return http.StatusBadRequest, "application/json", encode(problem("InvalidRequest", "The shipment is already cancelled", ""))
		}
		return http.StatusOK, "application/json", encode(map[string]any{})
	})
}
