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
	{"malformed_json", http.StatusBadRequest, "Malformed JSON", "The body is not a single JSON value in UTF-8, has a duplicate key, is nested too deeply or has too many values. `errors` points to the location."},

	{"invalid_api_key", http.StatusUnauthorized, "Invalid API key", "The key is missing, mistyped, revoked or expired. Send `Authorization: Bearer <key>` with a valid key."},

	{"insufficient_scope", http.StatusForbidden, "Insufficient scope", "The key lacks the scope that this route requires. Use a key that has it."},
	{"ip_not_allowed", http.StatusForbidden, "IP address not allowed", "The key may only be used from the networks on its allow-list. Call from one of them, or use another key."},
	{"live_key_required", http.StatusForbidden, "Live key required", "The change affects live data. Use an `sk_live_` key."},
	{"test_key_required", http.StatusForbidden, "Test key required", "Sandbox routes need an `sk_test_` key."},
	{"spend_limit_reached", http.StatusForbidden, "Spend limit reached", "The purchase would exceed the key's daily limit. Raise the limit, use another key, or wait until midnight UTC."},
	{"purchase_limit_exceeded", http.StatusForbidden, "Purchase limit exceeded", "The label costs more than the key may spend on one label. Choose a cheaper service, use another key, or ask an owner for a key with a higher limit."},
	{"country_not_allowed", http.StatusForbidden, "Country not allowed", "The key may not ship to the country of the destination; `allowedCountries` lists those that it may. Use another key."},
	{"invalid_token", http.StatusForbidden, "Invalid link", "The signed link is invalid or expired, or its label was voided. Create a new link."},
	{"forbidden", http.StatusForbidden, "Forbidden", "The caller is not allowed to do this. `detail` says why."},

	{"not_found", http.StatusNotFound, "Not found", "The resource does not exist, or it belongs to another account or mode."},
	{"shipment_not_found", http.StatusNotFound, "Shipment not found", "There is no such shipment, or it belongs to another account or mode."},
	{"batch_not_found", http.StatusNotFound, "Batch not found", "There is no such batch, or it belongs to another account or mode, or it is past its retention."},
	{"tracker_not_found", http.StatusNotFound, "Tracker not found", "There is no such tracker, or it belongs to another account or mode."},
	{"tracking_not_found", http.StatusNotFound, "Tracking number not found", "No shipment or tracker in the account has this number. Start tracking it with `POST /v1/trackers`."},

	{"proof_not_available", http.StatusNotFound, "No proof of delivery", "The parcel is not delivered yet, its carrier does not offer proofs of delivery or has none of it, or the personal data of the shipment was erased. `detail` says which."},
	{"document_not_found", http.StatusNotFound, "Document not found", "There is no such document of the shipment that is sent to a carrier. Documents that are only kept have no review to resolve."},
	{"pickup_not_found", http.StatusNotFound, "Pickup not found", "There is no such pickup, or it belongs to another account or mode."},
	{"return_request_not_found", http.StatusNotFound, "Return request not found", "There is no such return request, or it belongs to another account or mode."},
	{"manifest_not_found", http.StatusNotFound, "Manifest not found", "There is no such manifest, or it belongs to another account or mode."},
	{"location_not_found", http.StatusNotFound, "Location not found", "There is no such location, or it belongs to another account or mode."},
	{"export_not_found", http.StatusNotFound, "Export not found", "There is no such export in this account and mode."},
	{"erasure_not_found", http.StatusNotFound, "Erasure not found", "There is no such erasure in this account and mode."},
	{"webhook_not_found", http.StatusNotFound, "Webhook not found", "There is no such webhook, or it belongs to another account or mode."},
	{"event_not_found", http.StatusNotFound, "Event not found", "The event does not exist, is older than the retention period, or no enabled webhook subscribes to it."},

	{"draft_not_found", http.StatusNotFound, "No draft", "There are no unpublished routing rules. Save a draft with `PUT /v1/routing/draft`."},
	{"version_not_found", http.StatusNotFound, "Version not found", "There is no such version of the routing rules, or it belongs to another account or mode."},
	{"rate_sheet_not_found", http.StatusNotFound, "Rate sheet not found", "There is no such rate sheet, or it belongs to another account or mode."},

	{"method_not_allowed", http.StatusMethodNotAllowed, "Method not allowed", "This path does not support the method. The `Allow` header lists the methods that it does support."},

	{"idempotency_in_progress", http.StatusConflict, "Request still running", "A request with the same `Idempotency-Key` has not finished. Wait for the number of seconds in `Retry-After` and send it again."},
	{"duplicate_order", http.StatusConflict, "Duplicate order", "A shipment for this `orderId` already exists, and `onDuplicateOrder` is `reject`. Use that shipment, or send `onDuplicateOrder: allow` to ship the order again."},
	{"too_many_documents", http.StatusConflict, "Too many documents", "The shipment has 20 uploaded documents already, or was erased. Join documents into one file to add more."},
	{"return_exists", http.StatusConflict, "Return exists", "The shipment already has a return that is not voided; `returnId` names it. Void it first, or send `again: true` to buy another."},
	{"not_returnable", http.StatusConflict, "Not returnable", "The shipment cannot be returned: its label was voided or not bought, it is a return itself, or its personal data was erased. `detail` says which."},
	{"label_not_ready", http.StatusConflict, "Label not ready", "The purchase has not finished. Wait for the number of seconds in `Retry-After` and try again."},
	{"format_unavailable", http.StatusConflict, "Format unavailable", "The label cannot be rendered faithfully in this format, size or resolution. `detail` says what is available."},
	{"label_quarantined", http.StatusConflict, "Label held back", "The carrier's label is damaged or contains something that could harm a printer or a viewer, so it is not served. Void the shipment and buy it again, or get the label directly from the carrier."},
	{"void_not_supported", http.StatusConflict, "Void not supported", "The carrier does not support voiding labels of this kind. Carriers usually do not charge a label that is never used."},
	{"ability_unconfirmed", http.StatusConflict, "Ability not confirmed", "The carrier account is new, and no public source documents how the carrier answers this request. Nothing was sent. Confirm the account with `waybill connection certify`."},
	{"void_refused", http.StatusConflict, "Void refused", "The carrier refused to void the label, or the parcel is already moving. `detail` has its reason; ask the carrier for a refund."},
	{"webhook_limit", http.StatusConflict, "Too many webhooks", "The account has reached the limit of 20 webhooks in this mode. Delete one first."},
	{"location_exists", http.StatusConflict, "Location exists", "The account has a location with this name already. Choose another name."},
	{"location_limit", http.StatusConflict, "Too many locations", "The account has reached the limit of 200 locations in this mode. Delete one first."},
	{"draft_changed", http.StatusConflict, "Draft changed", "The draft of the routing rules changed while it was being published. Read it with `GET /v1/routing` and publish again."},
	{"rules_changed", http.StatusConflict, "Rules changed", "Other routing rules were published after the draft was saved. Read them with `GET /v1/routing` and save the draft again."},
	{"rate_sheet_overlap", http.StatusConflict, "Rate sheets overlap", "Another rate sheet prices the same carrier account. Remove it, or import under its name."},
	{"pickup_exists", http.StatusConflict, "Pickup exists", "The carrier has a pickup at this address on this day that was not booked here. Use it, or cancel it with the carrier."},
	{"pickup_not_supported", http.StatusConflict, "Pickup not supported", "The carrier does not offer pickup booking over its API. Book the pickup with the carrier."},
	{"pickup_not_confirmed", http.StatusConflict, "Pickup not confirmed", "The carrier has not confirmed the pickup yet. Wait for the number of seconds in `Retry-After` and try again."},
	{"cancel_not_supported", http.StatusConflict, "Cancellation not supported", "The carrier does not cancel pickups over its API, or the number of the pickup is not known. Call the carrier."},
	{"not_in_review", http.StatusConflict, "Not in review", "Only a pickup or manifest whose `status` is `needs_review` can be resolved. Read it again: the carrier may have answered, or somebody else has resolved it."},
	{"cancel_refused", http.StatusConflict, "Cancellation refused", "The carrier did not cancel the pickup. `detail` has its reason."},
	{"manifest_in_progress", http.StatusConflict, "Manifest in progress", "Another manifest of the carrier account and day is being closed. Wait for the number of seconds in `Retry-After` and try again."},
	{"manifest_not_ready", http.StatusConflict, "Manifest not ready", "The carrier has not answered yet, so there is nothing to print. Read the manifest again later."},
	{"labels_already_manifested", http.StatusConflict, "Labels already manifested", "The carrier has these labels on a manifest that was not made here. Leave them out."},
	{"return_request_decided", http.StatusConflict, "Return request decided", "The return request is not in a status that allows this: its label is being bought or was sent, or it was denied already."},
	{"cannot_advance", http.StatusConflict, "Cannot advance", "The test shipment has no further step: it is delivered, or it has no label."},
	{"export_not_ready", http.StatusConflict, "Export not ready", "The file is still being made. Try again after `Retry-After`."},
	{"conflict", http.StatusConflict, "Conflict", "The resource is not in a state that allows this. `detail` says why; read the resource again."},
	{"unsupported", http.StatusConflict, "Not supported", "The carrier does not support this. `detail` says what it does not support; choose another carrier or leave it out."},

	{"credentials_unreadable", http.StatusConflict, "Credentials unreadable", "The credentials of the carrier connection cannot be decrypted. The operator of the service can find the cause with \"waybill connection check\"."},
	{"secret_key_required", http.StatusConflict, "Secret key required", "Live carrier credentials need an encryption key that is not in the database. The operator sets `SECRET_KEY`, `SECRET_KEY_FILE` or `SECRET_KMS`."},
	{"key_unavailable", http.StatusServiceUnavailable, "Key unavailable", "The key that protects the carrier credentials cannot be reached now. Try again later."},
	{"export_expired", http.StatusGone, "Export expired", "The file was deleted. Request another export."},
	{"label_erased", http.StatusGone, "Label erased", "The label was erased with the personal data of the shipment, or is past its retention."},
	{"label_voided", http.StatusGone, "Label voided", "The label was voided and may not be used."},
	{"cursor_expired", http.StatusGone, "Cursor expired", "The log no longer reaches back to this cursor. Start again without `after`."},
	{"gone", http.StatusGone, "Gone", "The resource existed and was permanently removed."},

	{"body_too_large", http.StatusRequestEntityTooLarge, "Body too large", "The body is larger than 256 KiB, than 6 MiB for a rate sheet, or than 16 MiB for a batch. `detail` has the limit. Send less in one request."},
	{"unsupported_media_type", http.StatusUnsupportedMediaType, "Unsupported media type", "Send JSON with `Content-Type: application/json`; a batch may also be `application/x-ndjson`."},

	{"validation_failed", http.StatusUnprocessableEntity, "Validation failed", "`errors` lists each invalid field or parameter with its own code."},
	{"idempotency_key_reused", http.StatusUnprocessableEntity, "Idempotency key reused", "The `Idempotency-Key` was already used for a different request. If that one bought a shipment, `shipmentId` names it and `errors` lists what differs. Repeat the first request to get its response."},
	{"carrier_rejected", http.StatusUnprocessableEntity, "Carrier rejected", "Every carrier that the request allows declined it. `errors` lists the fields that each carrier objected to; `carrierCode` and `carrierMessage` are those of the last carrier."},
	{"rate_mismatch", http.StatusUnprocessableEntity, "Rate mismatch", "The `rateId` was quoted for another shipment, or `carrier`, `service`, `connectionId`, `deliverBy` or `maxAmount` contradicts it; `errors` points to the fields. Nothing was bought. Quote again with the same addresses, parcels and options, or omit what contradicts the rate."},
	{"currency_mismatch", http.StatusUnprocessableEntity, "Currency mismatch", "`maxAmount` is in a different currency from the offers, and amounts are not converted. Nothing was bought. Give the limit in the currency named in `detail`."},
	{"rate_expired", http.StatusUnprocessableEntity, "Rate expired", "Rates can be bought for 24 hours. Quote again."},
	{"address_invalid", http.StatusUnprocessableEntity, "Address not valid", "The shipment requires a valid destination, and the carriers do not confirm it. The response contains the verdict and, where there are any, the candidates."},
	{"approval_denied", http.StatusUnprocessableEntity, "Approval denied", "A person denied the purchase in the dashboard, so nothing was bought. Choose a cheaper service, or ask them before you send it again with a new `Idempotency-Key`."},
	{"approval_expired", http.StatusUnprocessableEntity, "Approval expired", "Nobody approved the purchase in time, so nothing was bought. Send the request again with a new `Idempotency-Key` to ask again."},
	{"price_changed", http.StatusUnprocessableEntity, "Price changed", "The carrier charged more than was quoted or allowed, so the label was voided. The response contains both prices."},
	{"pickup_too_late", http.StatusUnprocessableEntity, "Too late for this pickup", "The carrier cannot collect in this window. `nextWindow` is the next possible one, if the carrier says it."},
	{"nothing_to_manifest", http.StatusUnprocessableEntity, "Nothing to hand over", "No label is left: all are on a manifest, voided, or already with the carrier. `excluded` says why shipments that were named are left out."},
	{"manifest_covers_day", http.StatusUnprocessableEntity, "Manifest covers the day", "The carrier closes all labels of a day, and the request would leave some out; `missing` lists them. Leave out `shipmentIds` and `address`, or void what is not sent."},
	{"origin_required", http.StatusUnprocessableEntity, "Origin required", "Send `origin`, or set a default location or a sender address for the account. In live mode the sample address of the demo account is none."},
	{"unknown_location", http.StatusUnprocessableEntity, "Unknown location", "The account has no location with the `locationId`. `GET /v1/locations` lists them."},
	{"connection_not_at_location", http.StatusUnprocessableEntity, "Connection not at location", "The location that the parcel leaves from is limited to other carrier accounts. Name one of its `connections`, or change the location."},
	{"no_carrier", http.StatusUnprocessableEntity, "No carrier", "None of the account's carriers can carry this shipment. Connect a carrier in this mode, or allow more `carriers` in the request."},
	{"no_rate", http.StatusUnprocessableEntity, "No rate", "No carrier offers what was requested at that price and by that date. `errors` points to the limit and gives the cheapest price or the earliest date."},
	{"unknown_carrier", http.StatusUnprocessableEntity, "Unknown carrier", "The carrier is not known. `GET /v1/carriers` lists the available carriers."},
	{"carrier_ambiguous", http.StatusUnprocessableEntity, "Carrier ambiguous", "The tracking number matches several carriers. Send `carrier`."},
	{"invalid_rate_sheet", http.StatusUnprocessableEntity, "Invalid rate sheet", "The CSV of the rate sheet has errors. `errors` lists them by line and column, each with its own code."},
	{"invalid_cursor", http.StatusUnprocessableEntity, "Invalid cursor", "The cursor is not valid. Send the `nextCursor` of an earlier response."},

	{"rate_limited", http.StatusTooManyRequests, "Too many requests", "The key has exceeded its rate limit. Wait for the number of seconds in `Retry-After`."},
	{"tracker_limit", http.StatusTooManyRequests, "Too many trackers", "The key has reached its daily limit of new trackers. Wait for the number of seconds in `Retry-After`, or use another key."},
	{"storage_quota_reached", http.StatusTooManyRequests, "Storage quota reached", "The account has stored as much as it can in a day, in files, batches and objects under `/v2`; test mode has far less than live mode. Wait for the number of seconds in `Retry-After`, or ask the operator for a larger quota."},

	{"internal_error", http.StatusInternalServerError, "Internal error", "Something failed inside the service. If it happens again, report the request id."},

	{"labels_preparing", http.StatusServiceUnavailable, "Labels are being prepared", "A file of many labels takes longer to render than a request may, so it is prepared in the background: `labelsReady` of `labelsTotal` labels are ready. Send the same request again after the number of seconds in `Retry-After`. The client libraries wait by themselves."},
	{"restore_pending", http.StatusServiceUnavailable, "Restore pending", "The database was restored from a backup, and it is not known whether purchases of this account were made before. Nothing was bought. Send the request again under the same `Idempotency-Key` after the number of seconds in `Retry-After`: a purchase that was made is answered with its label. An operator decides about the others."},
	{"carrier_unavailable", http.StatusServiceUnavailable, "Carrier unavailable", "The carrier did not answer, and nothing was bought. Send the same request again with the same `Idempotency-Key`."},
	{"service_unavailable", http.StatusServiceUnavailable, "Service unavailable", "The service is temporarily unavailable, or is busy with as many files, back-tests and labels as fit into its memory. Wait for the number of seconds in `Retry-After` and send the same request again."},
	{"timeout", http.StatusServiceUnavailable, "Timeout", "The request took longer than 30 seconds. Send it again with the same `Idempotency-Key`."},
	{"outcome_unknown", http.StatusServiceUnavailable, "Outcome unknown", "The operation may have succeeded. Check before you repeat it, or send it again with the same `Idempotency-Key`."},
}

