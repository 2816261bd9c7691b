package httpkit

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Code is a stable code of an error with its HTTP status and its text in the
// documentation.
type Code struct {
	Name   string
	Status int
	Title  string
	Help   string
}

// Codes lists every code that an answer can have. There are no others.
var Codes = []Code{
	{"malformed_json", http.StatusBadRequest, "Malformed JSON", "The body is not one JSON value in UTF-8, or it has a name twice, is nested too deep or has too many values. `errors` points at the place."},

	{"invalid_api_key", http.StatusUnauthorized, "Invalid API key", "Send `Authorization: Bearer <key>` with a key that is neither mistyped, revoked nor expired."},

	{"insufficient_scope", http.StatusForbidden, "Insufficient scope", "The key is not allowed to call this route. Use a key with the scope that the route names."},
	{"ip_not_allowed", http.StatusForbidden, "Address not allowed", "The key may only be used from the networks on its allow-list."},
	{"test_key_required", http.StatusForbidden, "Test key required", "Sandbox routes need an `sk_test_` key."},
	{"spend_limit_reached", http.StatusForbidden, "Spend limit reached", "The key's daily limit would be exceeded. Raise it or wait for the next day."},
	{"invalid_token", http.StatusForbidden, "Invalid link", "The signed link is wrong, expired or ended by a void. Make a new one."},
	{"forbidden", http.StatusForbidden, "Forbidden", "The caller may not do this."},

	{"not_found", http.StatusNotFound, "Not found", "There is no such thing, or it belongs to another account or mode."},
	{"shipment_not_found", http.StatusNotFound, "Shipment not found", "There is no such shipment, or it belongs to another account or mode."},
	{"tracker_not_found", http.StatusNotFound, "Tracker not found", "There is no such tracker, or it belongs to another account or mode."},
	{"tracking_not_found", http.StatusNotFound, "Tracking number not found", "No shipment and no tracker of the account has this number. Follow it with `POST /v1/trackers`."},

	{"webhook_not_found", http.StatusNotFound, "Webhook not found", "There is no such webhook, or it belongs to another account or mode."},
	{"event_not_found", http.StatusNotFound, "Event not found", "There is no such event, it is no longer kept, or no webhook that is enabled wants it."},

	{"draft_not_found", http.StatusNotFound, "No draft", "There are no routing rules that wait to be published. Save a draft with `PUT /v1/routing/draft`."},
	{"version_not_found", http.StatusNotFound, "Version not found", "There is no such version of the routing rules, or it belongs to another account or mode."},
	{"rate_sheet_not_found", http.StatusNotFound, "Rate sheet not found", "There is no such rate sheet, or it belongs to another account or mode."},

	{"method_not_allowed", http.StatusMethodNotAllowed, "Method not allowed", "The path exists, but not with this method. The `Allow` header lists the methods."},

	{"idempotency_in_progress", http.StatusConflict, "Request still running", "A request with the same `Idempotency-Key` has not finished. Wait as `Retry-After` says and send it again."},
	{"duplicate_order", http.StatusConflict, "Duplicate order", "A shipment of this `orderId` exists and `onDuplicateOrder` is `reject`."},
	{"label_not_ready", http.StatusConflict, "Label not ready", "The purchase has not finished. Wait as `Retry-After` says and ask again."},
	{"format_unavailable", http.StatusConflict, "Format unavailable", "The label cannot be rendered faithfully like this. The detail names what can be had."},
	{"label_quarantined", http.StatusConflict, "Label held back", "The carrier's label is damaged or has something that could harm a printer or a viewer, so it is not given out. Void the shipment and buy it again, or get the label from the carrier."},
	{"void_not_supported", http.StatusConflict, "Void not supported", "The carrier cannot void labels of this kind."},
	{"void_refused", http.StatusConflict, "Void refused", "The carrier refused to void the label, or the parcel is already moving."},
	{"webhook_limit", http.StatusConflict, "Too many webhooks", "The account has as many webhooks in this mode as it may: 20. Delete one."},
	{"draft_changed", http.StatusConflict, "Draft changed", "Somebody else saved the draft of the routing rules at the same time. Read it with `GET /v1/routing` and publish again."},
	{"rules_changed", http.StatusConflict, "Rules changed", "Other routing rules were published since. Read them with `GET /v1/routing` and save the draft again."},
	{"rate_sheet_overlap", http.StatusConflict, "Rate sheets overlap", "Another rate sheet prices the same carrier account. Remove it, or import under its name."},
	{"cannot_advance", http.StatusConflict, "Cannot advance", "The test shipment has no further step: it is delivered, or it has no label."},
	{"conflict", http.StatusConflict, "Conflict", "The thing is not in a state that allows this."},
	{"unsupported", http.StatusConflict, "Not supported", "The carrier cannot do this."},

	{"credentials_unreadable", http.StatusConflict, "Credentials unreadable", "The credentials of the carrier connection cannot be decrypted here. The operator of the service finds the cause with \"waybill connection check\"."},
	{"secret_key_required", http.StatusConflict, "Secret key required", "Live carrier credentials need an encryption key that is not in the database. The operator sets `SECRET_KEY` or `SECRET_KMS`."},
	{"key_unavailable", http.StatusServiceUnavailable, "Key unavailable", "The key that protects the carrier credentials cannot be reached now. Try again later."},
	{"label_voided", http.StatusGone, "Label voided", "The label was voided and may not be used."},
	{"cursor_expired", http.StatusGone, "Cursor expired", "The log no longer reaches back to this cursor. Begin again without `after`."},
	{"gone", http.StatusGone, "Gone", "It was there and never will be again."},

	{"body_too_large", http.StatusRequestEntityTooLarge, "Body too large", "The body has more than 256 KiB; with a rate sheet, more than 16 MiB."},
	{"unsupported_media_type", http.StatusUnsupportedMediaType, "Unsupported media type", "Send JSON with `Content-Type: application/json`."},

	{"validation_failed", http.StatusUnprocessableEntity, "Validation failed", "`errors` lists each wrong field or parameter with a code of its own."},
	{"idempotency_key_reused", http.StatusUnprocessableEntity, "Idempotency key reused", "The `Idempotency-Key` was used for another request. Use a new key for each new request."},
	{"carrier_rejected", http.StatusUnprocessableEntity, "Carrier rejected", "Every carrier that the request allows refused it. `errors` lists the fields that each of them objects to; `carrierCode` and `carrierMessage` are the last carrier's own words."},
	{"rate_mismatch", http.StatusUnprocessableEntity, "Rate mismatch", "The `rateId` was quoted for another shipment, or `carrier`, `service`, `connectionId`, `deliverBy` or `maxAmount` contradicts it; `errors` points at the fields. Nothing was bought. Quote again with the same addresses, parcels and options, or leave out what contradicts the rate."},
	{"currency_mismatch", http.StatusUnprocessableEntity, "Currency mismatch", "`maxAmount` is in another currency than the offers, and amounts are not converted. Nothing was bought. Give the limit in the currency that the detail names."},
	{"rate_expired", http.StatusUnprocessableEntity, "Rate expired", "Rates can be bought for 24 hours. Quote again."},
	{"price_changed", http.StatusUnprocessableEntity, "Price changed", "The carrier charged more than was quoted or allowed, so the label was voided. Both prices are in the answer."},
	{"origin_required", http.StatusUnprocessableEntity, "Origin required", "Send `origin`, or give the account a default location."},
	{"no_carrier", http.StatusUnprocessableEntity, "No carrier", "No carrier of the account can carry this shipment."},
	{"no_rate", http.StatusUnprocessableEntity, "No rate", "No carrier offers what was requested at that price and by that day. `errors` points at the limit, with the cheapest price or the earliest day."},
	{"unknown_carrier", http.StatusUnprocessableEntity, "Unknown carrier", "The carrier is not known. `GET /v1/carriers` lists those that are."},
	{"carrier_ambiguous", http.StatusUnprocessableEntity, "Carrier ambiguous", "The tracking number fits several carriers. Send `carrier`."},
	{"invalid_rate_sheet", http.StatusUnprocessableEntity, "Invalid rate sheet", "The CSV of the rate sheet has errors. `errors` lists them with line and column, each with a code of its own."},
	{"invalid_cursor", http.StatusUnprocessableEntity, "Invalid cursor", "The cursor is not one that the service gave out."},

	{"rate_limited", http.StatusTooManyRequests, "Too many requests", "The key sends more than its limit. Wait as `Retry-After` says."},
	{"tracker_limit", http.StatusTooManyRequests, "Too many trackers", "The key has followed as many new numbers today as it may."},

	{"internal_error", http.StatusInternalServerError, "Internal error", "It is our fault. Report the request id."},

	{"carrier_unavailable", http.StatusServiceUnavailable, "Carrier unavailable", "The carrier did not answer, and nothing was bought. Send the same request with the same `Idempotency-Key` again."},
	{"service_unavailable", http.StatusServiceUnavailable, "Service unavailable", "The service cannot answer now. Send the same request again."},
	{"timeout", http.StatusServiceUnavailable, "Timeout", "The request took longer than 30 seconds. Send it again with the same `Idempotency-Key`."},
	{"outcome_unknown", http.StatusServiceUnavailable, "Outcome unknown", "It may have been done. Look before doing it again, or repeat it with the same `Idempotency-Key`."},
}

