package mcp

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/waybillhq/waybill/client"
)

// A pass is what a token holds: one purchase, one return or one void that was
// prepared and not done yet. Nothing is stored. The token is sealed, because it holds
// an address, and bound to the account, the mode and the key that prepared it.
//
// Its id is the idempotency key of what it does, and its price the most that may be
// paid: however often a token is used, by whom and at the same time, the API does it
// at most once.
type pass struct {
	ID      string                  `json:"i"`
	Ends    int64                   `json:"e"`           // Unix time
	Buy     *client.ShipmentRequest `json:"b,omitempty"` // a purchase, or
	Return  *client.ReturnRequest   `json:"r,omitempty"` // the return of Target, or
	Target  string                  `json:"t,omitempty"` // the shipment to return or to void
	OrderID string                  `json:"o,omitempty"` // for messages
}

// Kinds of tokens; each begins with its own.
const (
	purchaseToken = "pt_"
	voidToken     = "vt_"
)

const (
	// tokenLife is how long a token can be used: long enough to ask a person.
	tokenLife = 15 * time.Minute

	// maxToken bounds a token, in characters. A model repeats it, so it must be
	// short. A purchase has 250 to 500; only long customs declarations have more.
	maxToken = 3000

	maxPass = 64 << 10 // bytes of what a token holds
)

// dictionary is text that most passes contain; it makes tokens shorter. Tokens that
// are in use when it changes stop to work.
const dictionary = `{"i":"","e":17,"o":"","t":"shp_","r":{"maxAmount":{"amount":"","currency":"EUR"}},"b":{"orderId":"","destination":{"name":"","company":"","address1":"","address2":"","city":"New York","state":"NY","zip":"","country":"US","phone":"","email":"@gmail.com","residential":true},"parcels":[{"weight":2,"weightUnit":"lb","dimensions":{"length":10,"width":8,"height":4,"unit":"in"}}],"origin":{"locationId":"loc_"},"carrier":"dhl_express","carrier":"fedex","carrier":"usps","carrier":"ups","service":"priority","service":"ground","connectionId":"con_","maxAmount":{"amount":"","currency":"USD"},"shipDate":"2026-","labelFormat":"pdf","customs":{"contentsType":"merchandise","items":[{"description":"","quantity":1,"value":{"amount":".00","currency":"USD"},"weight":0.5,"hsCode":"","originCountry":"US"}]},"onDuplicateOrder":"reject","metadata":{"mcpClient":"","via":"mcp"}}`

// newPassID returns an id that no other pass has.
func newPassID() string { return rand.Text()[:20] } // 100 bits

// seal returns the token of a pass.
func (c *call) seal(kind string, p pass) (string, error) {
	p.ID = newPassID()
	p.Ends = c.now().Add(tokenLife).Unix()

	data, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	writer, err := flate.NewWriterDict(&packed, flate.BestCompression, []byte(dictionary))
	if err != nil {
		return "", err
	}
	if _, err := writer.Write(data); err != nil {
		return "", err
	}
	if err := writer.Close(); err != nil {
		return "", err
	}

	token := kind + base64.RawURLEncoding.EncodeToString(c.Box.Seal(packed.Bytes(), c.binding(kind)...))
	if len(token) > maxToken {
		return "", refused("order_too_long", "Use the API or a batch for this order.", "the order is too long for a token")
	}
	return token, nil
}

// open reads a token of the caller's own key.
func (c *call) open(kind, token string) (p pass, err error) {
	again := "Prepare it again, and use the new token exactly as it is."
	invalid := refused("invalid_token", again, "this is not a token that this key was given by a prepare tool, or it was changed")

	body, ok := strings.CutPrefix(strings.TrimSpace(token), kind)
	sealed, err := base64.RawURLEncoding.DecodeString(body)
	if !ok || err != nil {
		return p, invalid
	}
	packed, err := c.Box.Open(sealed, c.binding(kind)...)
	if err != nil {
		return p, invalid
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReaderDict(bytes.NewReader(packed), []byte(dictionary)), maxPass))
	if err != nil {
		return p, invalid
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, invalid
	}

	if c.now().Unix() > p.Ends {
		return p, refused("token_expired", "If it was used before, find_shipments with the order's number shows what was bought. "+again,
			"the token has expired; nothing was done now")
	}
	return p, nil
}

// binding ties a token to the one who prepared it.
func (c *call) binding(kind string) []string {
	tenant := c.caller.Tenant
	return []string{"mcp token", kind, string(tenant.Account), modeOf(tenant), string(c.caller.Key)}
}

// idempotencyKey is the key under which the API does what the pass allows.
func (p pass) idempotencyKey() string { return "mcp-" + p.ID }
