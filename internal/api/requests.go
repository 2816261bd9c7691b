package api

import (
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
)

// requestsPath is the path of the request log. Requests for it are not in what it
// answers: a reader that follows the log would only see itself.
const requestsPath = "/v1/requests"

// requestRoutes show the requests that were made with the account's keys.
func (s *server) requestRoutes() []*route {
	return []*route{
		{
			method:   http.MethodGet,
			path:     requestsPath,
			id:       "listRequests",
			tag:      "Requests",
			summary:  "List requests",
			scope:    "requests",
			handler:  handle(s.listRequests),
			outcomes: []outcome{{status: http.StatusOK, about: "Requests, oldest first.", body: loggedRequests{}}},
			codes:    []string{"invalid_cursor"},
		},
	}
}

type listRequestsRequest struct {
	After  string    `query:"after" minLength:"1" maxLength:"200" doc:"nextCursor of the previous page, or the id of a request; omit it to start at since, or at the oldest request."`
	Since  time.Time `query:"since" doc:"Only requests that began at or after this time."`
	Status string    `query:"status" enum:"2xx,4xx,5xx" doc:"Only requests that were answered with such a status."`
	Limit  int       `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Maximum number of items to return."`
}

// loggedRequests is a part of the request log.
type loggedRequests struct {
	Data       []loggedRequest `json:"data" doc:"Requests, oldest first."`
	NextCursor string          `json:"nextCursor" doc:"Send it as after to continue; never null, not even at the end of the log."`
}

// loggedRequest is a request as the log has it.
type loggedRequest struct {
	ID             string    `json:"id" example:"req_01kjmbqdhv00g2n6v3t9rzkxb4" doc:"Identifier of the request, as in the Request-Id header."`
	Timestamp      time.Time `json:"timestamp" doc:"When it began."`
	Method         string    `json:"method" example:"POST" doc:"HTTP method."`
	Path           string    `json:"path" example:"/v1/shipments" doc:"Path, without its query."`
	Route          string    `json:"route" example:"/v1/shipments" doc:"Path with placeholders."`
	Status         int       `json:"status" example:"201" doc:"HTTP status of the response."`
	DurationMs     int64     `json:"durationMs" example:"38" doc:"How long it took, in milliseconds."`
	KeyID          string    `json:"keyId" example:"key_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The API key that was used."`
	IdempotencyKey string    `json:"idempotencyKey,omitempty" example:"order-1001" doc:"The client's idempotency key, if it sent one."`
	Code           string    `json:"code,omitempty" example:"no_rate" doc:"Code of the error; omitted if there was none."`
}

// listRequests handles GET /v1/requests.
func (s *server) listRequests(ctx context.Context, in *listRequestsRequest) (reply, error) {
	after := ship.RawIDAt(in.Since)
	if in.After != "" {
		id, ok := ship.ParseRequestID(in.After)
		if !ok {
			return reply{}, invalidCursor()
		}
		after = id.Raw()
	}

	filter := journal.RequestFilter{Except: requestsPath}
	if in.Status != "" {
		filter.Class = int(in.Status[0] - '0')
	}
	list, err := s.Journal.After(ctx, httpkit.From(ctx).Principal.Tenant, filter, after, in.Limit)
	if err != nil {
		return reply{}, err
	}

	answer := loggedRequests{Data: make([]loggedRequest, len(list)), NextCursor: string(ship.RequestIDOf(after))}
	for i, request := range list {
		answer.Data[i] = loggedRequest{
			ID:             string(request.ID),
			Timestamp:      request.ID.Raw().Time(),
			Method:         request.Method,
			Path:           request.Path,
			Route:          request.Route,
			Status:         request.Status,
			DurationMs:     request.Took.Milliseconds(),
			KeyID:          string(request.Key),
			IdempotencyKey: request.Idempotency,
			Code:           request.Code,
		}
		answer.NextCursor = string(request.ID)
	}
	return jsonReply(http.StatusOK, answer)
}
