package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Call makes any request of the API, such as GET "/v1/events?limit=5", and returns
// the body of its answer. A POST has an idempotency key, and is repeated with it like
// those of the other methods. body is JSON, or empty for none.
func (c *Client) Call(ctx context.Context, method, path string, body []byte, options ...CallOption) ([]byte, error) {
	in := call{method: method, path: path, effect: method == http.MethodPost}
	if len(body) > 0 {
		in.body = json.RawMessage(body)
	}
	got, err := c.do(ctx, in, nil, options...)
	return got.body, err
}
