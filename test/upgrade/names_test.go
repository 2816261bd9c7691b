//go:build chaos

package upgrade

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A purchase in the background or in two steps has a name that the service gives it,
// and another release may give it another. Both releases work on it in turns, and
// nothing may be bought twice.

// lacks reports whether one of the copies is of a release without the path.
func (w *world) lacks(path string, copies ...*server) bool {
	return w.isMissing[path] && slices.ContainsFunc(copies, func(copy *server) bool { return copy.isOld })
}

// probePaths finds out which of the paths the old release has.
func (w *world) probePaths(old *server, paths ...string) {
	w.isMissing = map[string]bool{}
	for _, path := range paths {
		status, _, err := w.send(old, http.MethodPost, path, "", "{}")
		if err != nil {
			w.Fatal(err)
		}
		w.isMissing[path] = status == http.StatusNotFound || status == http.StatusMethodNotAllowed
	}
}

// linesOfABatch is how many shipments a batch buys.
const linesOfABatch = 4

// buysBatch returns the step that sends a batch to one copy, repeats it at the other,
// and waits until it is bought, by whichever copy.
func (w *world) buysBatch(name string) func(one, other *server) bool {
	return func(one, other *server) bool {
		if w.lacks("/v1/batches", one, other) {
			return true
		}
		var lines []string
		for line := range linesOfABatch {
			lines = append(lines, fmt.Sprintf(`{"orderId":"batch-%s-%d","destination":%s,"parcel":{"weight":2.5}}`, name, line, fmt.Sprintf(addressee, "Jane Doe")))
		}
		body := `{"shipments":[` + strings.Join(lines, ",") + `]}`

		var first, second struct{ ID string }
		if !w.call(one, http.MethodPost, "/v1/batches", "batch-"+name, body, &first) {
			return false
		}
		w.expect(linesOfABatch)
		if !w.call(other, http.MethodPost, "/v1/batches", "batch-"+name, body, &second) {
			return false
		}
		if first.ID != second.ID {
			w.fail("%s and %s made the batches %s and %s of one key", one.Name, other.Name, first.ID, second.ID)
		}
		return true
	}
}

// buysRated returns the step that rates a shipment under /v2 at one copy, and buys it at
// the other and then again at the first.
func (w *world) buysRated(name string) func(one, other *server) bool {
	return func(one, other *server) bool {
		if w.lacks("/v2/shipments", one, other) {
			return true
		}
		address := `{"name":"Jane Doe","street1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"2125550100"}`
		var rated struct {
			ID    string
			Rates []struct{ ID string }
		}
		body := fmt.Sprintf(`{"shipment":{"reference":"rated-%s","from_address":%s,"to_address":%s,"parcel":{"length":8,"width":5,"height":5,"weight":5}}}`, name, address, address)
		if !w.call(one, http.MethodPost, "/v2/shipments", "", body, &rated) {
			return false
		}
		if len(rated.Rates) == 0 {
			w.fail("%s rates nothing under /v2", one.Name)
			return false
		}

		w.expect(1)
		var codes []string
		for _, at := range []*server{other, one, other} {
			var bought struct {
				Code string `json:"tracking_code"`
			}
			if !w.call(at, http.MethodPost, "/v2/shipments/"+rated.ID+"/buy", "", fmt.Sprintf(`{"rate":{"id":%q}}`, rated.Rates[0].ID), &bought) {
				return false
			}
			codes = append(codes, bought.Code)
		}
		if codes[0] == "" || codes[0] != codes[1] || codes[0] != codes[2] {
			w.fail("%s was bought as %v", rated.ID, codes)
		}
		return true
	}
}

// expect counts shipments that are bought beside the parcels.
func (w *world) expect(shipments int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.others += shipments
}

// expected returns how many shipments there must be at the end.
func (w *world) expected() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.parcels) + w.others
}

// awaitBackground waits until all batches are bought.
func (w *world) awaitBackground() {
	for range 600 {
		if w.count("SELECT count(*) FROM batches WHERE state = 'purchasing'") == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.fail("batches are still open")
}
