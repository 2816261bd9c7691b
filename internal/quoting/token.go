package quoting

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// ratePrefix marks a rate's token.
const ratePrefix = "rate_"

// A rate's token holds what is needed to buy it, signed, so quoting writes nothing.
// It is short enough for a column of 64 characters: the carrier account and the
// service are hashes that are looked up among those of the account, and the account,
// the mode and the order are only signed.
//
//	version      1 byte
//	expiry       4 bytes, Unix time
//	seller       4 bytes, a hash of carrier and connection
//	service      4 bytes, a hash of its code
//	flags        1 byte
//	currency     2 bytes, five bits a letter
//	price        1 to 10 bytes, usually 2
//	transit days 1 to 10 bytes, usually 1
//	delivery     5 bytes, if a flag says so: Unix time, quarters of an hour from UTC
//	service      text and name, if a flag says so: the carrier's list does not have it
//	selection    text, if a flag says so
//	signatures   4 bytes over all before, the account and the mode; then 12 bytes
//	             over these and the order too
//
// The first signature tells a token that was quoted for another order from one that
// is not valid. It never buys anything.
const (
	compactVersion = 1
	shortMAC       = 4
	longMAC        = 12
	maxCompact     = 255 // characters; what does not fit is written as JSON
	fixedBytes     = 16  // up to the price
)

// The flags of a compact token.
const (
	flagGuaranteed = 1 << iota
	flagDelivery
	flagSheet
	flagCache
	flagSpelled
	flagSelection
)

// compactRate is what a token says of a rate, before the hashes in it are resolved.
type compactRate struct {
	expires int64
	seller  [4]byte
	service [4]byte
	spelled bool      // the rate has the service and its name
	rate    ship.Rate // without what is hashed
}

func hash4(texts ...string) (short [4]byte) {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	copy(short[:], sum[:])
	return short
}

func sellerHash(carrier string, connection ship.ConnectionID) [4]byte {
	return hash4(carrier, string(connection))
}

