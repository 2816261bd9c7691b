package client

import (
	"context"
	"net/http"
)

// Retention is for how many days an account keeps personal data and labels, in both
// modes. Zero keeps them for as long as the installation does.
type Retention struct {
	PersonalDataDays int `json:"personalDataDays,omitempty"` // 30 to 3650
	LabelDays        int `json:"labelDays,omitempty"`        // 1 to 3650
}

// Retention returns what the account has chosen.
func (c *Client) Retention(ctx context.Context) (Retention, error) {
	var out Retention
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/retention"}, &out)
	return out, err
}

// ChangeRetention chooses anew. What is older is erased within minutes and does not
// come back. The key must be a live one.
func (c *Client) ChangeRetention(ctx context.Context, chosen Retention) (Retention, error) {
	var out Retention
	_, err := c.do(ctx, call{method: http.MethodPut, path: "/v1/retention", body: chosen}, &out)
	return out, err
}
