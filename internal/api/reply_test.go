package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/wire"
)

func TestCreationAnswersSayCreatedWhateverHappenedSince(t *testing.T) {
	s := &server{Config: Config{BaseURL: testBase}}
	moved := shipmentExample(ship.InTransit, ship.StatePurchased)
	for _, tc := range []struct {
		name     string
		bought   shipping.Bought
		status   int
		after    string
		replayed string
	}{
		{"bought", shipping.Bought{Shipment: moved}, http.StatusCreated, "", ""},
		{"repeated", shipping.Bought{Shipment: moved, Replayed: true}, http.StatusCreated, "", "true"},
		{"pending", shipping.Bought{Shipment: moved, Pending: true}, http.StatusAccepted, "5", ""},
		{"existing", shipping.Bought{Shipment: moved, Existing: true}, http.StatusOK, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, err := s.purchaseReply(tc.bought)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			out.write(w)
			var sh wire.Shipment
			if err := json.Unmarshal(w.Body.Bytes(), &sh); err != nil {
				t.Fatal(err)
			}
			if sh.Status != "created" || sh.Pieces[0].Status != "created" {
				t.Errorf("status %s, piece %s; want created", sh.Status, sh.Pieces[0].Status)
			}
			if w.Code != tc.status || w.Header().Get("Retry-After") != tc.after || w.Header().Get("Idempotent-Replayed") != tc.replayed ||
				w.Header().Get("Location") != "/v1/shipments/"+sh.ID {
				t.Errorf("%d %v", w.Code, w.Header())
			}
		})
	}
}

func TestKeptAnswersAreRepeatedByteForByte(t *testing.T) {
	kept := &ship.Answer{Status: http.StatusUnprocessableEntity, Body: []byte(`{"code":"carrier_rejected"}`)}
	out, err := (&server{}).purchaseReply(shipping.Bought{Answer: kept, Replayed: true})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	out.write(w)
	if w.Code != kept.Status || w.Body.String() != string(kept.Body) || w.Header().Get("Content-Type") != "application/problem+json" ||
		w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

func TestTimelineTagChangesOnlyWithTheNews(t *testing.T) {
	sh := shipmentExample(ship.LabelGenerated, ship.StatePurchased)
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	parcel := tracking.Tracked{Shipment: sh.ID, Carrier: "ups", Progress: sh.Progress, Scans: sh.OwnScans(), CheckedAt: at}
	render := func(tr tracking.Tracked) (wire.TrackingResult, string) {
		body, tag, err := renderTimeline(tr)
		if err != nil {
			t.Fatal(err)
		}
		var result wire.TrackingResult
		if err := json.Unmarshal(body, &result); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		return result, tag
	}
	result, tag := render(parcel)
	if result.LastCheckedAt != "2026-03-02T00:00:00Z" {
		t.Errorf("lastCheckedAt = %q", result.LastCheckedAt)
	}
	parcel.CheckedAt = at.Add(time.Hour)
	if _, later := render(parcel); later != tag {
		t.Error("the tag changed though nothing else did")
	}
	parcel.CheckedAt = time.Time{}
	if never, _ := render(parcel); never.LastCheckedAt != "" {
		t.Errorf("lastCheckedAt = %q, want none", never.LastCheckedAt)
	}
	parcel.Progress.Status = ship.InTransit
	if _, moved := render(parcel); moved == tag {
		t.Error("the tag did not change with the status")
	}
}

func TestIfNoneMatchReadsLists(t *testing.T) {
	for _, tc := range []struct {
		header, tag string
		want        bool
	}{
		{"", `"a"`, false},
		{`"a"`, `"a"`, true},
		{`W/"a"`, `"a"`, true},
		{`"b", "a"`, `W/"a"`, true},
		{`*`, `"a"`, true},
		{`"ab"`, `"a"`, false},
	} {
		if got := etagMatches(tc.header, tc.tag); got != tc.want {
			t.Errorf("matches(%s, %s) = %v", tc.header, tc.tag, got)
		}
	}
}
