//go:build chaos

package crash

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// client wants one label, and in some scenarios then wants it voided. It knows
// nothing of deaths: it asks until it has a definite answer, always with the
// same key.
type client struct {
	http http.Client
	api  string // key of the API
	key  string // of the purchase; empty if it has no name

	order  string // the end of what it asks
	quotes string // how it asks for rates, if it wants to agree on one
	body   string // how it asks for the label

	shipment string
	bought   bool   // it was told so
	refused  string // or why not
	answer   []byte // the first 201
	voids    bool   // it wants the void
	voided   bool   // it knows what became of the void

	complaints []string
}

const (
	shipFrom = `{"name":"Warehouse","company":"Shop","address1":"1 Market St","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+14155550100"}`
	shipTo   = `{"name":"Ada Lovelace","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"+12125550100"}`

	// abroad is the end of an order whose documents customs asks for.
	abroad = `"origin":` + shipFrom + `,"destination":{"name":"Erika Muster","address1":"Hauptstr. 1","city":"Berlin","zip":"10115","country":"DE","phone":"+493012345678"}` +
		`,"parcel":{"weight":2.5,"weightUnit":"lb"},"customs":{"contentsType":"merchandise","documentsFollow":true,` +
		`"items":[{"description":"Wooden toys","quantity":2,"value":{"amount":"12.50","currency":"USD"},"weight":1,"hsCode":"950300","originCountry":"US"}]}}`
)

func newClient(w *world, s scenario) *client {
	c := &client{http: http.Client{Timeout: proving.Patiently(20 * time.Second), Transport: &http.Transport{DisableKeepAlives: true}}, api: w.key, key: "key-1", voids: s.voids}
	if s.unnamed {
		c.key = ""
	}
	if s.approval != "" {
		c.api = w.agent
	}
	c.order = `"origin":` + shipFrom + `,"destination":` + shipTo +
		`,"parcel":{"weight":2.5,"weightUnit":"lb","dimensions":{"length":10,"width":8,"height":4,"unit":"in"}}}`
	if s.overLimit {
		c.quotes = `{"carriers":["` + s.carrier + `"],` + c.order
	} else {
		c.body = `{"orderId":"order-1","carrier":"` + s.carrier + `",` + c.order
	}
	return c
}

// done reports whether the client has all it wants.
func (c *client) done() bool {
	return c.refused != "" || c.bought && (!c.voids || c.voided)
}

type shown struct {
	ID, LabelStatus, TrackingNumber string
}

// ask makes the client's next request of a copy.
func (c *client) ask(addr string) {
	switch {
	case c.done():
	case c.bought:
		c.askVoid(addr)
	case c.shipment != "":
		c.look(addr)
	default:
		c.askPurchase(addr)
	}
}

func (c *client) askPurchase(addr string) {
	if c.body == "" && !c.agree(addr) {
		return
	}
	status, body, err := c.call(addr, http.MethodPost, "/v1/shipments", c.body)
	if err != nil {
		return
	}
	var sh shown
	_ = json.Unmarshal(body, &sh)
	switch {
	case status == http.StatusCreated || status == http.StatusOK:
		c.shipment, c.bought = sh.ID, true
		if status == http.StatusCreated && c.answer == nil {
			c.answer = body
		}
	case status == http.StatusAccepted:
		c.shipment = sh.ID
	case status < 500 && status != http.StatusConflict && status != http.StatusTooManyRequests:
		c.refused = string(body)
	}
}

// agree has the client ask for rates and choose one, which is the most that it
// is ready to pay.
func (c *client) agree(addr string) bool {
	status, body, err := c.call(addr, http.MethodPost, "/v1/rates", c.quotes)
	var offered struct{ Rates []struct{ ID string } }
	switch {
	case err != nil, status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		return false
	case status != http.StatusOK || json.Unmarshal(body, &offered) != nil:
		c.complaints = append(c.complaints, "rates: "+string(body))
		return false
	case len(offered.Rates) == 0:
		// On a slow machine the carrier may not answer in time. A client that never
		// gets rates is reported as not settled.
		return false
	}
	c.body = `{"orderId":"order-1","rateId":"` + offered.Rates[0].ID + `",` + c.order
	return true
}

// look asks what became of a purchase that was answered as pending.
func (c *client) look(addr string) {
	sh, ok := c.get(addr)
	if !ok {
		return
	}
	switch sh.LabelStatus {
	case "ready":
		c.bought = true
	case "failed", "needs_review":
		c.refused = sh.LabelStatus
	case "voiding", "voided", "refund_pending":
		c.bought, c.voided = true, true
	}
}

func (c *client) get(addr string) (sh shown, ok bool) {
	status, body, err := c.call(addr, http.MethodGet, "/v1/shipments/"+c.shipment, "")
	if err != nil || status >= 500 {
		return sh, false
	}
	if status != http.StatusOK || json.Unmarshal(body, &sh) != nil {
		c.complaints = append(c.complaints, "a shipment that the client was told of: "+string(body))
		return sh, false
	}
	return sh, true
}

func (c *client) askVoid(addr string) {
	status, body, err := c.call(addr, http.MethodPost, "/v1/shipments/"+c.shipment+"/void", "")
	if err != nil {
		return
	}
	var sh shown
	_ = json.Unmarshal(body, &sh)
	c.voided = slices.Contains([]string{"voided", "refund_pending"}, sh.LabelStatus) || bytes.Contains(body, []byte(`"void_refused"`))
	if !c.voided && status < 500 && status != http.StatusAccepted && status != http.StatusConflict {
		c.complaints = append(c.complaints, "void: "+string(body))
	}
}

func (c *client) call(addr, method, path, body string) (int, []byte, error) {
	req, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.api)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if creates := strings.Count(path, "/") == 2; c.key != "" && creates && method == http.MethodPost && path != "/v1/rates" {
		req.Header.Set("Idempotency-Key", c.key+path)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, err
}
