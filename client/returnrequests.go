package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// A ReturnRule is what an account allows recipients who want to send a parcel back.
type ReturnRule struct {
	Enabled   bool      `json:"enabled"`
	Days      int       `json:"days"` // after the delivery
	Reasons   []string  `json:"reasons"`
	PaidBy    string    `json:"paidBy"`   // "account" or "recipient"
	Approval  string    `json:"approval"` // "automatic" or "manual"
	MaxAmount *Money    `json:"maxAmount,omitempty"`
	Carrier   string    `json:"carrier,omitempty"`
	Service   string    `json:"service,omitempty"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"` // ignored by SetReturnRule
}

// A RequestedReturn is a return that a recipient asked for. Its Items and Comment are
// the recipient's own words: escape them like any text of a stranger.
type RequestedReturn struct {
	ID           string                `json:"id"`
	Status       string                `json:"status"` // "requested", "approved", "denied", "label_sent", "failed"
	ShipmentID   string                `json:"shipmentId"`
	ReturnID     string                `json:"returnId,omitempty"` // the return that was bought
	Reason       string                `json:"reason"`
	Items        string                `json:"items,omitempty"`
	Comment      string                `json:"comment,omitempty"`
	Email        string                `json:"email,omitempty"`
	Language     string                `json:"language"`
	PaidBy       string                `json:"paidBy"`
	Approval     string                `json:"approval,omitempty"`
	DenialReason string                `json:"denialReason,omitempty"`
	Error        *RequestedReturnError `json:"error,omitempty"`
	CreatedAt    time.Time             `json:"createdAt"`
	DecidedAt    time.Time             `json:"decidedAt,omitzero"`
	BoughtAt     time.Time             `json:"boughtAt,omitzero"`
	MailedAt     time.Time             `json:"mailedAt,omitzero"`
}

// A RequestedReturnError is why the label of a return was not bought.
type RequestedReturnError struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
}

// ReturnRule returns what recipients may return.
func (c *Client) ReturnRule(ctx context.Context) (ReturnRule, error) {
	var out ReturnRule
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/return-rule"}, &out)
	return out, err
}

// SetReturnRule replaces what recipients may return.
func (c *Client) SetReturnRule(ctx context.Context, rule ReturnRule) (ReturnRule, error) {
	rule.UpdatedAt = time.Time{}
	var out ReturnRule
	_, err := c.do(ctx, call{method: http.MethodPut, path: "/v1/return-rule", body: rule}, &out)
	return out, err
}

// ReturnRequests lists a page of return requests, newest first; those with a status
// unless it is empty. limit 0 is the service's default, and an empty cursor begins at
// the newest.
func (c *Client) ReturnRequests(ctx context.Context, status string, limit int, cursor string) (Page[RequestedReturn], error) {
	query := url.Values{}
	setPage(query, limit, cursor)
	if status != "" {
		query.Set("status", status)
	}
	var out Page[RequestedReturn]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/return-requests", query: query}, &out)
	return out, err
}

// ReturnRequest returns a return request as it is now.
func (c *Client) ReturnRequest(ctx context.Context, id string) (RequestedReturn, error) {
	var out RequestedReturn
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/return-requests/" + url.PathEscape(id)}, &out)
	return out, err
}

// ApproveReturnRequest approves a return request. The label is bought and sent in
// the background: call ReturnRequest to get the outcome.
func (c *Client) ApproveReturnRequest(ctx context.Context, id string, options ...CallOption) (RequestedReturn, error) {
	var out RequestedReturn
	path := "/v1/return-requests/" + url.PathEscape(id) + "/approve"
	_, err := c.do(ctx, call{method: http.MethodPost, path: path, effect: true}, &out, options...)
	return out, err
}

// DenyReturnRequest denies a return request. The recipient reads the reason.
func (c *Client) DenyReturnRequest(ctx context.Context, id, reason string, options ...CallOption) (RequestedReturn, error) {
	var out RequestedReturn
	path := "/v1/return-requests/" + url.PathEscape(id) + "/deny"
	body := map[string]string{"reason": reason}
	_, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, effect: true}, &out, options...)
	return out, err
}
