//go:build chaos

package tracking

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/test/proving"
)

// A telling is a push of some of a parcel's scans. Those of the same version
// are the same byte by byte; those of others tell the same.
type delivery struct {
	parcel  int32
	scans   uint32 // a bit each
	version uint8
}

// pushed is a request as a carrier sends it.
type pushed struct {
	path         string
	proof, value string // the header that proves it
	body         []byte
}

// write makes the carrier's request.
func (w *world) write(m model, t delivery) pushed {
	p := m.parcel(int(t.parcel))
	return w.request(p, t)
}

func (w *world) request(p parcel, t delivery) pushed {
	switch p.carrier() {
	case "usps":
		return p.uspsPush(w.stands[0], t)
	case "ups":
		return p.upsPush(w.stands[1], t)
	}
	return p.fedexPush(w.stands[2], t)
}

func (p parcel) chosen(mask uint32) (list []scan) {
	for i, s := range p.scans {
		if mask>>i&1 == 1 {
			list = append(list, s)
		}
	}
	return list
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// uspsResult is what USPS tells, pushed or asked.
func (p parcel) uspsResult(mask uint32) map[string]any {
	var events []any
	for _, s := range p.chosen(mask) {
		events = append(events, s.usps())
	}
	return map[string]any{"trackingNumber": p.number, "mailClass": "USPS_GROUND_ADVANTAGE", "statusCategory": "In Transit", "trackingEvents": events}
}

func (s scan) usps() map[string]any {
	code, _, _ := strings.Cut(s.code, "/")
	return map[string]any{
		"eventType": s.words, "eventCode": code, "eventCity": "MEMPHIS", "eventState": "TN", "eventZIPCode": "38101", "eventCountry": "",
		"eventTimestamp": s.at.Add(-6*time.Hour).UTC().Format("2006-01-02T15:04:05") + "Z", "GMTTimestamp": s.at.UTC().Format("2006-01-02T15:04:05Z"), "GMTOffset": "-06:00",
	}
}

func (s scan) fedex() map[string]any {
	return map[string]any{
		"date": s.at.UTC().Format("2006-01-02T15:04:05-07:00"), "eventType": s.code, "eventDescription": s.words, "exceptionCode": "", "exceptionDescription": "",
		"scanLocation": map[string]any{"city": "MEMPHIS", "stateOrProvinceCode": "TN", "countryCode": "US"},
	}
}

// raw is what the service keeps of a scan in a push of it alone.
func (s scan) raw(carrier string, body []byte) []byte {
	switch carrier {
	case "usps":
		return marshal(s.usps())
	case "fedex":
		return marshal(s.fedex())
	}
	return body
}

func (p parcel) uspsPush(s *stand, t delivery) pushed {
	payload := string(marshal(p.uspsResult(t.scans)))
	stamp := fmt.Sprintf("2026-01-%02dT00:00:00Z", t.version+1)
	return pushed{s.path, "X-HMAC", signature(s.secret, stamp, []byte(payload)), marshal(map[string]any{
		"subscriptionId": "sub-1", "subscriptionType": "TRACKING", "timestamp": stamp, "payload": payload,
	})}
}

// upsPush is of one scan: UPS tells no more at once.
func (p parcel) upsPush(s *stand, t delivery) pushed {
	one := p.chosen(t.scans)[0]
	code := strings.Split(one.code, "/")
	date, clock := one.at.UTC().Format("20060102"), one.at.UTC().Format("150405")
	return pushed{s.path, "Credential", s.secret, marshal(map[string]any{
		"trackingNumber": p.number, "activityLocation": map[string]string{"city": "LOUISVILLE", "stateProvince": "KY", "country": "US"},
		"activityStatus":    map[string]string{"type": code[0], "code": code[1], "description": one.words, "descriptionCode": code[2]},
		"localActivityDate": date, "localActivityTime": clock, "gmtActivityDate": date, "gmtActivityTime": clock, "gmtOffset": "+00.00",
		"deliveryTimeDescription": fmt.Sprint("version ", t.version),
	})}
}

func (p parcel) fedexPush(s *stand, t delivery) pushed {
	var events []any
	for _, one := range p.chosen(t.scans) {
		events = append(events, one.fedex())
	}
	body := marshal(map[string]any{
		"transactionId":  "t-1",
		"outputMetaData": map[string]any{"attemptNumber": t.version},
		"output": map[string]any{"completeTrackResults": []any{map[string]any{
			"trackingNumber": p.number,
			"trackResults":   []any{map[string]any{"trackingNumberInfo": map[string]any{"trackingNumber": p.number, "carrierCode": "FDXG"}, "scanEvents": events}},
		}}},
	})
	return pushed{s.path, "Fdx-Signature", signature(s.secret, "", body), body}
}

// signature is an HMAC as carriers write it.
func signature(secret, stamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// text is the push as it goes over a connection.
func (p pushed) text() []byte {
	var text bytes.Buffer
	text.Grow(len(p.body) + 512)
	fmt.Fprintf(&text, "POST %s HTTP/1.1\r\nHost: waybill\r\nContent-Type: application/json\r\n%s: %s\r\nContent-Length: %d\r\n\r\n", p.path, p.proof, p.value, len(p.body))
	text.Write(p.body)
	return text.Bytes()
}

func texts(list ...pushed) (all [][]byte) {
	for _, p := range list {
		all = append(all, p.text())
	}
	return all
}

// http makes a request of a push, for those that are not sent by the thousand.
func (p pushed) http(to *proving.Process) *http.Request {
	req, err := http.NewRequest(http.MethodPost, "http://"+to.Addr+p.path, strings.NewReader(string(p.body)))
	if err != nil {
		panic(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if p.proof != "" {
		req.Header.Set(p.proof, p.value)
	}
	return req
}
