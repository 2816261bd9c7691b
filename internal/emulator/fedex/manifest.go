package fedex

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// A closeOrder is a request to close a day of FedEx Ground, or to print it again.
type closeOrder struct {
	Type            string `json:"closeReqType"`
	ServiceCategory string `json:"groundServiceCategory"`
	AccountNumber   value
	CloseDate       string
	ReprintOption   string
	TrackingNumber  string
	Documents       struct {
		Types []string `json:"closeDocumentTypes"`
	} `json:"closeDocumentSpecification"`
}

// check returns why FedEx refuses the request; nil if it accepts it.
func (c *closeOrder) check(kind string) *problem {
	_, err := time.Parse(time.DateOnly, c.CloseDate)
	switch {
	case !knownAccount(c.AccountNumber.Value):
		return &problem{"ACCOUNT.NUMBER.MISMATCH", "The account number is not valid for the credentials."}
	case c.Type != kind || c.ServiceCategory != "GROUND":
		return &problem{"CLOSEREQTYPE.INVALID", "Close request type or ground service category is invalid."}
	case err != nil && c.ReprintOption != "BY_TRACKING_NUMBER":
		return &problem{"AVAILABILITY.SHIP.DATE.INVALID", "Ship date is invalid."}
	}
	return nil
}

// closeDay closes what the account has open at FedEx Ground on a day. With nothing
// open there is nothing to print.
func (f *fedex) closeDay(w http.ResponseWriter, r *http.Request) {
	var request closeOrder
	if !read(w, r, &request) {
		return
	}
	if bad := request.check("GCDR"); bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}
	if f.RefusesDay() {
		refuse(w, r, http.StatusBadRequest, "GROUND.CLOSE.REFUSED", "The day cannot be closed.")
		return
	}

	// Of two closes at once, one gets everything.
	f.closing.Lock()
	defer f.closing.Unlock()
	open := f.openGround(request.AccountNumber.Value, request.CloseDate)
	if len(open) == 0 {
		f.answerDay(w, r, http.StatusOK, object{"closeDocuments": []object{}})
		return
	}
	closed, err := f.Ledger.Append(emulator.Entry{
		Kind:    emulator.ManifestClosed,
		Number:  fmt.Sprintf("%s%08d", strings.ReplaceAll(request.CloseDate, "-", ""), f.Ledger.Next()),
		Pieces:  open,
		Account: request.AccountNumber.Value,
		Service: "GROUND",
		Second:  request.CloseDate,
	})
	if err != nil {
		f.Fail(w, http.StatusInternalServerError)
		return
	}
	f.answerDay(w, r, http.StatusOK, object{"closeDocuments": documentsOf(request, closed)})
}

// reprint prints closed days again.
func (f *fedex) reprint(w http.ResponseWriter, r *http.Request) {
	var request closeOrder
	if !read(w, r, &request) {
		return
	}
	if bad := request.check("RGCDR"); bad != nil {
		refuse(w, r, http.StatusBadRequest, bad.code, bad.message)
		return
	}

	documents := []object{}
	for _, entry := range f.Ledger.Entries() {
		isAsked := entry.Second == request.CloseDate
		if request.ReprintOption == "BY_TRACKING_NUMBER" {
			isAsked = slices.Contains(entry.Pieces, request.TrackingNumber)
		}
		if entry.Kind == emulator.ManifestClosed && entry.Account == request.AccountNumber.Value && isAsked {
			documents = append(documents, documentsOf(request, entry)...)
		}
	}
	if len(documents) == 0 {
		refuse(w, r, http.StatusBadRequest, "GROUND.CLOSE.DOCUMENT.NOTFOUND", "No close document was found.")
		return
	}
	answer(w, r, object{"closeDocuments": documents})
}

// openGround returns the tracking numbers of FedEx Ground that an account has for a
// day, without those that are voided or closed.
func (f *fedex) openGround(account, day string) []string {
	var open []string
	entries := f.Ledger.Entries()
	for _, entry := range entries {
		sale := memory(entry)
		if entry.Kind == "sold" && entry.Account == account && sale.Carrier == "FDXG" && sale.ShipDate == day {
			open = append(open, entry.Pieces...)
		}
	}
	for _, entry := range entries {
		if entry.Kind == "voided" || entry.Kind == emulator.ManifestClosed {
			open = slices.DeleteFunc(open, func(number string) bool { return slices.Contains(entry.Pieces, number) })
		}
	}
	return open
}

// isClosed reports whether a sale is on a manifest.
func (f *fedex) isClosed(sale emulator.Entry) bool {
	return slices.ContainsFunc(f.Ledger.Entries(), func(e emulator.Entry) bool {
		return e.Kind == emulator.ManifestClosed && slices.Contains(e.Pieces, sale.Number)
	})
}

// documentsOf returns what was asked for of a closed day: a list of its parcels, as
// text of two parts.
func documentsOf(request closeOrder, closed emulator.Entry) []object {
	if len(request.Documents.Types) > 0 && !slices.Contains(request.Documents.Types, "MANIFEST") {
		return nil
	}
	head := fmt.Sprintf("FEDEX GROUND MANIFEST  ACCOUNT %s  DATE %s\n", closed.Account, closed.Second)
	list := strings.Join(closed.Pieces, "\n") + "\n"
	return []object{{
		"type":                        "MANIFEST",
		"shippingCycle":               closed.Number,
		"shippingDocumentDisposition": "CONFIRMED",
		"copiesToPrint":               1,
		"parts": []object{
			{"documentPartSequenceNumber": 2, "image": []byte(list)},
			{"documentPartSequenceNumber": 1, "image": []byte(head)},
		},
	}}
}
