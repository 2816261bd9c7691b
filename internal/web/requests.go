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

// journalRoutes are the log of requests, for developers.
func (s *Web) journalRoutes() []route {
	reference := newReferencePages(s.Config)

	return []route{
		get("/app/{account}/{mode}/requests", member.ViewRequests, reference.listRequests),
		get("/app/{account}/{mode}/requests.csv", member.ViewRequests, s.requestsCSV),
		get("/app/{account}/{mode}/requests/{id}", member.ViewRequests, s.request),
		get("/app/{account}/{mode}/shipments/{id}/exchanges", member.ViewRequests, s.exchanges),
	}
}

// A requestQuery is the filter as the address carries it.
type requestQuery struct {
	Class, Key, Route, From, Until, Cursor string
}

func (v *visit) requestQuery() requestQuery {
	return requestQuery{
		Class:  v.query("status"),
		Key:    v.query("key"),
		Route:  v.query("route"),
		From:   v.query("from"),
		Until:  v.query("until"),
		Cursor: v.query("cursor"),
	}
}

// isEmpty reports whether nothing is filtered.
func (q requestQuery) isEmpty() bool { return q == requestQuery{Cursor: q.Cursor} }

// narrowed reports whether more than the status class is filtered.
func (q requestQuery) narrowed() bool {
	q.Class = ""
	return !q.isEmpty()
}

// address returns the address of a list with the filter; changes are names and
// values that replace those of the filter.
func (q requestQuery) address(path string, changes ...string) string {
	values := url.Values{}
	pairs := append([]string{"status", q.Class, "key", q.Key, "route", q.Route, "from", q.From, "until", q.Until}, changes...)
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

// filter returns the filter and the page to read from the journal. Invalid
// values are ignored: an address that was typed must not end in an error.
func (q requestQuery) filter() (filter journal.RequestFilter, page ship.Page) {
	filter.Route = q.Route
	if key, ok := ship.ParseKeyID(q.Key); ok {
		filter.Key = key
	}
	for _, class := range requestClasses {
		if class.Value == q.Class && q.Class != "" {
			filter.Class = int(q.Class[0] - '0')
		}
	}

	if day, err := time.Parse(time.DateOnly, q.From); err == nil {
		filter.From = day
	}
	if day, err := time.Parse(time.DateOnly, q.Until); err == nil {
		filter.Before = day.AddDate(0, 0, 1) // the last day is included
	}

	page.Limit = pageSize
	if id, ok := ship.ParseRequestID(q.Cursor); ok {
		page.Before = id.Raw()
	}
	return filter, page
}

var requestClasses = []choice{{"", "All"}, {"2xx", "Succeeded"}, {"4xx", "Client errors (4xx)"}, {"5xx", "Server errors (5xx)"}}

// requestList is the page of requests.
type requestList struct {
	Filter requestQuery
	List   []journal.Request
	Keys   []choice
	Routes []choice
	Next   string
}

// KeyName returns the name that the client gave the key.
func (p requestList) KeyName(id ship.KeyID) string {
	return nameOf(p.Keys, string(id), short(string(id)))
}

func nameOf(list []choice, value, otherwise string) string {
	if i := slices.IndexFunc(list, func(c choice) bool { return c.Value == value }); i >= 0 {
		return list[i].Title
	}
	return otherwise
}

// keyChoices lists the keys that requests can be filtered by.
func (v *visit) keyChoices() ([]choice, error) {
	list := []choice{{"", "All keys"}}
	keys, err := v.keysOf()
	for _, key := range keys {
		list = append(list, choice{string(key.ID), key.Name})
	}
	return list, err
}

// listRequests handles GET /app/{account}/{mode}/requests.
func (p referencePages) listRequests(v *visit) error {
	view := requestList{Filter: v.requestQuery(), Routes: p.routeChoices()}
	filter, page := view.Filter.filter()
	list, more, err := v.Journal.List(v.ctx(), v.tenant(), filter, page)
	if err != nil {
		return err
	}
	view.List = list
	if more {
		view.Next = view.Filter.address(v.to("requests"), "cursor", string(list[len(list)-1].ID))
	}

	if view.Keys, err = v.keyChoices(); err != nil {
		return err
	}

	frame := v.frame("Requests", "requests")
	if v.isPart() {
		return v.show(http.StatusOK, requestTable(frame, view))
	}
	return v.show(http.StatusOK, requestsPage(frame, view))
}

// requestsCSV handles GET /app/{account}/{mode}/requests.csv: the list as it is
// filtered, up to csvLimit lines.
func (s *Web) requestsCSV(v *visit) error {
	filter, page := v.requestQuery().filter()
	page.Limit = 500
	out := v.exportCSV("requests", "id", "time", "method", "route", "path", "status", "ms", "key", "code", "idempotency key")

	for n := 0; n < csvLimit && out.err == nil; {
		list, more, err := s.Journal.List(v.ctx(), v.tenant(), filter, page)
		if err != nil {
			return err
		}

		for _, request := range list {
			out.row(
				string(request.ID),
				machineTime(request.ID.Raw().Time()),
				request.Method,
				request.Route,
				request.Path,
				strconv.Itoa(request.Status),
				strconv.FormatFloat(float64(request.Took.Microseconds())/1000, 'f', 1, 64),
				string(request.Key),
				request.Code,
				request.Idempotency,
			)
		}
		n += len(list)
		if !more {
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

// request handles GET /app/{account}/{mode}/requests/{id}.
func (s *Web) request(v *visit) error {
	id, ok := ship.ParseRequestID(v.r.PathValue("id"))
	if !ok {
		return errNoPage
	}
	request, err := s.Journal.Request(v.ctx(), v.tenant(), id)
	if err != nil {
		return err
	}
	keys, err := v.keyChoices()
	if err != nil {
		return err
	}

	page := requestView{
		Request: request,
		KeyName: nameOf(keys, string(request.Key), short(string(request.Key))),
		Help:    helpFor(request.Code),
	}
	var pretty bytes.Buffer
	if json.Unmarshal(request.Problem, &page.Problem) == nil && json.Indent(&pretty, request.Problem, "", "  ") == nil {
		page.Body = pretty.String()
	}
	return v.show(http.StatusOK, requestPage(v.frame("Request", "requests"), page))
}

// helpFor returns what the documentation recommends for an error code.
func helpFor(code string) string {
	for _, known := range httpkit.Codes {
		if known.Name == code {
			return known.Help
		}
	}
	return ""
}

// statusTone returns the class of a response status's badge.
func statusTone(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "badge badge-fail"
	case status >= http.StatusBadRequest:
		return "badge badge-warn"
	}
	return "badge badge-ok"
}

// took returns a request's duration as text, also below a millisecond.
func took(duration time.Duration) string {
	if duration > 0 && duration < time.Millisecond {
		return "< 1 ms"
	}
	return ms(duration)
}
