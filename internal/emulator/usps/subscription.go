package usps

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

const (
	subscriptionsAPI = "/subscriptions-tracking/v3"
	subscriptions    = subscriptionsAPI + "/subscriptions"
)

// A subscription is where the carrier sends the events of the parcels of a
// mailer. The ledger keeps it, so that it outlives the process.
type subscription struct {
	ID     string `json:"subscriptionId"`
	URL    string `json:"listenerURL"`
	Secret string `json:"secret"`
	Status string `json:"status"`
	Filter filter `json:"filterProperties"`
}

type filter struct {
	MID                string   `json:"MID,omitempty"`
	TrackingEventTypes []string `json:"trackingEventTypes,omitempty"`
}

// tag returns the version that a deletion has to name.
func (s subscription) tag() string { return `"` + s.ID[:8] + `"` }

func (s *service) subscribe(w http.ResponseWriter, r *http.Request) {
	var in subscription
	_, p := read(r, &in, "listenerURL", "secret", "adminNotification", "filterProperties", "subscriptionName")
	if p.detail == "" {
		p = in.check()
	}
	if p.detail != "" {
		refuse(w, subscriptionsAPI, p)
		return
	}

	in.ID = newID()
	in.Status = "ENABLED"
	taken, err := s.pushes.subscribe(in)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case taken != "":
		refuse(w, subscriptionsAPI, problem{"", "listenerURL", fmt.Sprintf(
			"A subscription with listenerURL %s and secret %s exists already, subscriptionId: %s", in.URL, in.Secret, taken)})
	default:
		body, _ := json.Marshal(in) // of strings
		send(w, http.StatusCreated, body)
	}
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// check validates a subscription request. The carrier accepts only https; the
// emulator also accepts a plain http address on this machine.
func (s subscription) check() problem {
	to, err := url.Parse(s.URL)
	isLocal := err == nil && to.Scheme == "http" && (to.Hostname() == "localhost" || strings.HasPrefix(to.Hostname(), "127."))
	switch {
	case err != nil || to.Host == "" || to.Scheme != "https" && !isLocal:
		return problem{"", "listenerURL", "OASValidation: listenerURL is not an https address"}
	case len(s.Secret) != 32:
		return problem{"", "secret", "OASValidation: secret has not 32 characters"}
	case s.Filter.MID != MID:
		return problem{"", "filterProperties", "MID " + strconv.Quote(s.Filter.MID) + " is not the caller's"}
	}
	return problem{}
}

func (s *service) subscribed(w http.ResponseWriter, r *http.Request) {
	mid := r.URL.Query().Get("MID")
	if mid == "" {
		refuse(w, subscriptionsAPI, problem{"", "MID", "OASValidation: a required field is missing"})
		return
	}

	list := s.pushes.list(mid)
	if len(list) == 0 {
		send(w, http.StatusNotFound, errorBody(subscriptionsAPI, http.StatusNotFound, problem{"", "MID", "No Subscriptions were found"}))
		return
	}
	reply(w, list)
}

func (s *service) subscription(w http.ResponseWriter, r *http.Request) {
	found, ok := s.pushes.subscription(r.PathValue("id"))
	if !ok {
		send(w, http.StatusNotFound, errorBody(subscriptionsAPI, http.StatusNotFound, problem{"", "subscriptionId", "No Subscriptions were found"}))
		return
	}
	w.Header().Set("ETag", found.tag())
	reply(w, found)
}

func (s *service) unsubscribe(w http.ResponseWriter, r *http.Request) {
	found, ok := s.pushes.subscription(r.PathValue("id"))
	switch {
	case !ok:
		send(w, http.StatusNotFound, errorBody(subscriptionsAPI, http.StatusNotFound, problem{"", "subscriptionId", "No Subscriptions were found"}))
	case r.Header.Get("If-Match") != found.tag():
		send(w, http.StatusPreconditionFailed, errorBody(subscriptionsAPI, http.StatusPreconditionFailed, problem{"", "If-Match", "The ETag does not match"}))
	default:
		if err := s.pushes.unsubscribe(found); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		reply(w, map[string]any{"subscriptionId": found.ID})
	}
}

// record writes to the ledger that a subscription began or ended.
func (s *service) record(kind string, sub subscription) error {
	keep, _ := json.Marshal(sub) // of strings
	_, err := s.Ledger.Append(emulator.Entry{Kind: kind, Number: sub.ID, Kept: keep})
	return err
}