// encodeRate writes a rate without its signatures. It reports false if the rate has
// what this form cannot hold.
func encodeRate(rate ship.Rate, expires time.Time, spelled bool) ([]byte, bool) {
	currency, ok := packCurrency(rate.Price.Currency)
	if !ok || rate.Price.Minor < 0 || rate.TransitDays < 0 {
		return nil, false
	}

	seller := sellerHash(rate.Carrier, rate.Connection)
	service := hash4(rate.Service)
	flags := byte(0)
	for flag, isSet := range map[byte]bool{
		flagGuaranteed: rate.Guaranteed,
		flagDelivery:   !rate.DeliveryAt.IsZero(),
		flagSheet:      rate.Source == "sheet",
		flagCache:      rate.Source == "cache",
		flagSpelled:    spelled,
		flagSelection:  rate.Selection != "",
	} {
		if isSet {
			flags |= flag
		}
	}

	out := binary.BigEndian.AppendUint32([]byte{compactVersion}, uint32(expires.Unix()))
	out = append(out, seller[:]...)
	out = append(out, service[:]...)
	out = append(out, flags)
	out = binary.BigEndian.AppendUint16(out, currency)
	out = binary.AppendUvarint(out, uint64(rate.Price.Minor))
	out = binary.AppendUvarint(out, uint64(rate.TransitDays))
	if !rate.DeliveryAt.IsZero() {
		_, offset := rate.DeliveryAt.Zone()
		out = binary.BigEndian.AppendUint32(out, uint32(rate.DeliveryAt.Unix()))
		out = append(out, byte(int8(offset/(15*60))))
	}
	if spelled {
		out = appendText(appendText(out, rate.Service), rate.ServiceName)
	}
	if rate.Selection != "" {
		out = appendText(out, rate.Selection)
	}
	return out, true
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// packCurrency packs the three letters of a currency.
func packCurrency(code string) (packed uint16, ok bool) {
	if len(code) != 3 {
		return 0, false
	}
	for _, letter := range []byte(code) {
		if letter < 'A' || letter > 'Z' {
			return 0, false
		}
		packed = packed<<5 | uint16(letter-'A')
	}
	return packed, true
}

func unpackCurrency(packed uint16) string {
	return string([]byte{'A' + byte(packed>>10&31), 'A' + byte(packed>>5&31), 'A' + byte(packed&31)})
}

// decodeRate reads what encodeRate wrote. Its input is signed, so what cannot be read
// is of a version that is not known.
func decodeRate(data []byte) (compactRate, bool) {
	var c compactRate
	if len(data) < fixedBytes || data[0] != compactVersion {
		return c, false
	}

	c.expires = int64(binary.BigEndian.Uint32(data[1:]))
	copy(c.seller[:], data[5:])
	copy(c.service[:], data[9:])
	flags := data[13]
	c.rate.Price.Currency = unpackCurrency(binary.BigEndian.Uint16(data[14:]))
	rest := bytes.NewReader(data[fixedBytes:])
	minor, minorErr := binary.ReadUvarint(rest)
	days, daysErr := binary.ReadUvarint(rest)
	if minorErr != nil || daysErr != nil {
		return c, false
	}
	c.rate.Price.Minor = int64(minor)
	c.rate.TransitDays = int(days)

	c.rate.Guaranteed = flags&flagGuaranteed != 0
	switch {
	case flags&flagSheet != 0:
		c.rate.Source = "sheet"
	case flags&flagCache != 0:
		c.rate.Source = "cache"
	}

	ok := true
	if flags&flagDelivery != 0 {
		var at [5]byte
		n, _ := rest.Read(at[:])
		ok = n == len(at)
		zone := time.FixedZone("", int(int8(at[4]))*15*60)
		c.rate.DeliveryAt = time.Unix(int64(binary.BigEndian.Uint32(at[:])), 0).In(zone)
	}
	if c.spelled = flags&flagSpelled != 0; c.spelled {
		ok = readText(rest, &c.rate.Service) && readText(rest, &c.rate.ServiceName) && ok
	}
	if flags&flagSelection != 0 {
		ok = readText(rest, &c.rate.Selection) && ok
	}
	return c, ok && rest.Len() == 0
}

func readText(from *bytes.Reader, text *string) bool {
	length, err := binary.ReadUvarint(from)
	if err != nil || length > uint64(from.Len()) {
		return false
	}
	data := make([]byte, length)
	_, _ = from.Read(data) // it has as many
	*text = string(data)
	return true
}

// resolve finds whose rate it is among the carriers of an account.
func (c compactRate) resolve(carriers []*carrier.Carrier) (ship.Rate, bool) {
	rate := c.rate
	for _, seller := range carriers {
		spec := seller.Spec()
		if sellerHash(spec.Name, seller.Connection) != c.seller {
			continue
		}
		rate.Carrier = spec.Name
		rate.Connection = seller.Connection
		if c.spelled {
			return rate, hash4(rate.Service) == c.service
		}

		at := slices.IndexFunc(spec.Services, func(service carrier.Service) bool { return hash4(service.Code) == c.service })
		if at < 0 {
			return rate, false
		}
		rate.Service = spec.Services[at].Code
		rate.ServiceName = spec.Services[at].Name
		return rate, true
	}
	return rate, false
}

// rateClaims is what a token says in the form of JSON, which is written for a rate
// that the compact form cannot hold. All tokens had it once.
type rateClaims struct {
	Account  ship.AccountID `json:"a"`
	Livemode bool           `json:"l,omitempty"`
	Rate     ship.Rate      `json:"r"`
	Order    string         `json:"o"`
	Expires  int64          `json:"e"`
}

// rateToken writes a rate of one of the carriers.
func (s *Service) rateToken(t ship.Tenant, carriers []*carrier.Carrier, rate ship.Rate, order string, expires time.Time) string {
	for _, spelled := range []bool{false, true} {
		body, ok := encodeRate(rate, expires, spelled)
		if !ok {
			break
		}

		// What is read from the token must be the same rate.
		decoded, ok := decodeRate(body)
		if !ok {
			break
		}
		resolved, ok := decoded.resolve(carriers)
		if !ok || !isSameRate(resolved, rate) {
			continue
		}
		body = append(body, s.signer.MAC("rate-account", signedBy(t, body, ""))[:shortMAC]...)
		body = append(body, s.signer.MAC("rate-order", signedBy(t, body, order))[:longMAC]...)
		if token := ratePrefix + compactEncoding.EncodeToString(body); len(token) <= maxCompact {
			return token
		}
	}
	return ratePrefix + s.signer.Sign("rate", rateClaims{Account: t.Account, Livemode: t.Livemode, Rate: rate, Order: order, Expires: expires.Unix()})
}

// compactEncoding has one text for each token.
var compactEncoding = base64.RawURLEncoding.Strict()

// isSameRate compares what a token holds of two rates.
func isSameRate(a, b ship.Rate) bool {
	return a.Carrier == b.Carrier && a.Connection == b.Connection && a.Service == b.Service && a.ServiceName == b.ServiceName &&
		a.Price == b.Price && a.TransitDays == b.TransitDays && a.Guaranteed == b.Guaranteed && a.Source == b.Source && a.Selection == b.Selection &&
		a.DeliveryAt.Unix() == b.DeliveryAt.Unix()
}

// signedBy is what a signature covers.
func signedBy(t ship.Tenant, body []byte, order string) []byte {
	mode := byte(0)
	if t.Livemode {
		mode = 1
	}
	out := append([]byte{mode}, t.Account...)
	out = append(out, 0)
	out = append(out, order...)
	out = append(out, 0)
	return append(out, body...)
}

// A readToken is what a token of the account says.
type readToken struct {
	expires    int64
	rate       ship.Rate
	isResolved bool              // the account still has who sells it
	isFor      func(string) bool // reports whether it was quoted for an order
}

// readRate reads a token; false if it is none of the account in this mode.
func (s *Service) readRate(ctx context.Context, t ship.Tenant, token string) (read readToken, ok bool, err error) {
	text, ok := strings.CutPrefix(token, ratePrefix)
	if !ok {
		return read, false, nil
	}
	if strings.Contains(text, ".") {
		read, ok = s.readClaims(t, text)
		return read, ok, nil
	}

	// The decoder skips line breaks, and a token has one text.
	data, err := compactEncoding.DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") || len(data) < fixedBytes+shortMAC+longMAC {
		return read, false, nil
	}
	signed := data[:len(data)-longMAC]
	body := signed[:len(signed)-shortMAC]
	if !s.signer.VerifyMAC("rate-account", signedBy(t, body, ""), signed[len(body):]) {
		return read, false, nil
	}
	decoded, ok := decodeRate(body)
	if !ok {
		return read, false, nil
	}

	carriers, err := s.accounts.List(ctx, t)
	if err != nil {
		return read, false, err
	}
	read.expires = decoded.expires
	read.rate, read.isResolved = decoded.resolve(carriers)
	read.isFor = func(order string) bool {
		return s.signer.VerifyMAC("rate-order", signedBy(t, signed, order), data[len(signed):])
	}
	return read, true, nil
}

