package ship

import "strings"

// A RequestID names one request of the API, "req_...": it is what the
// Request-Id header and every problem tell, in lower case.
type RequestID string

const requestPrefix = "req_"

// Raw is the stored form of the id.
func (id RequestID) Raw() RawID { return raw(string(id), requestPrefix) }

// RequestIDOf is the id of its stored form.
func RequestIDOf(id RawID) RequestID { return RequestID(strings.ToLower(id.text(requestPrefix))) }

// ParseRequestID reads the id of a request as a client writes it.
func ParseRequestID(s string) (RequestID, bool) {
	id, ok := parseID(s, requestPrefix)
	return RequestIDOf(id), ok
}
