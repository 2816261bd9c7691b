package usps

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

const vendorJSON = "application/vnd.usps.labels+json"

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// create sells a label. The same key and body again is the same label, without
// a second sale.
func (s *service) create(api labelAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		in, body, p := readOrder(r, api)
		key := r.Header.Get("X-Idempotency-Key")
		switch {
		case !s.paid(r):
			s.Fail(w, http.StatusUnauthorized)
			return
		case p.detail != "":
			refuse(w, api.path, p)
			return
		case key != "" && s.replay(w, r, api, key, body):
			return
		}
		defer s.sold(key)
		if s.Refuses() {
			s.Fail(w, http.StatusBadRequest)
			return
		}
		sale := s.sale(api, in, body)
		sale.ID = key
		reference := sale.Reference
		s.Sell(w, r, sale, func(e emulator.Entry) (int, string, []byte) {
			s.pushes.follow(e)
			return api.created, vendorJSON, answer(e, e.Reference != reference)
		})
	}
}

// readOrder reads and judges an order for a label, and hashes its body.
func readOrder(r *http.Request, api labelAPI) (in labelRequest, body string, p problem) {
	raw, p := read(r, &in, "imageInfo", "toAddress", "fromAddress", "senderAddress", "returnAddress", "packageDescription", "customsForm")
	if p.detail != "" {
		return in, "", p
	}
	if key := r.Header.Get("X-Idempotency-Key"); key != "" && !uuid.MatchString(key) {
		return in, "", problem{"", "X-Idempotency-Key", "OASValidation: X-Idempotency-Key is not a UUID"}
	}
	hash := sha256.Sum256(raw)
	return in, hex.EncodeToString(hash[:]), in.check(api, time.Now())
}

// replay answers for a key that was used before, and reports whether it was.
// If not, the key is taken until sold is called; who comes meanwhile waits for
// the sale.
func (s *service) replay(w http.ResponseWriter, r *http.Request, api labelAPI, key, body string) bool {
	for {
		s.mu.Lock()
		e, voided, known := s.Ledger.Sold(key)
		taken := s.selling[key]
		if !known && !taken {
			s.selling[key] = true
		}
		s.mu.Unlock()
		switch {
		case known:
			answerAgain(w, api, e, voided, body)
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

func answerAgain(w http.ResponseWriter, api labelAPI, e emulator.Entry, voided bool, body string) {
	var k kept
	switch {
	case json.Unmarshal(e.Kept, &k) != nil || k.Body != body:
		refuse(w, api.path, problem{"", "X-Idempotency-Key", "The idempotency key was used with another request"})
	case voided:
		refuse(w, api.path, problem{"160186", "X-Idempotency-Key", "Order already canceled"})
	default:
		w.Header().Set("Content-Type", vendorJSON)
		w.WriteHeader(api.created)
		_, _ = w.Write(answer(e, false))
	}
}

func (s *service) sold(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.selling, key)
}

// find is the sale that a request speaks of, by its key or its number.
func (s *service) find(r *http.Request) (e emulator.Entry, voided, known bool) {
	name := r.PathValue("number")
	if name == "" {
		name = r.Header.Get("X-Idempotency-Key")
	}
	if name == "" {
		return e, false, false
	}
	return s.Ledger.Sold(name)
}

// reprint is the carrier's look-up.
func (s *service) reprint(api labelAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			ImageInfo struct {
				ImageType string `json:"imageType"`
			} `json:"imageInfo"`
		}
		_, p := read(r, &in, "imageInfo")
		if !s.paid(r) {
			s.Fail(w, http.StatusUnauthorized)
			return
		}
		e, voided, known := s.find(r)
		n := 0
		if p.detail == "" {
			n, p = s.mayReprint(api, e, voided, known)
		}
		if p.detail != "" {
			refuse(w, api.path, p)
			return
		}
		metadata, image := describe(e, false, in.ImageInfo.ImageType)
		body, _ := json.Marshal(map[string]any{ // of strings and numbers
			"labelMetadata": metadata, "labelImage": image, "reprintInfo": map[string]any{"reprintNumber": n, "reprintLimit": Reprints},
		})
		w.Header().Set("Content-Type", vendorJSON)
		w.Header().Set("X-Idempotency-Key", e.ID)
		_, _ = w.Write(body)
	}
}

// mayReprint counts the reprint of a sale, or says why there is none.
func (s *service) mayReprint(api labelAPI, e emulator.Entry, voided, known bool) (n int, p problem) {
	var k kept
	known = known && json.Unmarshal(e.Kept, &k) == nil && k.Abroad == api.abroad
	shown := known && (voided || s.shows(e))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !shown:
		return 0, problem{"160378", "trackingNumber", "Tracking number not found for a mailing date within the last 45 days"}
	case voided:
		return 0, problem{"160379", "trackingNumber", "Canceled labels are unavailable for reprint"}
	case manifested(k, time.Now()):
		return 0, problem{"160381", "trackingNumber", "Labels past their mailingDate are unavailable for reprint"}
	case s.reprints[e.Number] >= Reprints:
		return 0, problem{"160382", "reprintInfo.reprintCount", fmt.Sprintf("This label has reached the reprint limit of %d reprints", Reprints)}
	}
	s.reprints[e.Number]++
	return s.reprints[e.Number], problem{}
}

// shows reports whether a look-up sees the sale already.
func (s *service) shows(e emulator.Entry) bool {
	for _, found := range s.Find(e.Reference) {
		if found.Number == e.Number {
			return true
		}
	}
	return false
}

// manifested reports whether the label's manifest has gone out.
func manifested(k kept, now time.Time) bool {
	d := k.Request.PackageDescription
	day, err := time.Parse(time.DateOnly, d.MailingDate)
	return d.PackageOptions.ImmediateManifest || err == nil && now.After(day.Add(36*time.Hour))
}

// cancel takes a label back, or opens a refund request for it.
func (s *service) cancel(api labelAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.paid(r) {
			s.Fail(w, http.StatusUnauthorized)
			return
		}
		e, _, known := s.find(r)
		var k kept
		if !known || json.Unmarshal(e.Kept, &k) != nil || k.Abroad != api.abroad {
			refuse(w, api.path, problem{"160185", "trackingNumber", "Order not found"})
			return
		}
		s.TakeBack(w, r, e.Number, func(again, _ bool) (int, string, []byte) {
			s.pushes.forget(e.Number)
			if again {
				return http.StatusBadRequest, "application/json", errorBody(api.path, http.StatusBadRequest, problem{"160186", "trackingNumber", "Order already canceled"})
			}
			done := map[string]any{"trackingNumber": e.Number, "status": "CANCELED"}
			if manifested(k, time.Now()) {
				done["status"], done["disputeId"] = "DISPUTED", strconv.Itoa(100000+e.Line)
			}
			body, _ := json.Marshal(done) // of strings
			return http.StatusOK, "application/json", body
		})
	}
}