// readClaims reads a token in the form of JSON.
func (s *Service) readClaims(t ship.Tenant, text string) (readToken, bool) {
	var claims rateClaims
	if !s.signer.Verify("rate", text, &claims) || claims.Account != t.Account || claims.Livemode != t.Livemode {
		return readToken{}, false
	}
	return readToken{
		expires:    claims.Expires,
		rate:       claims.Rate,
		isResolved: true,
		isFor:      func(order string) bool { return claims.Order == order },
	}, true
}

// rateOf reads a rate's token for the order that it is to buy.
func (s *Service) rateOf(ctx context.Context, t ship.Tenant, token string, o ship.Order, now time.Time) (ship.Rate, error) {
	read, ok, err := s.readRate(ctx, t, token)
	switch {
	case err != nil:
		return ship.Rate{}, err
	case !ok:
		return ship.Rate{}, ship.InvalidFields([]ship.FieldError{{Pointer: "/rateId", Code: "invalid", Detail: "must be a rate id that this account got from POST /v1/rates"}})
	case now.Unix() > read.expires:
		return ship.Rate{}, ship.Coded(ship.Invalid, "rate_expired", "the rate has expired; request new rates")
	case !read.isFor(orderHash(o)):
		e := ship.Coded(ship.Invalid, "rate_mismatch", "the rate was quoted for another origin, destination, parcel or options; request rates for this shipment")
		e.Fields = []ship.FieldError{{Pointer: "/rateId", Code: "rate_mismatch", Detail: "was quoted for another shipment"}}
		return ship.Rate{}, e
	case !read.isResolved:
		return ship.Rate{}, ship.Coded(ship.Invalid, "rate_expired", "the carrier account of the rate is no longer connected, or no longer has the service; request new rates")
	}
	return read.rate, nil
}

// QuotedRate is the rate of a token, whatever order it is for and however old
// it is: to show what was chosen, never to buy it.
func (s *Service) QuotedRate(ctx context.Context, t ship.Tenant, token string) (ship.Rate, bool) {
	read, ok, err := s.readRate(ctx, t, token)
	return read.rate, err == nil && ok && read.isResolved
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
