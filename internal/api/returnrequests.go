package api

import (
	"context"
	"net/http"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// returnRequestRoutes say what recipients may return, and decide what they ask for.
func (s *server) returnRequestRoutes() []*route {
	return []*route{
		{
			method:   http.MethodGet,
			path:     "/v1/return-rule",
			id:       "getReturnRule",
			tag:      "Return requests",
			summary:  "Get the return rule",
			scope:    "shipments:read",
			handler:  handle(s.getReturnRule),
			outcomes: []outcome{{status: http.StatusOK, about: "The rule.", body: returnRule{}}},
		},

		{
			method:   http.MethodPut,
			path:     "/v1/return-rule",
			id:       "changeReturnRule",
			tag:      "Return requests",
			summary:  "Change the return rule",
			scope:    "shipments:write",
			terms:    true,
			handler:  handle(s.changeReturnRule),
			outcomes: []outcome{{status: http.StatusOK, about: "The rule that applies from now on.", body: returnRule{}}},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/return-requests",
			id:       "listReturnRequests",
			tag:      "Return requests",
			summary:  "List return requests",
			scope:    "shipments:read",
			handler:  handle(s.listReturnRequests),
			outcomes: []outcome{{status: http.StatusOK, about: "A page of return requests, newest first.", body: page[returnRequest]{}}},
			codes:    []string{"invalid_cursor"},
		},

		{
			method:   http.MethodGet,
			path:     "/v1/return-requests/{id}",
			id:       "getReturnRequest",
			tag:      "Return requests",
			summary:  "Get a return request",
			scope:    "shipments:read",
			handler:  handle(s.getReturnRequest),
			outcomes: []outcome{{status: http.StatusOK, about: "The return request.", body: returnRequest{}}},
			codes:    []string{"return_request_not_found"},
		},

		{
			method:   http.MethodPost,
			path:     "/v1/return-requests/{id}/approve",
			id:       "approveReturnRequest",
			tag:      "Return requests",
			summary:  "Approve a return request",
			scope:    "shipments:write",
			starts:   true,
			handler:  handle(s.approveReturnRequest),
			outcomes: []outcome{{status: http.StatusAccepted, about: "The label is being bought and sent.", body: returnRequest{}, headers: []string{"Location", "Retry-After"}}},
			codes:    []string{"return_request_not_found", "return_request_decided"},
		},

		{
			method:   http.MethodPost,
			path:     "/v1/return-requests/{id}/deny",
			id:       "denyReturnRequest",
			tag:      "Return requests",
			summary:  "Deny a return request",
			scope:    "shipments:write",
			handler:  handle(s.denyReturnRequest),
			outcomes: []outcome{{status: http.StatusOK, about: "The return request is denied.", body: returnRequest{}}},
			codes:    []string{"return_request_not_found", "return_request_decided"},
		},
	}
}

// returnRuleInput is the body of PUT /v1/return-rule.
type returnRuleInput struct {
	Enabled   bool        `json:"enabled" doc:"Whether recipients can ask for returns on the tracking page."`
	Days      wholeNumber `json:"days" minimum:"1" maximum:"365" example:"30" doc:"For how many days after the delivery."`
	Reasons   []string    `json:"reasons" minItems:"1" maxItems:"20" doc:"Reasons that a recipient chooses from, in their order; at most 80 characters each."`
	PaidBy    string      `json:"paidBy" enum:"account,recipient" doc:"Who pays for the label. It is bought with the account's carriers in any case; with recipient, the page says that the price will be deducted."`
	Approval  string      `json:"approval" enum:"automatic,manual" doc:"Whether requests are approved at once, or wait for a decision."`
	MaxAmount *moneyInput `json:"maxAmount,omitempty" doc:"Maximum price of a label. A request whose label costs more fails, and waits for a decision."`
	Carrier   string      `json:"carrier,omitempty" minLength:"1" maxLength:"50" example:"ups" doc:"Use this carrier only. By default the routing rules choose."`
	Service   string      `json:"service,omitempty" minLength:"1" maxLength:"50" example:"ground" doc:"Use this service only; requires carrier."`
}

// returnRule is the rule as it is shown.
type returnRule struct {
	Enabled   bool        `json:"enabled" doc:"Whether recipients can ask for returns on the tracking page."`
	Days      int         `json:"days" minimum:"1" maximum:"365" doc:"For how many days after the delivery."`
	Reasons   []string    `json:"reasons" doc:"Reasons that a recipient chooses from."`
	PaidBy    string      `json:"paidBy" enum:"account,recipient" doc:"Who pays for the label."`
	Approval  string      `json:"approval" enum:"automatic,manual" doc:"Whether requests are approved at once, or wait for a decision."`
	MaxAmount *wire.Money `json:"maxAmount,omitempty" doc:"Maximum price of a label."`
	Carrier   string      `json:"carrier,omitempty" doc:"The only carrier that is used."`
	Service   string      `json:"service,omitempty" doc:"The only service that is used."`
	UpdatedAt string      `json:"updatedAt,omitempty" format:"date-time" doc:"When it was last changed; left out for the default."`
}

func returnRuleOf(rule ship.ReturnRule) returnRule {
	shown := returnRule{
		Enabled:   rule.Enabled,
		Days:      rule.Days,
		Reasons:   rule.Reasons,
		PaidBy:    rule.PaidBy,
		Approval:  rule.Approval,
		Carrier:   rule.Carrier,
		Service:   rule.Service,
		UpdatedAt: wire.Time(rule.SavedAt),
	}
	if !rule.MaxAmount.IsZero() {
		limit := wire.MoneyOf(rule.MaxAmount)
		shown.MaxAmount = &limit
	}
	return shown
}

// getReturnRule handles GET /v1/return-rule.
func (s *server) getReturnRule(ctx context.Context, _ *struct{}) (reply, error) {
	rule, err := s.Returns.Rule(ctx, httpkit.From(ctx).Principal.Tenant)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, returnRuleOf(rule))
}

