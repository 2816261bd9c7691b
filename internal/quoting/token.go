package quoting

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

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
	return ratePrefix + s.signer.Sign("rate", rateClaims{Account: t.Account, Livemode: t.Livemode, Rate: r, Order: order, Expires: expires.Unix()})
}

// rateOf reads a rate's token for the order that it is to buy.
func (s *Service) rateOf(t ship.Tenant, token string, o ship.Order, now time.Time) (ship.Rate, error) {
	var c rateClaims
	body, ok := strings.CutPrefix(token, ratePrefix)
	if !ok || !s.signer.Verify("rate", body, &c) || c.Account != t.Account || c.Livemode != t.Livemode {
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
	if !ok || !s.signer.Verify("rate", body, &c) || c.Account != t.Account || c.Livemode != t.Livemode {
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
