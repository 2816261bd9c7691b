package royalmail

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/emulator"
)

// closeManifest puts all orders with a label on a manifest that are on none.
func (s *standIn) closeManifest(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.Faults().Account == noOBA:
		w.WriteHeader(http.StatusForbidden)
		return
	case s.RefusesDay():
		refuseManifest(w, "ManifestFailed", "The orders could not be manifested")
		return
	}

	closed, err := s.closeOpen()
	switch {
	case err != nil:
		s.Fail(w, http.StatusInternalServerError)
		return
	case len(closed.Pieces) == 0:
		refuseManifest(w, "NoEligibleOrders", "There are no eligible orders to manifest")
		return
	}

	status := http.StatusCreated
	body := manifestBody(closed)
	if s.Faults().Account == lateManifest || s.failsManifests() {
		status = http.StatusAccepted
	} else {
		body["documentPdf"] = formOf(closed)
	}
	s.AnswerDay(w, r, emulator.Answer{Status: status, ContentType: "application/json", Body: encode(body)})
}

// failsManifests reports whether a manifest gets its number and then fails.
func (s *standIn) failsManifests() bool {
	switch s.Faults().Account {
	case failedManifest, brokenManifest, declinedRetry:
		return true
	}
	return false
}

// closeOpen closes all orders that are open. Of two manifests at once, one gets
// everything, and the other is empty. A manifest that fails is not in the ledger.
func (s *standIn) closeOpen() (emulator.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.openOrders()
	if len(open) == 0 {
		return emulator.Entry{}, nil
	}
	manifest := emulator.Entry{
		Kind:   emulator.ManifestClosed,
		Number: strconv.Itoa(100000 + s.Ledger.Next()),
		Pieces: open,
	}
	if s.failsManifests() {
		s.failed[manifest.Number] = open
		return manifest, nil
	}
	return s.Ledger.Append(manifest)
}

// retryManifest closes a manifest that failed.
func (s *standIn) retryManifest(w http.ResponseWriter, r *http.Request) {
	number := r.PathValue("number")
	s.mu.Lock()
	defer s.mu.Unlock()
	pieces, ok := s.failed[number]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}

	manifest := emulator.Entry{Kind: emulator.ManifestClosed, Number: number, Pieces: pieces}
	switch s.Faults().Account {
	case brokenManifest:
		reply(w, http.StatusAccepted, manifestBody(manifest))
		return
	case declinedRetry:
		refuseManifest(w, "ManifestFailed", "The posting location is closed")
		return
	}

	closed, err := s.Ledger.Append(manifest)
	if err != nil {
		s.Fail(w, http.StatusInternalServerError)
		return
	}
	delete(s.failed, number)
	body := manifestBody(closed)
	body["documentPdf"] = formOf(closed)
	s.AnswerDay(w, r, emulator.Answer{Status: http.StatusCreated, ContentType: "application/json", Body: encode(body)})
}

func refuseManifest(w http.ResponseWriter, code, description string) {
	reply(w, http.StatusBadRequest, object{"errors": []object{{"code": code, "description": description}}})
}

func manifestBody(closed emulator.Entry) object {
	number, _ := strconv.Atoi(closed.Number)
	return object{"manifestNumber": number}
}

// openOrders returns the tracking numbers that can be manifested. The caller holds
// the lock.
func (s *standIn) openOrders() []string {
	var open []string
	entries := s.Ledger.Entries()
	for _, entry := range entries {
		if entry.Kind == "sold" && entry.Service != "" && services[entry.Service].where != "return" && s.Faults().Account != noPostage {
			open = append(open, entry.Number)
		}
	}
	for _, entry := range entries {
		switch entry.Kind {
		case "voided":
			open = slices.DeleteFunc(open, func(number string) bool { return number == entry.Number })
		case emulator.ManifestClosed:
			open = slices.DeleteFunc(open, func(number string) bool { return slices.Contains(entry.Pieces, number) })
		}
	}
	for _, pieces := range s.failed {
		open = slices.DeleteFunc(open, func(number string) bool { return slices.Contains(pieces, number) })
	}
	return open
}

// manifestOf returns the manifest that a sale is on.
func (s *standIn) manifestOf(sale emulator.Entry) (emulator.Entry, bool) {
	for _, entry := range s.Ledger.Entries() {
		if entry.Kind == emulator.ManifestClosed && slices.Contains(entry.Pieces, sale.Number) {
			return entry, true
		}
	}
	return emulator.Entry{}, false
}

// showManifest shows a manifest. One whose form is late is ready at the third
// look.
func (s *standIn) showManifest(w http.ResponseWriter, r *http.Request) {
	const looksNeeded = 3
	number := r.PathValue("number")
	s.mu.Lock()
	pieces, hasFailed := s.failed[number]
	s.mu.Unlock()
	if hasFailed {
		body := manifestBody(emulator.Entry{Number: number, Pieces: pieces})
		body["status"] = "Failed"
		reply(w, http.StatusOK, body)
		return
	}

	entries := s.Ledger.Entries()
	i := slices.IndexFunc(entries, func(e emulator.Entry) bool { return e.Kind == emulator.ManifestClosed && e.Number == number })
	if i < 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}

	s.mu.Lock()
	s.looks[number]++
	looks := s.looks[number]
	s.mu.Unlock()

	body := manifestBody(entries[i])
	if s.Faults().Account == lateManifest && looks < looksNeeded {
		body["status"] = "In Progress"
	} else {
		body["status"] = "Completed"
		body["documentPdf"] = formOf(entries[i])
	}
	reply(w, http.StatusOK, body)
}

// formOf draws the form of a manifest, A4.
func formOf(closed emulator.Entry) []byte {
	form := emulator.Page{Wide: 595, High: 842}
	form.Text(40, 790, 16, "ROYAL MAIL MANIFEST %s", closed.Number)
	for i, number := range closed.Pieces[:min(40, len(closed.Pieces))] {
		form.Text(40, 760-16*i, 10, "%s", number)
	}
	return emulator.PDF(form)
}