type changeReturnRuleRequest struct{ Body returnRuleInput }

// changeReturnRule handles PUT /v1/return-rule. Labels that are approved
// automatically count against the limit of the key.
func (s *server) changeReturnRule(ctx context.Context, in *changeReturnRuleRequest) (reply, error) {
	caller := httpkit.From(ctx).Principal
	var invalid []ship.FieldError
	rule := ship.ReturnRule{
		Enabled:   in.Body.Enabled,
		Days:      int(in.Body.Days),
		Reasons:   in.Body.Reasons,
		PaidBy:    in.Body.PaidBy,
		Approval:  in.Body.Approval,
		MaxAmount: in.Body.MaxAmount.money("/maxAmount", &invalid),
		Carrier:   in.Body.Carrier,
		Service:   in.Body.Service,
		SavedBy:   ship.Spender{Key: caller.Key},
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return reply{}, err
	}

	saved, err := s.Returns.SaveRule(ctx, caller.Tenant, rule)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, returnRuleOf(saved))
}

// returnRequest is a return that a recipient asked for, as it is shown.
type returnRequest struct {
	ID           string              `json:"id" example:"rrq_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the request, prefix rrq_."`
	Status       string              `json:"status" enum:"requested,approved,denied,label_sent,failed" doc:"requested while it waits for a decision; approved while the label is bought and sent; failed if the label was not bought, for the reason in error."`
	ShipmentID   string              `json:"shipmentId" doc:"The shipment that is to come back."`
	ReturnID     string              `json:"returnId,omitempty" doc:"The return that was bought, a shipment."`
	Reason       string              `json:"reason" example:"Wrong size" doc:"The reason that the recipient chose."`
	Items        string              `json:"items,omitempty" doc:"What comes back, in the recipient's words. Treat it as untrusted text."`
	Comment      string              `json:"comment,omitempty" doc:"The recipient's comment. Treat it as untrusted text."`
	Email        string              `json:"email,omitempty" doc:"Where the label is mailed."`
	Language     string              `json:"language" example:"en" doc:"The recipient's language."`
	PaidBy       string              `json:"paidBy" enum:"account,recipient" doc:"Who pays for the label, by the rule at the time of the request."`
	Approval     string              `json:"approval,omitempty" enum:"automatic,manual" doc:"How it was approved."`
	DenialReason string              `json:"denialReason,omitempty" doc:"Why it was denied. The recipient reads it."`
	Error        *returnRequestError `json:"error,omitempty" doc:"Why the label was not bought."`
	CreatedAt    string              `json:"createdAt" format:"date-time" doc:"When the recipient asked."`
	DecidedAt    string              `json:"decidedAt,omitempty" format:"date-time" doc:"When it was approved or denied."`
	BoughtAt     string              `json:"boughtAt,omitempty" format:"date-time" doc:"When the label was bought."`
	MailedAt     string              `json:"mailedAt,omitempty" format:"date-time" doc:"When the link to the label, or the reason of a denial, was mailed; left out if it was not. The tracking page has both in any case."`
}

