package developers

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
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// A requestQuery is the filter as the address carries it.
type requestQuery struct {
	Class, Key, Route, From, Until, Cursor string
}

func readRequestQuery(v *site.Visit) requestQuery {
	return requestQuery{
		Class:  v.Query("status"),
		Key:    v.Query("key"),
		Route:  v.Query("route"),
		From:   v.Query("from"),
		Until:  v.Query("until"),
		Cursor: v.Query("cursor"),
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

	page.Limit = site.PageSize
	if id, ok := ship.ParseRequestID(q.Cursor); ok {
		page.Before = id.Raw()
	}
	return filter, page
}

var requestClasses = []parts.Choice{{Value: "", Title: "All"}, {Value: "2xx", Title: "Succeeded"}, {Value: "4xx", Title: "Client errors (4xx)"}, {Value: "5xx", Title: "Server errors (5xx)"}}

// requestList is the page of requests.
type requestList struct {
	Filter requestQuery
	List   []journal.Request
	Keys   []parts.Choice
	Routes []parts.Choice
	Next   string
}

// KeyName returns the name that the client gave the key.
func (p requestList) KeyName(id ship.KeyID) string {
	return nameOf(p.Keys, string(id), parts.ShortID(string(id)))
}

func nameOf(list []parts.Choice, value, otherwise string) string {
	if i := slices.IndexFunc(list, func(c parts.Choice) bool { return c.Value == value }); i >= 0 {
		return list[i].Title
	}
	return otherwise
}

// keyChoices lists the keys that requests can be filtered by.
func keyChoices(v *site.Visit) ([]parts.Choice, error) {
	list := []parts.Choice{{Value: "", Title: "All keys"}}
	keys, err := keysOf(v)
	for _, key := range keys {
		list = append(list, parts.Choice{Value: string(key.ID), Title: key.Name})
	}
	return list, err
}

// listRequests handles GET /app/{account}/{mode}/requests.
func (p referencePages) listRequests(v *site.Visit) error {
	view := requestList{Filter: readRequestQuery(v), Routes: p.routeChoices()}
	filter, page := view.Filter.filter()
	list, more, err := v.Journal.List(v.Context(), v.Tenant(), filter, page)
	if err != nil {
		return err
	}
	view.List = list
	if more {
		view.Next = view.Filter.address(v.To("requests"), "cursor", string(list[len(list)-1].ID))
	}

	if view.Keys, err = keyChoices(v); err != nil {
		return err
	}

	frame := v.Frame("Requests", "requests")
	if v.IsPart() {
		return v.Show(http.StatusOK, requestTable(frame, view))
	}
	return v.Show(http.StatusOK, requestsPage(frame, view))
}

// exportRequests handles GET /app/{account}/{mode}/requests.csv: the list as it
// is filtered, up to CSVLimit lines.
func exportRequests(v *site.Visit) error {
	filter, page := readRequestQuery(v).filter()
	page.Limit = 500
	out := v.ExportCSV("requests", "id", "time", "method", "route", "path", "status", "ms", "key", "code", "idempotency key")

	for n := 0; n < site.CSVLimit && out.Err == nil; {
		list, more, err := v.Journal.List(v.Context(), v.Tenant(), filter, page)
		if err != nil {
			return err
		}

		for _, request := range list {
			out.Row(
				string(request.ID),
				parts.MachineTime(request.ID.Raw().Time()),
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

// getRequest handles GET /app/{account}/{mode}/requests/{id}.
func getRequest(v *site.Visit) error {
	id, ok := ship.ParseRequestID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	request, err := v.Journal.Request(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}
	keys, err := keyChoices(v)
	if err != nil {
		return err
	}

	page := requestView{
		Request: request,
		KeyName: nameOf(keys, string(request.Key), parts.ShortID(string(request.Key))),
		Help:    helpFor(request.Code),
	}
	var pretty bytes.Buffer
	if json.Unmarshal(request.Problem, &page.Problem) == nil && json.Indent(&pretty, request.Problem, "", "  ") == nil {
		page.Body = pretty.String()
	}
	return v.Show(http.StatusOK, requestPage(v.Frame("Request", "requests"), page))
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