// FieldCodes lists the codes of single fields and parameters, with their
// meaning.
var FieldCodes = [][2]string{
	{"required", "The field is missing or empty."},
	{"unknown_field", "There is no such field; `suggestion` is the nearest known name."},
	{"unknown_parameter", "There is no such parameter; `suggestion` is the nearest known name."},
	{"repeated_parameter", "The parameter may be given once."},
	{"wrong_type", "The value is of another JSON type."},
	{"too_short", "The text is too short."},
	{"too_long", "The text is too long."},
	{"too_small", "The number is too small."},
	{"too_large", "The number is too large."},
	{"too_early", "No offer arrives by that day."},
	{"carrier_rejected", "The carrier refused the shipment without naming a field; the detail has its words."},
	{"unprintable", "The text has characters that cannot be printed on a label."},
	{"state_mismatch", "The state and the postal code do not belong together; `suggestion` is the state of the postal code."},
	{"rate_mismatch", "The value contradicts the rate of `rateId`."},
	{"currency_mismatch", "The amount is in another currency than the offers."},
	{"too_few", "The list has too few items."},
	{"too_many", "The list or object has too many items."},
	{"not_allowed", "The value is not one of those listed."},
	{"invalid", "The value is wrong."},
	{"invalid_format", "The text does not have the expected form; the detail has an example."},
	{"invalid_text", "The text has control characters, direction marks or broken UTF-8."},
	{"destination_not_allowed", "The address is not one of the internet, or the operator does not allow it."},
	{"exclusive", "Only one of the named fields may be given."},
	{"unknown_country", "The country is a two-letter ISO 3166-1 code."},
	{"unknown_state", "The country has no such state."},
	{"unknown_carrier", "The account has no such carrier."},
	{"unknown_connection", "The account has no such connection."},
	{"unknown_service", "The carrier has no such service."},
	{"unknown_packaging", "The carrier has no such packaging."},
	{"invalid_zip", "This is not a postal code of the country."},
	{"invalid_phone", "This is not a phone number."},
	{"invalid_email", "This is not an e-mail address."},
	{"invalid_condition", "The condition of a rule cannot be used; the detail has the column, and `suggestion` what was probably meant."},
	{"duplicate", "It is there twice."},
	{"unknown", "In a rate sheet: there is no such section, column, setting or word."},
	{"missing", "In a rate sheet: something that is needed, or probably wanted, is not there."},
	{"overlap", "In a rate sheet: two rows say different things about the same."},
	{"ambiguous", "In a rate sheet: the number or date can be read in two ways."},
	{"unreachable", "In a rate sheet: the row is never used."},
	{"falling", "In a rate sheet: a heavier parcel costs less."},
	{"short", "In a rate sheet: the postal code is shorter than the others."},
	{"quotes", "In a rate sheet: the quotation marks of a row do not match."},
	{"encoding", "The rate sheet is not CSV in UTF-8."},
	{"syntax", "The text is not JSON here."},
	{"duplicate_name", "An object has the same name twice; case does not tell names apart."},
	{"too_deep", "Values are nested too deep."},
	{"too_many_members", "An object has too many members."},
	{"too_many_values", "There are too many values."},
	{"trailing_data", "Something follows the JSON value."},
	{"invalid_utf8", "A string is not UTF-8."},
	{"lone_surrogate", "A string has half of a surrogate pair."},
	{"nul_character", "A string has the character U+0000."},
	{"number_out_of_range", "A number is too large."},
}

