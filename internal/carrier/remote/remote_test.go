package remote

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

func whole() Description {
	return Description{
		Protocol:     1,
		Title:        "Pigeon Post",
		Abilities:    []string{"buy", "track", "push"},
		Services:     []Code{{"ground", "Ground"}},
		LabelFormats: []string{"pdf"},
		Statuses:     []StatusMeaning{{Code: "DL", Status: "delivered"}},
	}
}

func TestADescriptionIsChecked(t *testing.T) {
	t.Parallel()
	if err := whole().Check(); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(*Description){
		"protocol must be 1":              func(d *Description) { d.Protocol = 2 },
		"title must have":                 func(d *Description) { d.Title = "" },
		`"fly" is not one of them`:        func(d *Description) { d.Abilities = append(d.Abilities, "fly") },
		`"find_pickups" needs "pickups"`:  func(d *Description) { d.Abilities = append(d.Abilities, "find_pickups") },
		"services: a carrier that sells":  func(d *Description) { d.Services = nil },
		"services: the code":              func(d *Description) { d.Services = append(d.Services, d.Services[0]) },
		"labelFormats: a carrier":         func(d *Description) { d.LabelFormats = nil },
		`labelFormats: "svg"`:             func(d *Description) { d.LabelFormats = []string{"svg"} },
		"fields: \"API KEY\"":             func(d *Description) { d.Fields = []Field{{Name: "API KEY", Title: "Key"}} },
		"statuses: a carrier that tracks": func(d *Description) { d.Statuses = nil },
		"one of the seven statuses":       func(d *Description) { d.Statuses[0].Status = "arrived" },
		"trackingNumbers: \"(\"":          func(d *Description) { d.TrackingNumbers = []string{"("} },
		"quota: calls":                    func(d *Description) { d.Quota = &Quota{Calls: 1} },
		"timeouts: each":                  func(d *Description) { d.Timeouts = &Timeouts{Buy: 1000} },
		"lookup: lagSeconds":              func(d *Description) { d.Lookup = &Lookup{LagSeconds: -1} },
		"manifestScope must be":           func(d *Description) { d.Abilities = append(d.Abilities, "manifests") },
		"documents says which types":      func(d *Description) { d.Abilities = append(d.Abilities, "documents") },
		`the type "poem"`: func(d *Description) {
			d.Abilities = append(d.Abilities, "documents")
			d.Documents = &Documents{Types: []string{"poem"}}
		},
		"addressChecks says where": func(d *Description) { d.AddressChecks = &AddressChecks{Places: true} },
		"addressLimits: charset":   func(d *Description) { d.AddressLimits = &AddressLimits{Charset: "utf-7"} },
		"limits: each has at most": func(d *Description) { d.Limits = []string{"a\x00b"} },
		"returnsBilledOn must be":  func(d *Description) { d.ReturnsBilledOn = "never" },
		`extras: "feathers"`:       func(d *Description) { d.Extras = map[string][]string{"feathers": {"*"}} },
		`extras: "air" of cod`:     func(d *Description) { d.Extras = map[string][]string{"cod": {"ground", "air"}} },
	} {
		described := whole()
		change(&described)
		if err := described.Check(); ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestSignaturesAreOfTheIDTheTimeAndTheBody(t *testing.T) {
	t.Parallel()
	secret, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}

	// The example of Standard Webhooks itself.
	header := http.Header{}
	at := time.Unix(1614265330, 0)
	body := []byte(`{"test": 2432232314}`)
	secret.Sign(header, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, body)
	if got := header.Get(HeaderSignature); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("signed as %s", got)
	}
	if err := secret.Verify(header, at.Add(4*time.Minute), body); err != nil {
		t.Error(err)
	}

	for name, verify := range map[string]func() error{
		"late":         func() error { return secret.Verify(header, at.Add(6*time.Minute), body) },
		"early":        func() error { return secret.Verify(header, at.Add(-6*time.Minute), body) },
		"another body": func() error { return secret.Verify(header, at, append(body, ' ')) },
		"no header":    func() error { return secret.Verify(http.Header{}, at, body) },
		"another id":   func() error { h := header.Clone(); h.Set(HeaderID, "x"); return secret.Verify(h, at, body) },
		"another key":  func() error { return Secret{[]byte("other")}.Verify(header, at, body) },
		"no v1":        func() error { h := header.Clone(); h.Set(HeaderSignature, "v2,abc"); return secret.Verify(h, at, body) },
	} {
		if verify() == nil {
			t.Errorf("%s is believed", name)
		}
	}
}

