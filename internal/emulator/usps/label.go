package usps

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

const vendorJSON = "application/vnd.usps.labels+json"

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// create sells a label. Repeating a request with the same key and body returns
// the same label, without a second sale.
func (s *service) create(api labelAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in, body, p := readOrder(r, api)
		key := r.Header.Get("X-Idempotency-Key")
		switch {
		case !s.isPaid(r):
			s.Fail(w, http.StatusUnauthorized)
			return
		case p.detail != "":
			refuse(w, api.path, p)
			return
		case key != "" && s.replay(w, r, api, key, body):
			return
		}

		// The key was taken by replay, and is free again once the sale is in
		// the ledger.
		defer s.releaseKey(key)
		if s.Refuses() {
			s.Fail(w, http.StatusBadRequest)
			return
		}
		sale := s.sale(api, in, body)
		sale.ID = key
		reference := sale.Reference
		s.Sell(w, r, sale, func(sold emulator.Entry) (int, string, []byte) {
			s.pushes.follow(sold)
			return api.created, vendorJSON, answer(sold, sold.Reference != reference)
		})
	}
}

// readOrder reads and checks an order for a label, and hashes its body.
func readOrder(r *http.Request, api labelAPI) (in labelRequest, body string, p problem) {
	raw, p := read(r, &in, "imageInfo", "toAddress", "fromAddress", "senderAddress", "returnAddress", "packageDescription", "customsForm")
	if p.detail != "" {
		return in, "", p
	}
	if key := r.Header.Get("X-Idempotency-Key"); key != "" && !uuid.MatchString(key) {
		return in, "", problem{"", "X-Idempotency-Key", "OASValidation: X-Idempotency-Key is not a UUID"}
	}
	if api.isReturn {
		if p := in.asReturn(time.Now()); p.detail != "" {
			return in, "", p
		}
	}
	hash := sha256.Sum256(raw)
	return in, hex.EncodeToString(hash[:]), in.check(api, time.Now())
}

// returnSuffix ends the names of the mail classes of returns.
const returnSuffix = "_RETURN_SERVICE"

// asReturn completes an order for a return: it has its class's name without the
// suffix, and no date of its own.
func (in *labelRequest) asReturn(now time.Time) problem {
	parcel := &in.PackageDescription
	name, ok := strings.CutSuffix(parcel.MailClass, returnSuffix)
	if !ok {
		return problem{"160196", "packageDescription.mailClass", "currently only the mail classes of returns are supported"}
	}
	parcel.MailClass = name
	parcel.MailingDate = now.UTC().Format(time.DateOnly)
	parcel.EntryFacilityType = "NONE"
	return problem{}
}

// replay answers for a key that was used before, and reports whether it was.
// If not, the key is taken until releaseKey is called; requests that come
// meanwhile wait for the sale.
func (s *service) replay(w http.ResponseWriter, r *http.Request, api labelAPI, key, body string) bool {
	for {
		// The ledger and the keys under way are read under one lock, so that
		// of two requests with the same key only one can sell.
		s.mu.Lock()
		sold, voided, known := s.Ledger.Sold(key)
		taken := s.selling[key]
		if !known && !taken {
			s.selling[key] = true
		}
		s.mu.Unlock()

		switch {
		case known:
			answerAgain(w, api, sold, voided, body)
			return true
		case !taken:
			return false
		}
		select {
		case <-r.Context().Done():
			return true
		case <-time.After(time.Millisecond):
		}
	}
}

func answerAgain(w http.ResponseWriter, api labelAPI, sold emulator.Entry, voided bool, body string) {
	var sale kept
	switch {
	case json.Unmarshal(sold.Kept, &sale) != nil || sale.Body != body:
		refuse(w, api.path, problem{"", "X-Idempotency-Key", "The idempotency key was used with another request"})
	case voided:
		refuse(w, api.path, problem{"160186", "X-Idempotency-Key", "Order already canceled"})
	default:
		w.Header().Set("Content-Type", vendorJSON)
		w.WriteHeader(api.created)
		_, _ = w.Write(answer(sold, false))
	}
}

func (s *service) releaseKey(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.selling, key)
}

// find returns the sale that a request is about, by its key or its number.
func (s *service) find(r *http.Request) (sold emulator.Entry, voided, known bool) {
	name := r.PathValue("number")
	if name == "" {
		name = r.Header.Get("X-Idempotency-Key")
	}
	if name == "" {
		return sold, false, false
	}
	return s.Ledger.Sold(name)
}

