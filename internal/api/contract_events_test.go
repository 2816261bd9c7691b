package api

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// rawLog reads the bodies of a page of the log as they were sent.
func (b *bench) rawLog() []string {
	b.Helper()
	_, w := b.do(http.StatusOK, "GET", "/v1/events?limit=100", "")
	var page struct{ Data []json.RawMessage }
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		b.Fatal(err)
	}
	var bodies []string
	for _, body := range page.Data {
		bodies = append(bodies, string(body))
	}
	return bodies
}

func TestContractAnEventTellsWhatChanged(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, number := c.ups()
	steps := []struct {
		scan         ship.Scan
		kind, status string
	}{
		{ship.Scan{Code: "OR", Status: ship.PickedUp}, "shipment.picked_up", "picked_up"},
		{ship.Scan{Code: "DP", Status: ship.InTransit}, "shipment.in_transit", "in_transit"},
		{ship.Scan{Code: "W1", Status: ship.Exception, Reason: "weather_delay"}, "shipment.exception", "exception"},
		{ship.Scan{Code: "OT", Status: ship.OutForDelivery, Location: "Austin, TX, US"}, "shipment.in_transit", "out_for_delivery"},
		{ship.Scan{Code: "D", Status: ship.Delivered}, "shipment.delivered", "delivered"},
	}
	for _, step := range steps {
		c.hear(id, step.scan)
	}
	log := c.log(7)
	kinds, before := []string{"shipment.created", "label.generated"}, []any{nil, "created", "label_generated"}
	statuses := []string{"created", "label_generated"}
	for _, step := range steps {
		kinds, statuses, before = append(kinds, step.kind), append(statuses, step.status), append(before, step.status)
	}
	for i, e := range log {
		if e["type"] != kinds[i] || e["sequence"] != float64(i+1) || e["late"] != false || e["livemode"] != false || !strings.HasPrefix(e["id"].(string), "evt_") {
			t.Errorf("event %d: %v", i+1, e)
		}
		if at(e, "data", "shipment", "id") != id || at(e, "data", "shipment", "status") != statuses[i] || at(e, "data", "event", "status") != statuses[i] || at(e, "data", "previousStatus") != before[i] {
			t.Errorf("event %d: %v", i+1, e["data"])
		}
		if at(e, "data", "shipment", "trackingNumber") != number || at(e, "data", "shipment", "labelUrl") == nil || at(e, "data", "event", "description") == "" {
			t.Errorf("event %d: %v", i+1, e["data"])
		}
		if _, err := time.Parse(time.RFC3339, e["timestamp"].(string)); err != nil {
			t.Error(err)
		}
	}
	if at(log[4], "data", "event", "reason") != "weather_delay" || at(log[5], "data", "event", "location") != "Austin, TX, US" {
		t.Errorf("events %v, %v", log[4], log[5])
	}
	head := []string{"id", "type", "timestamp", "livemode", "sequence", "late", "data"}
	var names []string
	dec := json.NewDecoder(strings.NewReader(c.rawLog()[0]))
	if _, err := dec.Token(); err != nil {
		t.Fatal(err)
	}
	for dec.More() {
		name, _ := dec.Token()
		names = append(names, name.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(names, head) {
		t.Errorf("members %v, want %v", names, head)
	}
}

func TestContractEachTrackingEventIsToldOnceAndALateOneSaysSo(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, _ := c.ups()
	noon := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	out := ship.Scan{Code: "OT", At: noon, Status: ship.OutForDelivery}
	early := ship.Scan{Code: "OR", At: noon.Add(-30 * time.Minute), Status: ship.PickedUp}
	unknown := ship.Scan{Code: "ZX", At: noon.Add(time.Minute), Reason: ship.ReasonUnmapped}
	c.hear(id, out, out)
	c.hear(id, early, out)
	c.hear(id, unknown, unknown)
	mapped := unknown
	mapped.Status, mapped.Reason = ship.InTransit, ""
	c.hear(id, mapped)
	corrected := mapped
	corrected.Status = ship.Exception
	c.hear(id, corrected, early)
	log := c.log(5)
	var got []string
	for _, e := range log {
		word := e["type"].(string)
		if e["late"] == true {
			word += " late"
		}
		got = append(got, word)
	}
	want := []string{"shipment.created", "label.generated", "shipment.in_transit", "shipment.picked_up late", "shipment.in_transit"}
	if !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
	if at(log[3], "data", "shipment", "status") != "out_for_delivery" || at(log[3], "data", "event", "status") != "picked_up" {
		t.Errorf("the late event %v", log[3]["data"])
	}
}

func TestContractAnEventsBodyNeverChanges(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	id, _ := c.ups()
	c.log(2)
	first := c.rawLog()
	c.hear(id, ship.Scan{Code: "I", Status: ship.InTransit})
	c.do(http.StatusOK, "POST", "/v1/shipments/"+id+"/void", "")
	c.log(3)
	if again := c.rawLog(); !slices.Equal(again[:2], first) {
		t.Errorf("the bodies were\n%v\nand are\n%v", first, again[:2])
	}
}

func TestContractTheCursorOfTheLog(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	empty, _ := c.do(http.StatusOK, "GET", "/v1/events", "")
	if cursor, ok := empty["nextCursor"].(string); !ok || cursor == "" || len(empty["data"].([]any)) != 0 {
		t.Fatalf("an empty log: %v", empty)
	}
	start := "/v1/events?limit=1&after=" + empty["nextCursor"].(string)
	id := c.ship()
	c.log(2)
	var got []string
	path := start
	for len(got) < 2 {
		page, _ := c.do(http.StatusOK, "GET", path, "")
		for _, e := range page["data"].([]any) {
			got = append(got, at(e, "type").(string))
		}
		path = "/v1/events?limit=1&after=" + page["nextCursor"].(string)
	}
	if !slices.Equal(got, []string{"shipment.created", "label.generated"}) {
		t.Errorf("followed %v", got)
	}
	end, _ := c.do(http.StatusOK, "GET", path, "")
	if len(end["data"].([]any)) != 0 || end["nextCursor"] == nil {
		t.Errorf("the end: %v", end)
	}
	only, _ := c.do(http.StatusOK, "GET", "/v1/events?types=label.generated,shipment.delivered", "")
	if data := only["data"].([]any); len(data) != 1 || at(data[0], "data", "shipment", "id") != id {
		t.Errorf("one kind: %v", only)
	}
	old := binary.BigEndian.AppendUint64(nil, 3)
	old = append(old, make([]byte, 16)...)
	old = binary.BigEndian.AppendUint64(old, uint64(time.Now().AddDate(0, 0, -31).UnixMilli()))
	if p, _ := c.do(http.StatusGone, "GET", "/v1/events?after="+base64.RawURLEncoding.EncodeToString(old), ""); p["code"] != "cursor_expired" {
		t.Errorf("31 days old: %v", p)
	}
	if p, _ := c.do(http.StatusUnprocessableEntity, "GET", "/v1/events?after=x", ""); p["code"] != "invalid_cursor" {
		t.Errorf("no cursor: %v", p)
	}
}
