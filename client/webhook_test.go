package client

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const testEvent = `{"id":"evt_1","type":"shipment.delivered","timestamp":"2026-03-01T09:30:00Z","livemode":false,"sequence":3,"late":false,` +
	`"data":{"shipment":{"id":"shp_1","status":"delivered"},"event":{"status":"delivered"}, "previousStatus":"in_transit","new":"<é>"}}`

// sender signs as the library of Standard Webhooks does.
type sender struct {
	secret string
	lib    *standardwebhooks.Webhook
}

func newSender(t *testing.T) sender {
	t.Helper()
	key := make([]byte, 24+rand.IntN(41))
	for i := range key {
		key[i] = byte(rand.Uint32())
	}
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	lib, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return sender{secret, lib}
}

func (s sender) header(t *testing.T, at time.Time, body []byte) http.Header {
	t.Helper()
	signature, err := s.lib.Sign("evt_1", at, body)
	if err != nil {
		t.Fatal(err)
	}
	return http.Header{"Webhook-Id": {"evt_1"}, "Webhook-Timestamp": {fmt.Sprint(at.Unix())}, "Webhook-Signature": {signature}}
}

func TestAWebhookOfTheLibraryIsBelieved(t *testing.T) {
	t.Parallel()
	for range 500 {
		s := newSender(t)
		e, err := VerifyWebhook(s.secret, s.header(t, time.Now(), []byte(testEvent)), []byte(testEvent))
		if err != nil || e.ID != "evt_1" || e.Type != "shipment.delivered" || e.Sequence != 3 || e.Data.Shipment.ID != "shp_1" || e.Data.PreviousStatus != "in_transit" || string(e.Body) != testEvent {
			t.Fatalf("%+v, %v", e, err)
		}
	}
}

func TestTheVerifierAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	s, other := newSender(t), newSender(t)
	accepted := 0
	for range 5000 {
		body, at := []byte(testEvent), time.Now().Add(time.Duration(rand.IntN(700)-350)*time.Second)
		h := s.header(t, at, body)
		switch rand.IntN(6) {
		case 0:
			h = other.header(t, at, body)
		case 1:
			h.Set("webhook-signature", "v1,x v2,abc "+other.header(t, at, body).Get("webhook-signature")+" "+h.Get("webhook-signature"))
		case 2:
			names := []string{"webhook-id", "webhook-timestamp", "webhook-signature"}
			value := []byte(h.Get(names[rand.IntN(3)]))
			value[rand.IntN(len(value))] ^= 1
			h.Set(names[rand.IntN(3)], string(value))
		case 3:
			h.Del([]string{"webhook-id", "webhook-timestamp", "webhook-signature"}[rand.IntN(3)])
		case 4:
			body[rand.IntN(len(body))] ^= 1
		}
		now := time.Now()
		_, err := VerifyWebhook(s.secret, h, body)
		if age := now.Sub(at).Abs(); age > 298*time.Second && age < 302*time.Second {
			continue // the second may end between the two
		}
		if want := s.lib.Verify(body, h); (want == nil) != (err == nil) {
			t.Fatalf("%v, the library says %v: %v", err, want, h)
		}
		if err == nil {
			accepted++
		}
	}
	if accepted < 500 || accepted > 4500 {
		t.Errorf("%d of 5000 are accepted", accepted)
	}
}

func TestAPublicKeyVerifiesToo(t *testing.T) {
	t.Parallel()
	public, private, _ := ed25519.GenerateKey(nil)
	now := time.Now()
	h := http.Header{"Webhook-Id": {"evt_1"}, "Webhook-Timestamp": {fmt.Sprint(now.Unix())}}
	signature := ed25519.Sign(private, []byte(fmt.Sprintf("evt_1.%d.%s", now.Unix(), testEvent)))
	h.Set("webhook-signature", "v1,AAAA v1a,"+base64.StdEncoding.EncodeToString(signature))
	key := "whpk_" + base64.StdEncoding.EncodeToString(public)
	if e, err := VerifyWebhook(key, h, []byte(testEvent)); err != nil || e.ID != "evt_1" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := VerifyWebhook(key, h, []byte(testEvent+" ")); !errors.Is(err, ErrWebhookSignature) {
		t.Errorf("another body: %v", err)
	}
	// A shared secret must not pass for a public key, nor the other way round.
	if _, err := VerifyWebhook("whsec_"+strings.TrimPrefix(key, "whpk_"), h, []byte(testEvent)); !errors.Is(err, ErrWebhookSignature) {
		t.Errorf("the public key as a shared secret: %v", err)
	}
}

