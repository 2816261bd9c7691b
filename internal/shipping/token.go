package shipping

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// ratePrefix marks a rate's token.
const ratePrefix = "rate_"

// rateClaims is what a rate's token holds. The token is signed, so quoting
// writes nothing.
type rateClaims struct {
	Account  ship.AccountID `json:"a"`
	Livemode bool           `json:"l,omitempty"`
	Rate     ship.Rate      `json:"r"`
	Order    string         `json:"o"`
	Expires  int64          `json:"e"`
}

func (s *Service) rateToken(t ship.Tenant, r ship.Rate, order string, expires time.Time) string {
	return ratePrefix + s.sign("rate", rateClaims{Account: t.Account, Livemode: t.Livemode, Rate: r, Order: order, Expires: expires.Unix()})
}

// rateOf reads a rate's token for the order that it is to buy.
func (s *Service) rateOf(t ship.Tenant, token string, o ship.Order, now time.Time) (ship.Rate, error) {
	var c rateClaims
	body, ok := strings.CutPrefix(token, ratePrefix)
	if !ok || !s.verify("rate", body, &c) || c.Account != t.Account || c.Livemode != t.Livemode {
		return ship.Rate{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/rateId", Code: "invalid", Detail: "must be a rate id that this account got from POST /v1/rates"}})
	}
	if now.Unix() > c.Expires {
		return ship.Rate{}, ship.Coded(ship.Invalid, "rate_expired", "the rate has expired; request new rates")
	}
	if c.Order != orderHash(o) {
		e := ship.Coded(ship.Invalid, "rate_mismatch", "the rate was quoted for another origin, destination, parcel or options; request rates for this shipment")
		e.Fields = []ship.FieldError{{Pointer: "/rateId", Code: "rate_mismatch", Detail: "was quoted for another shipment"}}
		return ship.Rate{}, e
	}
	return c.Rate, nil
}

// QuotedRate is the rate of a token, whatever order it is for and however old
// it is: to show what was chosen, never to buy it.
func (s *Service) QuotedRate(t ship.Tenant, token string) (ship.Rate, bool) {
	var c rateClaims
	body, ok := strings.CutPrefix(token, ratePrefix)
	if !ok || !s.verify("rate", body, &c) || c.Account != t.Account || c.Livemode != t.Livemode {
		return ship.Rate{}, false
	}
	return c.Rate, true
}

// orderHash identifies what a rate was quoted for: origin, destination, parcels
// and options.
//
// Customs is left out on purpose. A checkout quotes before the declaration is
// known, and the rate must still buy the shipment with it. If a carrier charges
// more because of the declaration, the limit on the price applies as to any
// other rate: the label is voided and the answer is price_changed.
func orderHash(o ship.Order) string {
	data, _ := json.Marshal(ship.Order{Origin: o.Origin, Destination: o.Destination, Parcels: o.Parcels, Options: o.Options})
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// linkClaims is what a label link's token holds.
type linkClaims struct {
	Account  ship.AccountID  `json:"a"`
	Livemode bool            `json:"l,omitempty"`
	Shipment ship.ShipmentID `json:"s"`
	Format   label.Format    `json:"f"`
	Expires  int64           `json:"e"`
}

// sign writes claims and their signature. The purpose keeps tokens of one kind
// from passing as another.
func (s *Service) sign(purpose string, claims any) string {
	data, _ := json.Marshal(claims) // strings and numbers always encode
	return base64.RawURLEncoding.EncodeToString(data) + "." + base64.RawURLEncoding.EncodeToString(s.mac(purpose, data))
}

// verify reads what sign wrote.
func (s *Service) verify(purpose, token string, claims any) bool {
	body, signature, ok := strings.Cut(token, ".")
	data, err := base64.RawURLEncoding.DecodeString(body)
	mac, err2 := base64.RawURLEncoding.DecodeString(signature)
	if !ok || err != nil || err2 != nil || !hmac.Equal(mac, s.mac(purpose, data)) {
		return false
	}
	return json.Unmarshal(data, claims) == nil
}

func (s *Service) mac(purpose string, data []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write(data)
	return h.Sum(nil)[:16]
}
