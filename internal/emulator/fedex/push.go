package fedex

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// mostSteps is how many steps of a script are pushed.
const mostSteps = 62

// webhook pushes the scans of all parcels.
type webhook struct {
	*emulator.Webhook
	stand *fedex
	open  map[int]*followed // by line of the ledger
}

// followed is a parcel whose tracking state is not final.
type followed struct {
	sale      emulator.Entry
	sent      uint64 // bit set of the script's steps that were pushed
	cancelled bool
}

func newWebhook(f *fedex) *webhook {
	h := &webhook{stand: f, open: map[int]*followed{}}
	h.Webhook = emulator.NewWebhook(f.Server, h.look, func(status int) bool {
		return status == http.StatusOK || status == http.StatusAccepted
	})
	return h
}

// set starts pushing to an address, including what happened before, or stops
// pushing.
func (h *webhook) set(w http.ResponseWriter, r *http.Request) {
	var to struct{ URL, Token string }
	err := json.NewDecoder(r.Body).Decode(&to)
	sales := h.stand.Ledger.Entries()

	h.Lock()
	defer h.Unlock()
	if err != nil || !h.Direct(to.URL, to.Token) {
		http.Error(w, "the address and the token that signs are needed", http.StatusUnprocessableEntity)
		return
	}

	clear(h.open)
	for _, entry := range sales {
		switch entry.Kind {
		case "sold":
			h.add(entry)
		case "voided":
			h.cancel(entry.Number)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *webhook) show(w http.ResponseWriter, _ *http.Request) {
	h.Lock()
	defer h.Unlock()
	waiting, pushed, failed := h.Counts()
	send(w, http.StatusOK, object{
		"url":     h.URL,
		"parcels": len(h.open),
		"waiting": waiting,
		"pushed":  pushed,
		"failed":  failed,
	})
}

// follow starts pushing the events of a sale.
func (h *webhook) follow(sold emulator.Entry) {
	h.Lock()
	defer h.Unlock()
	h.add(sold)
}

func (h *webhook) add(sold emulator.Entry) {
	if h.URL != "" && len(h.open) < emulator.MaxPushed {
		h.open[sold.Line] = &followed{sale: sold}
	}
}

// cancelled pushes the cancellation of a sale.
func (h *webhook) cancelled(sold emulator.Entry) {
	h.Lock()
	defer h.Unlock()
	h.cancel(sold.Number)
}

func (h *webhook) cancel(number string) {
	for _, parcel := range h.open {
		if parcel.sale.Number == number {
			parcel.cancelled = true
		}
	}
}

// look enqueues what has happened since the last call, as far as there is room.
func (h *webhook) look(now time.Time) {
	script := h.stand.script()
	script = script[:min(len(script), mostSteps)]

	for line, parcel := range h.open {
		age := now.Sub(parcel.sale.At)
		for i, scan := range script {
			bit := uint64(1) << i
			if parcel.sent&bit != 0 || age < time.Duration(scan.After) {
				continue
			}
			if !h.enqueue(parcel.sale, scan) {
				return
			}
			parcel.sent |= bit
		}

		isOver := parcel.sent == 1<<len(script)-1
		if parcel.cancelled {
			if !h.enqueue(parcel.sale, cancellation) {
				return
			}
			isOver = true
		}
		if isOver {
			delete(h.open, line)
		}
	}
}

// enqueue queues a push for a scan of every piece, if there is room for all of
// them.
func (h *webhook) enqueue(sold emulator.Entry, scan emulator.Scan) bool {
	if !h.HasRoom(len(sold.Pieces)) {
		return false
	}

	secret := h.Secret
	for piece := range sold.Pieces {
		h.Enqueue(func(attempt int) (map[string]string, []byte) {
			return renderPush(sold, piece, scan, secret, attempt)
		})
	}
	return true
}

// renderPush returns the push of one scan of one piece, signed.
func renderPush(sold emulator.Entry, piece int, scan emulator.Scan, secret string, attempt int) (header map[string]string, body []byte) {
	body = marshal(object{
		"transactionId":  transaction,
		"outputMetaData": object{"attemptNumber": attempt, "attemptTime": time.Now().UTC().Format(time.RFC3339)},
		"output": object{"completeTrackResults": []object{{
			"trackingNumber": sold.Pieces[piece],
			"trackResults":   []object{history(sold, piece, []emulator.Scan{scan}, true)},
		}}},
	})

	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(body) // never fails
	return map[string]string{"Fdx-Signature": base64.StdEncoding.EncodeToString(mac.Sum(nil))}, body
}
