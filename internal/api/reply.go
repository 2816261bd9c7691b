package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// A reply is an answer that is ready to be written.
type reply struct {
	status int
	kind   string // media type; empty means JSON
	header [][2]string
	body   []byte
	after  func() // runs when the answer is written
}

// with adds a header.
func (o reply) with(name, value string) reply {
	o.header = append(o.header, [2]string{name, value})
	return o
}

// jsonReply returns an answer with v as its JSON body.
func jsonReply(status int, v any) (reply, error) {
	body, err := wire.Marshal(v)
	return reply{status: status, body: body}, err
}

func (o reply) write(w http.ResponseWriter) {
	header := w.Header()
	if o.status != http.StatusNoContent && o.status != http.StatusNotModified {
		if o.kind == "" {
			o.kind = "application/json"
		}
		// Both names are in canonical form, so the map can be set directly.
		header["Content-Type"] = []string{o.kind}
		header["Content-Length"] = []string{strconv.Itoa(len(o.body))}
	}
	for _, pair := range o.header {
		header.Set(pair[0], pair[1])
	}

	w.WriteHeader(o.status)
	w.Write(o.body) // the client may have left; Exchange.Delivered knows
	if o.after != nil {
		o.after()
	}
}

// output is what huma is given to write. The reply writes itself.
type output struct {
	Body func(huma.Context)
}

// handle makes a route's handler of a function that translates. The function
// returns its reply or an error; both are written here, so all routes fail in
// the same way.
func handle[In any](fn func(context.Context, *In) (reply, error)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *In) (*output, error) {
			answer, err := fn(ctx, in)

			// The error is not returned to huma, which would write its own form
			// of it.
			return &output{Body: func(humaContext huma.Context) {
				r, w := humago.Unwrap(humaContext)
				if err != nil {
					httpkit.Fail(w, r, err)
					return
				}
				answer.write(w)
			}}, nil
		})
	}
}

// etagMatches reports whether an If-None-Match header lists the tag. Weak tags
// compare equal to strong ones.
func etagMatches(header, tag string) bool {
	if header == "" {
		return false
	}

	tag = strings.TrimPrefix(tag, "W/")
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}

// page is a part of a list.
type page[T any] struct {
	Data       []T     `json:"data" doc:"Items of the page, newest first."`
	NextCursor *string `json:"nextCursor" doc:"Send it as cursor to get the next page; null on the last page."`
}

// A newestFirst lists things whose ids are their cursors, newest first.
type newestFirst[T, Shown any] struct {
	parse func(cursor string) (ship.RawID, bool)
	list  func(context.Context, ship.Tenant, ship.Page) ([]T, error)
	show  func(T) (shown Shown, id string)
}

// reply answers a request for a page of the list.
func (l newestFirst[T, Shown]) reply(ctx context.Context, in *PageRequest) (reply, error) {
	page := ship.Page{Limit: in.Limit + 1} // one more says whether there are more
	if in.Cursor != "" {
		before, ok := l.parse(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		page.Before = before
	}

	list, err := l.list(ctx, httpkit.From(ctx).Principal.Tenant, page)
	if err != nil {
		return reply{}, err
	}
	more := len(list) > in.Limit
	list = list[:min(len(list), in.Limit)]

	data := make([]Shown, len(list))
	last := ""
	for i, one := range list {
		data[i], last = l.show(one)
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}

// pageOf returns a page. If there are more elements, its cursor is the id of
// the last one on it.
func pageOf[T any](data []T, more bool, last string) page[T] {
	p := page[T]{Data: data}
	if more {
		p.NextCursor = &last
	}
	return p
}