// FieldCodes lists the codes of single fields and parameters, with their
// meaning.
var FieldCodes = [][2]string{
	{"required", "The field is missing or empty."},
	{"unknown_field", "There is no such field; `suggestion` is the nearest known name."},
	{"unknown_parameter", "There is no such parameter; `suggestion` is the nearest known name."},
	{"repeated_parameter", "The parameter may be given only once."},
	{"wrong_type", "The value has the wrong JSON type."},
	{"too_short", "The text is too short."},
	{"too_long", "The text is too long."},
	{"too_small", "The number is too small."},
	{"too_large", "The number is too large."},
	{"too_early", "No offer arrives by that date."},
	{"carrier_rejected", "The carrier declined the shipment without naming a field; `detail` has its message."},
	{"unprintable", "The text contains characters that cannot be printed on a label."},
	{"state_mismatch", "The state and the postal code do not match; `suggestion` is the state of the postal code."},
	{"idempotency_key_reused", "The value is not that of the shipment that was bought under the `Idempotency-Key`."},
	{"rate_mismatch", "The value contradicts the rate of `rateId`."},
	{"currency_mismatch", "The amount is in a different currency from the offers."},
	{"too_few", "The list has too few items."},
	{"too_many", "The list or object has too many items."},
	{"not_allowed", "The value is not one of the allowed values."},
	{"invalid", "The value is not valid; `detail` says why."},
	{"invalid_format", "The text does not have the expected format; `detail` has an example."},
	{"invalid_text", "The text contains control characters, text direction marks or invalid UTF-8."},
	{"destination_not_allowed", "The URL does not lead to a public internet address, or the operator does not allow it."},
	{"exclusive", "Only one of the named fields may be given."},
	{"unsupported", "The carrier cannot do what the field asks for; `detail` says why."},
	{"unknown_country", "The country must be a two-letter ISO 3166-1 code, such as DE."},
	{"unknown_state", "The country has no such state."},
	{"unknown_carrier", "The account has no such carrier."},
	{"unknown_connection", "The account has no such connection."},
	{"unknown_location", "The account has no such location."},
	{"connection_not_at_location", "The location that the parcel leaves from does not use this carrier account."},
	{"unknown_service", "The carrier has no such service."},
	{"unknown_packaging", "The carrier has no such packaging."},
	{"invalid_zip", "The postal code is not valid in the country."},
	{"invalid_phone", "The phone number is not valid."},
	{"invalid_email", "The e-mail address is not valid."},
	{"invalid_condition", "The condition of a rule is not valid; `detail` gives the column, and `suggestion` the likely correction."},
	{"duplicate", "The value appears more than once."},
	{"unknown", "In a rate sheet: the section, column, setting or word is not known."},
	{"missing", "In a rate sheet: something required, or probably intended, is missing."},
	{"overlap", "In a rate sheet: two rows contradict each other."},
	{"ambiguous", "In a rate sheet: the number or date is ambiguous."},
	{"unreachable", "In a rate sheet: the row is never used."},
	{"falling", "In a rate sheet: a heavier parcel costs less than a lighter one."},
	{"short", "In a rate sheet: the postal code is shorter than the others."},
	{"quotes", "In a rate sheet: a row has unbalanced quotation marks."},
	{"encoding", "The rate sheet is not CSV in UTF-8."},
	{"syntax", "The JSON is not valid at this point."},
	{"duplicate_name", "An object has the same key twice; keys are case-insensitive."},
	{"too_deep", "Values are nested too deeply."},
	{"too_many_members", "An object has too many members."},
	{"too_many_values", "There are too many values."},
	{"trailing_data", "There is data after the JSON value."},
	{"invalid_utf8", "A string is not valid UTF-8."},
	{"lone_surrogate", "A string contains an unpaired surrogate."},
	{"nul_character", "A string contains the character U+0000."},
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
