package easypost

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// guide is where readers find what is served and what is not.
const guide = "https://github.com/waybillhq/waybill/blob/main/docs/moving-from-easypost.md"

// failure is the body of every error: the clients read nothing else.
type failure struct {
	Error failureDetail `json:"error"`
}

type failureDetail struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Errors  []failureField `json:"errors"`
}

type failureField struct {
	Field      string `json:"field"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// failures translates the codes of problems. Clients choose their exception by the
// status; programs that look further look at the code.
var failures = map[string]struct {
	status int
	code   string
}{
	"invalid_api_key":         {http.StatusUnauthorized, "UNAUTHORIZED"},
	"insufficient_scope":      {http.StatusForbidden, "FORBIDDEN"},
	"ip_not_allowed":          {http.StatusForbidden, "FORBIDDEN"},
	"validation_failed":       {http.StatusUnprocessableEntity, "PARAMETER.INVALID"},
	"parameter_required":      {http.StatusUnprocessableEntity, "PARAMETER.REQUIRED"},
	"malformed_json":          {http.StatusBadRequest, "BAD_REQUEST"},
	"unsupported_media_type":  {http.StatusBadRequest, "BAD_REQUEST"},
	"body_too_large":          {http.StatusRequestEntityTooLarge, "BAD_REQUEST"},
	"carrier_rejected":        {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.FAILURE"},
	"price_changed":           {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.FAILURE"},
	"rate_mismatch":           {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.FAILURE"},
	"no_rate":                 {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.FAILURE"},
	"no_carrier":              {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.FAILURE"},
	"already_bought":          {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.EXISTS"},
	"purchase_in_progress":    {http.StatusUnprocessableEntity, "SHIPMENT.PURCHASE.IN_PROGRESS"},
	"idempotency_in_progress": {http.StatusUnprocessableEntity, "SHIPMENT.PURCHASE.IN_PROGRESS"},
	"spend_limit_reached":     {http.StatusPaymentRequired, "PAYMENT_REQUIRED"},
	"purchase_limit_exceeded": {http.StatusPaymentRequired, "PAYMENT_REQUIRED"},
	"country_not_allowed":     {http.StatusForbidden, "FORBIDDEN"},
	"approval_required":       {http.StatusUnprocessableEntity, "SHIPMENT.PURCHASE.IN_PROGRESS"},
	"approval_denied":         {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.FAILURE"},
	"approval_expired":        {http.StatusUnprocessableEntity, "SHIPMENT.POSTAGE.FAILURE"},
	"address_not_verified":    {http.StatusUnprocessableEntity, "ADDRESS.VERIFY.FAILURE"},
	"unknown_carrier":         {http.StatusUnprocessableEntity, "PARAMETER.INVALID"},
	"carrier_ambiguous":       {http.StatusUnprocessableEntity, "TRACKER.CREATE.ERROR"},
	"not_served":              {http.StatusUnprocessableEntity, "NOT_SERVED"},
	"outcome_unknown":         {http.StatusGatewayTimeout, "SHIPMENT.POSTAGE.NO_RESPONSE"},
	"timeout":                 {http.StatusGatewayTimeout, "GATEWAY_TIMEOUT"},
	"carrier_unavailable":     {http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE"},
	"restore_pending":         {http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE"},
	"service_unavailable":     {http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE"},
}

// statusCodes are the codes of problems that are not listed, by status.
var statusCodes = map[int]string{
	http.StatusBadRequest:          "BAD_REQUEST",
	http.StatusNotFound:            "NOT_FOUND",
	http.StatusForbidden:           "FORBIDDEN",
	http.StatusUnauthorized:        "UNAUTHORIZED",
	http.StatusTooManyRequests:     "RATE_LIMITED",
	http.StatusInternalServerError: "INTERNAL_SERVER_ERROR",
	http.StatusServiceUnavailable:  "SERVICE_UNAVAILABLE",
}

// fail answers with an error. The problem itself goes to the logs, with the status
// that is answered.
func (s *server) fail(ex *httpkit.Exchange, w http.ResponseWriter, err error) {
	problem := ex.Problem(err)
	out := failureDetail{Message: sentence(problem.Detail), Errors: []failureField{}}

	if known, ok := failures[problem.Code]; ok {
		problem.Status = known.status
		out.Code = known.code
	} else {
		// Their clients have no exception for a conflict or for something that is
		// gone.
		if problem.Status == http.StatusConflict || problem.Status == http.StatusGone {
			problem.Status = http.StatusUnprocessableEntity
		}
		out.Code = statusCodes[problem.Status]
		if out.Code == "" {
			out.Code = "UNPROCESSABLE_ENTITY"
		}
	}

	for _, field := range problem.Errors {
		out.Errors = append(out.Errors, failureField{
			Field:      fieldName(field.Pointer + field.Parameter),
			Message:    field.Detail,
			Suggestion: field.Suggestion,
		})
		if field.Code == "required" && problem.Code == "validation_failed" {
			out.Code = "PARAMETER.REQUIRED"
		}
	}
	if problem.CarrierMessage != "" {
		out.Message = problem.CarrierMessage
	}

	header := w.Header()
	if after := problem.RetryAfter(); after != "" {
		header.Set("Retry-After", after)
	}
	if problem.Status == http.StatusUnauthorized {
		header.Set("Www-Authenticate", "Basic")
	}
	body, err := wire.Marshal(failure{Error: out})
	if err != nil {
		panic(err) // texts always do
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(problem.Status)
	w.Write(body) // the client may have left
}

// sentence begins a message with a capital letter, as EasyPost's do.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// pointerNames are what EasyPost calls the fields of an order.
var pointerNames = map[string]string{
	"destination":    "to_address",
	"origin":         "from_address",
	"address":        "address",
	"address1":       "street1",
	"address2":       "street2",
	"customs":        "customs_info",
	"items":          "customs_items",
	"contentsType":   "contents_type",
	"hsCode":         "hs_tariff_number",
	"originCountry":  "origin_country",
	"packaging":      "predefined_package",
	"rateId":         "rate",
	"signer":         "customs_signer",
	"trackingNumber": "tracking_code",
	"shipDate":       "options.label_date",
	"billing":        "options.payment",
	"insuredValue":   "insurance",
	"readyAt":        "min_datetime",
	"closeAt":        "max_datetime",
	"shipmentIds":    "shipments",
}

// fieldName translates a JSON pointer of ours: /destination/address1 is
// to_address.street1 there.
func fieldName(pointer string) string {
	var out []string
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if part == "dimensions" {
			continue // theirs are beside the weight
		}
		if name, ok := pointerNames[part]; ok {
			part = name
		}
		out = append(out, part)
	}
	return strings.Join(out, ".")
}

// required is the error of a parameter that is missing.
func required(name string) error {
	return &ship.Error{
		Kind:    ship.Invalid,
		Code:    "parameter_required",
		Message: "missing required parameter.",
		Fields:  []ship.FieldError{{Pointer: "/" + name, Code: "required", Detail: "cannot be blank"}},
	}
}

// invalid is the error of a parameter with a value that is not accepted.
func invalid(name, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: "/" + name, Code: "invalid", Detail: detail}})
}

// notServed is the error of something that EasyPost has and this service has not.
func notServed(what string) error {
	return ship.Coded(ship.Invalid, "not_served", "%s; %s says what to do instead", what, guide)
}

// notFound is the error of an id that does not exist, or belongs to somebody else.
func notFound() error {
	return ship.Coded(ship.NotFound, "not_found", "the requested resource could not be found")
}