// reprint returns the handler of the carrier's look-up.
func (s *service) reprint(api labelAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ImageInfo struct {
				ImageType string `json:"imageType"`
				LabelType string `json:"labelType"`
			} `json:"imageInfo"`
		}
		_, p := read(r, &in, "imageInfo")
		if p.detail == "" && (!slices.Contains(imagesAtHome, in.ImageInfo.ImageType) || !slices.Contains(labelTypes, in.ImageInfo.LabelType)) {
			p = problem{"", "imageInfo", "OASValidation: the emulator draws " + strings.Join(imagesAtHome[1:], " and ") + " of the type 4X6LABEL"}
		}
		if !s.isPaid(r) {
			s.Fail(w, http.StatusUnauthorized)
			return
		}

		sold, voided, known := s.find(r)
		n := 0
		if p.detail == "" {
			n, p = s.countReprint(api, sold, voided, known)
		}
		if p.detail != "" {
			refuse(w, api.path, p)
			return
		}

		metadata, image := describe(sold, false, in.ImageInfo.ImageType)
		answer := map[string]any{"reprintInfo": map[string]any{"reprintNumber": n, "reprintLimit": Reprints}}
		if isReturn(sold) {
			answer["returnLabelMetadata"] = metadata
			answer["returnLabelImage"] = image
		} else {
			answer["labelMetadata"] = metadata
			answer["labelImage"] = image
		}
		body, _ := json.Marshal(answer) // of strings and numbers
		w.Header().Set("Content-Type", vendorJSON)
		w.Header().Set("X-Idempotency-Key", sold.ID)
		_, _ = w.Write(body)
	}
}

// countReprint counts the reprint of a sale, or returns why there is none.
func (s *service) countReprint(api labelAPI, sold emulator.Entry, voided, known bool) (n int, p problem) {
	var sale kept
	known = known && json.Unmarshal(sold.Kept, &sale) == nil && sale.Abroad == api.abroad
	isShown := known && (voided || s.shows(sold))

	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !isShown:
		return 0, problem{"160378", "trackingNumber", "Tracking number not found for a mailing date within the last 45 days"}
	case voided:
		return 0, problem{"160379", "trackingNumber", "Canceled labels are unavailable for reprint"}
	case isManifested(sale, time.Now()):
		return 0, problem{"160381", "trackingNumber", "Labels past their mailingDate are unavailable for reprint"}
	case s.reprints[sold.Number] >= Reprints:
		return 0, problem{"160382", "reprintInfo.reprintCount", fmt.Sprintf("This label has reached the reprint limit of %d reprints", Reprints)}
	}
	s.reprints[sold.Number]++
	return s.reprints[sold.Number], problem{}
}

// shows reports whether a look-up can see the sale yet.
func (s *service) shows(sold emulator.Entry) bool {
	for _, found := range s.Find(sold.Reference) {
		if found.Number == sold.Number {
			return true
		}
	}
	return false
}

// isManifested reports whether the label's manifest was sent.
func isManifested(sale kept, now time.Time) bool {
	parcel := sale.Request.PackageDescription
	day, err := time.Parse(time.DateOnly, parcel.MailingDate)
	return parcel.PackageOptions.ImmediateManifest || err == nil && now.After(day.Add(36*time.Hour))
}

// cancel voids a label, or opens a refund request for it.
func (s *service) cancel(api labelAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.isPaid(r) {
			s.Fail(w, http.StatusUnauthorized)
			return
		}

		sold, _, known := s.find(r)
		var sale kept
		if !known || json.Unmarshal(sold.Kept, &sale) != nil || sale.Abroad != api.abroad {
			refuse(w, api.path, problem{"160185", "trackingNumber", "Order not found"})
			return
		}
		if sale.IsReturn {
			refuse(w, api.path, problem{"160187", "trackingNumber", "Return label orders cannot be canceled"})
			return
		}

		s.TakeBack(w, r, sold.Number, func(again, _ bool) (int, string, []byte) {
			s.pushes.forget(sold.Number)
			if again {
				return http.StatusBadRequest, "application/json", errorBody(api.path, http.StatusBadRequest, problem{"160186", "trackingNumber", "Order already canceled"})
			}

			// After the manifest the carrier opens a refund request instead.
			done := map[string]any{"trackingNumber": sold.Number, "status": "CANCELED"}
			if isManifested(sale, time.Now()) || s.isOnForm(sold.Number) {
				done["status"] = "DISPUTED"
				done["disputeId"] = strconv.Itoa(100000 + sold.Line)
			}
			body, _ := json.Marshal(done) // of strings
			return http.StatusOK, "application/json", body
		})
	}
}
