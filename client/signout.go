package client

import (
	"context"
	"net/http"
	"net/url"
)

// RevokeKey ends the client's own key (RFC 7009). It stops working within a few
// seconds, and cannot be used again.
func (c *Client) RevokeKey(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/oauth/revoke", form: url.Values{"token": {c.key}}}, nil)
	return err
}