// byKind is the code of an error that has none of its own.
var byKind = map[ship.Kind]string{
	ship.Internal:    "internal_error",
	ship.Invalid:     "validation_failed",
	ship.Forbidden:   "forbidden",
	ship.NotFound:    "not_found",
	ship.Conflict:    "conflict",
	ship.Gone:        "gone",
	ship.Unsupported: "unsupported",
	ship.Limited:     "rate_limited",
	ship.Unavailable: "service_unavailable",
	ship.Uncertain:   "outcome_unknown",
}

var byName = func() map[string]Code {
	index := make(map[string]Code, len(Codes))
	for _, code := range Codes {
		index[code.Name] = code
	}
	return index
}()

// CodeNamed returns the code of that name. An unknown name is a mistake in this
// program.
func CodeNamed(name string) (Code, bool) {
	code, ok := byName[name]
	return code, ok
}

// codeOf is the one place where errors become HTTP statuses: by the error's
// own code, else by its kind. A code that is not listed keeps its name and has
// its kind's status.
func codeOf(e *ship.Error) Code {
	if code, ok := byName[e.Code]; ok && e.Kind != ship.Internal {
		return code
	}

	code := byName[byKind[e.Kind]]
	if code.Name == "" {
		code = byName["internal_error"]
	}

	// The code of an internal error is not shown: it is about our side.
	if e.Code != "" && e.Kind != ship.Internal {
		code.Name = e.Code
	}
	return code
}
