package ups

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What UPS takes of a document.
var (
	formFormats = []string{"bmp", "doc", "gif", "jpg", "pdf", "png", "rtf", "tif", "txt", "xls", "docx", "xlsx"}
	formTypes   = regexp.MustCompile(`^0(0[1-9]|1[0-3])$`)
	shipmentDay = regexp.MustCompile(`^\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d$`)
)

const maxForm = 10 << 20

// uploadForm puts a file into the Forms History of the account. A file that is
// uploaded twice gets two numbers.
func (s *server) uploadForm(w http.ResponseWriter, r *http.Request) {
	var in struct {
		UploadRequest *struct {
			Request         *head
			ShipperNumber   string
			UserCreatedForm []struct {
				UserCreatedFormFileName     string
				UserCreatedFormFileFormat   string
				UserCreatedFormDocumentType string
				UserCreatedFormFile         []byte
			}
		}
	}
	if !decode(w, r, &in) {
		return
	}
	asked := in.UploadRequest
	switch {
	case asked == nil || asked.Request == nil || len(asked.UserCreatedForm) != 1:
		refuse(w, refusal{"9590001", "Missing or invalid UploadRequest"})
		return
	case asked.ShipperNumber != Account || r.Header.Get("ShipperNumber") != Account:
		refuse(w, refusal{"9590018", "The shipper account is not eligible to upload forms created offline."})
		return
	}
	form := asked.UserCreatedForm[0]
	size := len(form.UserCreatedFormFile)
	if form.UserCreatedFormFileName == "" || !slices.Contains(formFormats, form.UserCreatedFormFileFormat) ||
		!formTypes.MatchString(form.UserCreatedFormDocumentType) || size == 0 || size > maxForm {
		refuse(w, refusal{"9590010", "Missing or invalid user created form"})
		return
	}

	uploaded, err := s.Ledger.Append(emulator.Entry{
		Kind:      emulator.FormUploaded,
		Number:    "2026-11-17-" + pad(strconv.Itoa(s.Ledger.Next()), 15),
		Reference: asked.Request.TransactionReference.CustomerContext,
		Service:   form.UserCreatedFormDocumentType,
		Account:   Account,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.AnswerDay(w, r, emulator.Answer{
		Status:      http.StatusOK,
		ContentType: "application/json",
		Body: encode(map[string]any{"UploadResponse": map[string]any{
			"Response":               responseOf(uploaded.Reference),
			"FormsHistoryDocumentID": map[string]any{"DocumentID": []string{uploaded.Number}},
		}}),
	})
}

// attachForm attaches a file of the Forms History to a shipment.
func (s *server) attachForm(w http.ResponseWriter, r *http.Request) {
	var in struct {
		PushToImageRepositoryRequest *struct {
			Request                *head
			ShipperNumber          string
			FormsHistoryDocumentID struct{ DocumentID []string }
			ShipmentIdentifier     string
			ShipmentDateAndTime    string
			ShipmentType           string
			TrackingNumber         []string
		}
	}
	if !decode(w, r, &in) {
		return
	}
	asked := in.PushToImageRepositoryRequest
	if asked == nil || asked.Request == nil || asked.ShipperNumber != Account || r.Header.Get("ShipperNumber") != Account ||
		len(asked.FormsHistoryDocumentID.DocumentID) != 1 || asked.ShipmentType != "1" ||
		!shipmentDay.MatchString(asked.ShipmentDateAndTime) || len(asked.TrackingNumber) == 0 {
		refuse(w, refusal{"9590001", "Missing or invalid PushToImageRepositoryRequest"})
		return
	}

	id := asked.FormsHistoryDocumentID.DocumentID[0]
	entries := s.Ledger.Entries()
	i := slices.IndexFunc(entries, func(e emulator.Entry) bool { return e.Kind == emulator.FormUploaded && e.Number == id })
	_, voided, isSold := s.Ledger.Sold(asked.ShipmentIdentifier)
	switch {
	case i < 0:
		refuse(w, refusal{"9590011", "The document id is not found in Forms History."})
		return
	case !isSold || voided || s.RefusesDay():
		refuse(w, refusal{"9590012", "The shipment identifier is not valid."})
		return
	}

	attached, err := s.Ledger.Append(emulator.Entry{
		Kind:      emulator.DocumentFiled,
		Number:    id,
		ID:        asked.ShipmentIdentifier,
		Reference: asked.Request.TransactionReference.CustomerContext,
		Service:   entries[i].Service,
		Account:   Account,
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.AnswerDay(w, r, emulator.Answer{
		Status:      http.StatusOK,
		ContentType: "application/json",
		Body: encode(map[string]any{"PushToImageRepositoryResponse": map[string]any{
			"Response":     responseOf(attached.Reference),
			"FormsGroupID": "2026-11-17-" + pad(strconv.Itoa(attached.Line), 15),
		}}),
	})
}
