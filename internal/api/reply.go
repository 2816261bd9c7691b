package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/waybillhq/waybill/internal/httpkit"
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

// show is v as the body of an answer.
func show(status int, v any) (reply, error) {
	b, err := wire.Marshal(v)
	return reply{status: status, body: b}, err
}

func (o reply) write(w http.ResponseWriter) {
	h := w.Header()
	if o.status != http.StatusNoContent && o.status != http.StatusNotModified {
		if o.kind == "" {
			o.kind = "application/json"
		}
		h["Content-Type"] = []string{o.kind}
		h["Content-Length"] = []string{strconv.Itoa(len(o.body))}
	}
	for _, pair := range o.header {
		h.Set(pair[0], pair[1])
	}
	w.WriteHeader(o.status)
	w.Write(o.body) // the client may have left; Exchange.Delivered tells
	if o.after != nil {
		o.after()
	}
}

// output is what huma writes: the reply does it itself.
type output struct {
	Body func(huma.Context)
}

// handle makes a route's handler of a function that translates. The function
// returns its reply or why there is none; both are written here, so all routes
// fail in the same way.
func handle[In any](fn func(context.Context, *In) (reply, error)) func(huma.API, huma.Operation) {
	return func(api huma.API, op huma.Operation) {
		huma.Register(api, op, func(ctx context.Context, in *In) (*output, error) {
			o, err := fn(ctx, in)
			return &output{Body: func(hc huma.Context) {
				r, w := humago.Unwrap(hc)
				if err != nil {
					httpkit.Fail(w, r, err)
					return
				}
				o.write(w)
			}}, nil
		})
	}
}

// matches reports whether an If-None-Match header has the tag. Weak tags
// compare equal to strong ones.
func matches(header, tag string) bool {
	if header == "" {
		return false
	}
	tag = strings.TrimPrefix(tag, "W/")
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// page is a part of a list.
type page[T any] struct {
	Data       []T     `json:"data" doc:"The page, newest first."`
	NextCursor *string `json:"nextCursor" doc:"Send it as cursor for the next page; null on the last."`
}

// pageOf is a page that goes on behind its last element.
func pageOf[T any](data []T, more bool, last string) page[T] {
	p := page[T]{Data: data}
	if more {
		p.NextCursor = &last
	}
	return p
}