func TestReasonsNotToBelieve(t *testing.T) {
	t.Parallel()
	s, old := newSender(t), newSender(t)
	body, now := []byte(testEvent), time.Now()
	for _, tc := range []struct {
		name, secret string
		at           time.Time
		body         string
		want         error
	}{
		{"right", s.secret, now, testEvent, nil},
		{"the new one of two", old.secret + "," + s.secret, now, testEvent, nil},
		{"the first of two", s.secret + " " + old.secret, now, testEvent, nil},
		{"4 minutes late", s.secret, now.Add(-4 * time.Minute), testEvent, nil},
		{"6 minutes late", s.secret, now.Add(-6 * time.Minute), testEvent, ErrWebhookTimestamp},
		{"6 minutes early", s.secret, now.Add(6 * time.Minute), testEvent, ErrWebhookTimestamp},
		{"another's", old.secret, now, testEvent, ErrWebhookSignature},
		{"written again", s.secret, now, strings.ReplaceAll(testEvent, ", ", ","), ErrWebhookSignature},
	} {
		if _, err := verifyWebhook(tc.secret, s.header(t, tc.at, body), []byte(tc.body), now); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	for _, secret := range []string{"", " ", "whsec_", "whsec_%%", "whpk_AAAA", "hunter2!"} {
		if _, err := VerifyWebhook(secret, s.header(t, now, body), body); err == nil || secret == "hunter2!" && strings.Contains(err.Error(), secret) {
			t.Errorf("the secret %q: %v", secret, err)
		}
	}
	if _, err := VerifyWebhook(s.secret, s.header(t, now, []byte("[]")), []byte("[]")); err == nil {
		t.Error("a list passes for an event")
	}
}

func TestEventsKeepTheirBytes(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(200, `{"data":[`+testEvent+`, `+testEvent+`],"nextCursor":"c"}`)}}
	p, err := s.client(t, Options{}).EventsPage(t.Context(), EventsRequest{})
	if err != nil || len(p.Data) != 2 || !bytes.Equal(p.Data[0].Body, []byte(testEvent)) || !bytes.Equal(p.Data[1].Body, []byte(testEvent)) || p.Data[1].Cursor != "c" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestWebhookCallsAreWrittenAsTheContractSays(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{says(200, `{"id":"whe_1","secret":"whsec_x","deliveries":2,"outcome":"delivered","data":[{"id":"whe_1"}],"nextCursor":null}`)}}
	c, ctx := s.client(t, Options{}), t.Context()
	since := time.Date(2026, 3, 1, 10, 0, 0, 0, time.FixedZone("", 3600))
	var errs []error
	note := func(ok bool, err error) {
		if !ok {
			err = errors.Join(err, fmt.Errorf("answer %d is wrong", len(errs)))
		}
		errs = append(errs, err)
	}
	w, err := c.CreateWebhook(ctx, WebhookRequest{URL: "https://example.com/", Events: []string{"shipment.delivered"}})
	note(w.Secret == "whsec_x", err)
	list, err := c.Webhooks(ctx)
	note(len(list) == 1, err)
	w, err = c.Webhook(ctx, "whe_1")
	note(w.ID == "whe_1", err)
	_, err = c.UpdateWebhook(ctx, "whe_1", WebhookChange{Enabled: new(false), Headers: &map[string]string{}})
	note(true, err)
	note(true, c.DeleteWebhook(ctx, "whe_1"))
	w, err = c.RotateWebhookSecret(ctx, "whe_1")
	note(w.Secret == "whsec_x", err)
	d, err := c.TestWebhook(ctx, "whe_1", "")
	note(d.Outcome == "delivered", err)
	for range c.Deliveries(ctx, "whe_1") {
		note(true, nil)
	}
	n, err := c.Redeliver(ctx, "evt_1", "whe_1")
	note(n == 2, err)
	_, err = c.Recover(ctx, "whe_1", since)
	note(true, err)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`POST /v1/webhooks {"url":"https://example.com/","events":["shipment.delivered"]}`, "GET /v1/webhooks ", "GET /v1/webhooks/whe_1 ",
		`PATCH /v1/webhooks/whe_1 {"enabled":false,"headers":{}}`, "DELETE /v1/webhooks/whe_1 ", "POST /v1/webhooks/whe_1/rotate-secret ",
		"POST /v1/webhooks/whe_1/test {}", "GET /v1/webhooks/whe_1/deliveries ", `POST /v1/events/evt_1/redeliver {"webhookId":"whe_1"}`,
		`POST /v1/webhooks/whe_1/recover {"since":"2026-03-01T09:00:00Z"}`,
	}
	var got []string
	for _, r := range s.requests() {
		got = append(got, r.method+" "+r.path+" "+r.body)
		if (r.key != "") != (r.method == http.MethodPost) {
			t.Errorf("%s %s has the key %q", r.method, r.path, r.key)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