// returnRequestError is why a label was not bought.
type returnRequestError struct {
	Code    string `json:"code" example:"spend_limit_reached" doc:"A code of errors."`
	Message string `json:"message,omitempty" doc:"What happened."`
}

func returnRequestOf(r ship.ReturnRequest) returnRequest {
	shown := returnRequest{
		ID:           string(r.ID),
		Status:       string(r.State),
		ShipmentID:   string(r.Shipment),
		ReturnID:     string(r.Return),
		Reason:       r.Reason,
		Items:        r.Items,
		Comment:      r.Comment,
		Email:        r.Email,
		Language:     r.Language,
		PaidBy:       r.PaidBy,
		Approval:     r.Approval,
		DenialReason: r.Denial,
		CreatedAt:    wire.Time(r.ID.Raw().Time()),
		DecidedAt:    wire.Time(r.DecidedAt),
		BoughtAt:     wire.Time(r.BoughtAt),
		MailedAt:     wire.Time(r.MailedAt),
	}
	if r.ErrorCode != "" {
		shown.Error = &returnRequestError{Code: r.ErrorCode, Message: r.ErrorMessage}
	}
	return shown
}

type returnRequestRequest struct {
	ID string `path:"id" example:"rrq_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the return request."`
}

func (in returnRequestRequest) id() (ship.ReturnRequestID, error) {
	id, ok := ship.ParseReturnRequestID(in.ID)
	if !ok {
		return "", ship.Coded(ship.NotFound, "return_request_not_found", "no such return request")
	}
	return id, nil
}

// getReturnRequest handles GET /v1/return-requests/{id}.
func (s *server) getReturnRequest(ctx context.Context, in *returnRequestRequest) (reply, error) {
	id, err := in.id()
	if err != nil {
		return reply{}, err
	}
	found, err := s.Returns.Request(ctx, httpkit.From(ctx).Principal.Tenant, id)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, returnRequestOf(found))
}

// approveReturnRequest handles POST /v1/return-requests/{id}/approve. The label
// counts against the limit of the key.
func (s *server) approveReturnRequest(ctx context.Context, in *returnRequestRequest) (reply, error) {
	id, err := in.id()
	if err != nil {
		return reply{}, err
	}
	caller := httpkit.From(ctx).Principal
	approved, err := s.Returns.Approve(ctx, caller.Tenant, id, ship.Spender{Key: caller.Key})
	if err != nil {
		return reply{}, err
	}
	out, err := jsonReply(http.StatusAccepted, returnRequestOf(approved))
	return out.with("Location", "/v1/return-requests/"+string(id)).with("Retry-After", "5"), err
}

// returnDenialInput is the body of POST /v1/return-requests/{id}/deny.
type returnDenialInput struct {
	Reason string `json:"reason" minLength:"1" maxLength:"300" example:"The 30 days are over." doc:"Why. The recipient reads it on the tracking page."`
}

type denyReturnRequestRequest struct {
	ID   string `path:"id" example:"rrq_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the return request."`
	Body returnDenialInput
}

// denyReturnRequest handles POST /v1/return-requests/{id}/deny.
func (s *server) denyReturnRequest(ctx context.Context, in *denyReturnRequestRequest) (reply, error) {
	id, err := returnRequestRequest{in.ID}.id()
	if err != nil {
		return reply{}, err
	}
	denied, err := s.Returns.Deny(ctx, httpkit.From(ctx).Principal.Tenant, id, in.Body.Reason)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, returnRequestOf(denied))
}

type listReturnRequestsRequest struct {
	PageRequest
	Status string `query:"status" enum:"requested,approved,denied,label_sent,failed" doc:"Only requests with this status."`
}

// listReturnRequests handles GET /v1/return-requests.
func (s *server) listReturnRequests(ctx context.Context, in *listReturnRequestsRequest) (reply, error) {
	page := ship.Page{Limit: in.Limit + 1} // one more says whether there are more
	if in.Cursor != "" {
		id, ok := ship.ParseReturnRequestID(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		page.Before = id.Raw()
	}

	list, err := s.Returns.Requests(ctx, httpkit.From(ctx).Principal.Tenant, ship.ReturnState(in.Status), page)
	if err != nil {
		return reply{}, err
	}
	more := len(list) > in.Limit
	list = list[:min(len(list), in.Limit)]

	data := make([]returnRequest, len(list))
	last := ""
	for i, one := range list {
		data[i] = returnRequestOf(one)
		last = data[i].ID
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}
