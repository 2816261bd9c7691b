package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// asked writes a request to the journal and returns it.
func (b *bench) asked(path string, status int, problem string) journal.Request {
	b.Helper()
	t := ship.Tenant{Account: b.owner.ID}
	r := journal.Request{
		ID: ship.RequestIDOf(ship.NewRawID(t.Shard(), time.Now())), Tenant: t, Key: ship.NewKeyID(1, time.Now()), Method: "POST", Route: "/v1/rates", Path: path,
		Status: status, Took: 4 * time.Millisecond, Idempotency: path,
	}
	if problem != "" {
		r.Code, r.Problem = "validation_failed", []byte(problem)
	}
	b.web.Journal.Note(r)
	b.must(b.web.Journal.Flush(b.Context()))
	return r
}

func TestARefusedRequestShowsItsProblemAndWhatToDo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.asked("/v1/good", 200, "")
	bad := b.asked("/v1/rates", 422, `{"title":"Validation failed","detail":"the request has invalid fields","code":"validation_failed","errors":[{"pointer":"/parcel/weight","code":"too_small","detail":"must be more than 0"}]}`)
	list := b.send(member.Developer, b.home+"/requests?status=4xx", nil).Body.String()
	if !strings.Contains(list, string(bad.ID)) || strings.Contains(list, "/v1/good") {
		t.Error("the filter shows the wrong requests")
	}
	page := b.send(member.Developer, b.home+"/requests/"+string(bad.ID), nil)
	for _, want := range []string{"Validation failed", "/parcel/weight", "Must be more than 0", "What to do", "4 ms"} {
		if page.Code != http.StatusOK || !strings.Contains(page.Body.String(), want) {
			t.Errorf("%d, without %q", page.Code, want)
		}
	}
	if w := b.send(member.Developer, b.liveHome+"/requests/"+string(bad.ID), nil); w.Code != http.StatusNotFound {
		t.Errorf("in the other mode: %d", w.Code)
	}
	csv := b.send(member.Developer, b.home+"/requests.csv", nil).Body.String()
	if strings.Count(csv, "\r\n") != 3 || !strings.Contains(csv, string(bad.ID)) {
		t.Errorf("csv: %s", csv)
	}
}

func TestTextOfTheJournalNeverRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", people[0], 1)
	connection := ship.NewConnectionID(sh.Tenant.Shard(), time.Now())
	for _, bad := range vectors {
		quoted := fmt.Sprintf("%q", bad)
		r := b.asked(bad, 422, `{"title":`+quoted+`,"detail":`+quoted+`,"carrierMessage":`+quoted+`,"errors":[{"pointer":`+quoted+`,"detail":`+quoted+`,"suggestion":`+quoted+`}]}`)
		inert(t, bad, b.send(member.Owner, b.home+"/requests/"+string(r.ID), nil).Body.String())
		inert(t, bad, b.send(member.Owner, b.home+"/requests?route="+url.QueryEscape(bad)+"&key="+url.QueryEscape(bad)+"&from="+url.QueryEscape(bad), nil).Body.String())
		b.web.Journal.NoteExchange(sh.Tenant, sh.ID, connection, carrier.Exchange{Operation: carrier.Operation(bad), At: time.Now(), Method: bad, URL: bad, Body: bad, Answered: bad, Error: bad, Header: http.Header{bad: {bad}}, Status: 200})
	}
	b.must(b.web.Journal.Flush(t.Context()))
	inert(t, "list", b.send(member.Owner, b.home+"/requests", nil).Body.String())
	page := b.send(member.Owner, b.home+"/shipments/"+string(sh.ID)+"/exchanges", nil).Body.String()
	if strings.Count(page, "Copy as curl") != len(vectors) {
		t.Errorf("%d exchanges are shown", strings.Count(page, "Copy as curl"))
	}
	inert(t, "exchanges", page)
}
