package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// journalRoutes are what happened, for developers.
func (s *Web) journalRoutes() []route {
	return []route{
		get("/app/{mode}/requests", member.ViewRequests, s.requests),
		get("/app/{mode}/requests.csv", member.ViewRequests, s.requestsCSV),
		get("/app/{mode}/requests/{id}", member.ViewRequests, s.request),
		get("/app/{mode}/shipments/{id}/exchanges", member.ViewRequests, s.exchanges),
	}
}

// requestQuery is the filter as the address carries it.
type requestQuery struct {
	Class, Key, Route, From, Until, Cursor string
}

func (v *visit) requestQuery() requestQuery {
	return requestQuery{
		Class: v.query("status"), Key: v.query("key"), Route: v.query("route"), From: v.query("from"), Until: v.query("until"), Cursor: v.query("cursor"),
	}
}

// isEmpty reports whether nothing is filtered.
func (q requestQuery) isEmpty() bool { return q == requestQuery{Cursor: q.Cursor} }

// narrowed reports whether more than the kind of answer is filtered.
func (q requestQuery) narrowed() bool {
	q.Class = ""
	return !q.isEmpty()
}

// address is a list with the filter, changed as with says.
func (q requestQuery) address(path string, with ...string) string {
	values := url.Values{}
	pairs := append([]string{"status", q.Class, "key", q.Key, "route", q.Route, "from", q.From, "until", q.Until}, with...)
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Del(pairs[i])
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// filter is what the journal is asked for. What makes no sense does not
// narrow: an address that was typed must not end in an error.
func (q requestQuery) filter() (f journal.RequestFilter, p ship.Page) {
	p.Limit = pageSize
	f.Route = q.Route
	if key, ok := ship.ParseKeyID(q.Key); ok {
		f.Key = key
	}
	for _, c := range requestClasses {
		if c.Value == q.Class && q.Class != "" {
			f.Class = int(q.Class[0] - '0')
		}
	}
	if t, err := time.Parse(time.DateOnly, q.From); err == nil {
		f.From = t
	}
	if t, err := time.Parse(time.DateOnly, q.Until); err == nil {
		f.Before = t.AddDate(0, 0, 1)
	}
	if id, ok := ship.ParseRequestID(q.Cursor); ok {
		p.Before = id.Raw()
	}
	return f, p
}

var requestClasses = []choice{{"", "All"}, {"2xx", "Answered"}, {"4xx", "Refused (4xx)"}, {"5xx", "Failed (5xx)"}}

// requestList is the page of requests.
type requestList struct {
	Filter requestQuery
	List   []journal.Request
	Keys   []choice
	Routes []choice
	Next   string
}

// KeyName is what the person calls the key.
func (p requestList) KeyName(id ship.KeyID) string {
	return nameOf(p.Keys, string(id), short(string(id)))
}

func nameOf(list []choice, value, otherwise string) string {
	if i := slices.IndexFunc(list, func(c choice) bool { return c.Value == value }); i >= 0 {
		return list[i].Title
	}
	return otherwise
}

// keyChoices are the keys to filter by.
func (v *visit) keyChoices() ([]choice, error) {
	list := []choice{{"", "All keys"}}
	keys, err := v.keysOf()
	for _, k := range keys {
		list = append(list, choice{string(k.ID), k.Name})
	}
	return list, err
}

// requests handles GET /app/{mode}/requests.
func (s *Web) requests(v *visit) error {
	p := requestList{Filter: v.requestQuery(), Routes: s.routeChoices()}
	filter, page := p.Filter.filter()
	var more bool
	var err error
	if p.List, more, err = s.Journal.List(v.ctx(), v.tenant(), filter, page); err != nil {
		return err
	}
	if p.Keys, err = v.keyChoices(); err != nil {
		return err
	}
	if more {
		p.Next = p.Filter.address(v.to("requests"), "cursor", string(p.List[len(p.List)-1].ID))
	}
	f := v.frame("Requests", "requests")
	if v.isPart() {
		return v.show(http.StatusOK, requestTable(f, p))
	}
	return v.show(http.StatusOK, requestsPage(f, p))
}

// requestsCSV handles GET /app/{mode}/requests.csv: the list as it is
// filtered, up to a bound.
func (s *Web) requestsCSV(v *visit) error {
	filter, page := v.requestQuery().filter()
	page.Limit = 500
	out := v.exportCSV("requests", "id", "time", "method", "route", "path", "status", "ms", "key", "code", "idempotency key")
	for n := 0; n < csvLimit && out.err == nil; {
		list, more, err := s.Journal.List(v.ctx(), v.tenant(), filter, page)
		if err != nil {
			return err
		}
		for _, r := range list {
			out.row(string(r.ID), machineTime(r.ID.Raw().Time()), r.Method, r.Route, r.Path, strconv.Itoa(r.Status),
				strconv.FormatFloat(float64(r.Took.Microseconds())/1000, 'f', 1, 64), string(r.Key), r.Code, r.Idempotency)
		}
		if n += len(list); !more {
			return nil
		}
		page.Before = list[len(list)-1].ID.Raw()
	}
	return nil
}

// requestView is the page of one request.
type requestView struct {
	journal.Request
	KeyName string
	Problem httpkit.Problem // empty for none
	Body    string          // the problem as it was answered
	Help    string          // what to do
}

// request handles GET /app/{mode}/requests/{id}.
func (s *Web) request(v *visit) error {
	id, ok := ship.ParseRequestID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	r, err := s.Journal.Request(v.ctx(), v.tenant(), id)
	if err != nil {
		return err
	}
	keys, err := v.keyChoices()
	if err != nil {
		return err
	}
	p := requestView{Request: r, KeyName: nameOf(keys, string(r.Key), short(string(r.Key))), Help: helpFor(r.Code)}
	var pretty bytes.Buffer
	if json.Unmarshal(r.Problem, &p.Problem) == nil && json.Indent(&pretty, r.Problem, "", "  ") == nil {
		p.Body = pretty.String()
	}
	return v.show(http.StatusOK, requestPage(v.frame("Request", "requests"), p))
}

// helpFor is what the documentation says to do about a code.
func helpFor(code string) string {
	for _, c := range httpkit.Codes {
		if c.Name == code {
			return c.Help
		}
	}
	return ""
}

// statusTone is the class of an answer's badge.
func statusTone(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "badge badge-fail"
	case status >= http.StatusBadRequest:
		return "badge badge-warn"
	}
	return "badge badge-ok"
}

// took is how long a request took, also one that took less than can be told.
func took(d time.Duration) string {
	if d > 0 && d < time.Millisecond {
		return "< 1 ms"
	}
	return ms(d)
}