// mixedUp is a plug-in that answers with another purchase than it was asked for.
type mixedUp struct {
	secret Secret
	format string // of the label
}

// Do is carrier.Doer.
func (p mixedUp) Do(request *http.Request) (*http.Response, error) {
	text := `{"reference":"B","carrierRef":"1","trackingNumber":"1","service":"ground","price":{"amount":"7.90","currency":"USD"},"label":{"format":"` + p.format + `","data":"JVBERi0xLjc="}}`
	header := http.Header{"Content-Type": {"application/json"}}
	p.secret.Sign(header, request.Header.Get(HeaderID), time.Now(), []byte(text))
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: request}, nil
}

func TestASaleOfAnotherReferenceCountsAsLost(t *testing.T) {
	t.Parallel()
	secret, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	opened := openMixedUp(t, mixedUp{secret, "pdf"})

	order := carrier.BuyOrder{Order: ship.Order{Parcels: make([]ship.Parcel, 1)}, Service: "ground", Reference: "A"}
	if _, err := opened.Buy(t.Context(), order); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("bought: %v", err)
	}
	if _, err := opened.Find(t.Context(), order); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("found: %v", err)
	}
	order.Reference = "B"
	if found, err := opened.Find(t.Context(), order); err != nil || found.TrackingNumber != "1" {
		t.Errorf("found %+v: %v", found, err)
	}
}

func openMixedUp(t *testing.T, p mixedUp) *carrier.Carrier {
	t.Helper()
	described := whole()
	described.Abilities = append(described.Abilities, "find")
	opened, err := carrier.Open(Plugin{Name: "pigeon", URL: "http://pigeons.test", Secret: p.secret, Description: described}.Spec(), carrier.Opening{
		BaseURL: "http://pigeons.test", Via: p,
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// TestALabelThatCannotBePrintedIsNotFound: what a purchase does not take, a look-up
// does not take either.
func TestALabelThatCannotBePrintedIsNotFound(t *testing.T) {
	t.Parallel()
	secret, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	opened := openMixedUp(t, mixedUp{secret, "svg"})
	order := carrier.BuyOrder{Order: ship.Order{Parcels: make([]ship.Parcel, 1)}, Service: "ground", Reference: "B"}
	if _, err := opened.Buy(t.Context(), order); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("bought: %v", err)
	}
	if found, err := opened.Find(t.Context(), order); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("found %+v: %v", found, err)
	}
}

func TestAPushIsBelievedIfItIsSigned(t *testing.T) {
	t.Parallel()
	const pushed = "0123456789abcdef0123456789abcdef"
	opened, err := carrier.Open(Plugin{Name: "pigeon", Description: whole()}.Spec(), carrier.Opening{
		PushSecret: "fedcba9876543210fedcba9876543210", OldPushSecrets: []string{pushed},
	})
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"updates":[
		{"trackingNumber":"1","code":"DL","at":"2026-01-02T03:04:05Z","location":"Albany"},
		{"trackingNumber":"1","code":".created","at":"2026-01-02T03:04:05Z"},
		{"trackingNumber":"1","code":"??","at":"2026-01-02T03:04:05Z"}]}`)
	header := http.Header{}
	pushSecret(pushed).Sign(header, "msg_1", time.Now(), body)
	push, err := opened.DecodePush(header, body)
	if err != nil || !push.Verified || len(push.Updates) != 2 {
		t.Fatalf("%+v, %v", push, err)
	}
	if got := fmt.Sprintf("%s %s", push.Updates[0].Scan.Status, push.Updates[1].Scan.Reason); got != "delivered unmapped" {
		t.Errorf("they mean %s", got)
	}
	header.Set(HeaderTimestamp, "1")
	if _, err := opened.DecodePush(header, body); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("with a wrong signature: %v", err)
	}
}
