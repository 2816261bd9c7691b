package store

// A DataClass says what a column can hold of people, and what becomes of it.
type DataClass string

// The classes of columns.
const (
	DataErased     DataClass = "erased"     // names, addresses, phones, e-mails and what may quote them: an erasure removes it
	DataIdentifier DataClass = "identifier" // numbers, codes and areas of shipments, which stay
	DataHashed     DataClass = "hashed"     // keyed hashes of words; an erasure deletes those of the person
	DataEncrypted  DataClass = "encrypted"  // with a key that is not in the column, until it is no longer needed
	DataAccount    DataClass = "account"    // what the account itself set up
	DataMember     DataClass = "member"     // people who use the dashboard, and what they did
	DataNone       DataClass = "none"       // words and codes of the program
)

// PersonalColumns are columns of a table that hold the same.
type PersonalColumns struct {
	Table   string
	Columns []string
	Class   DataClass
	Note    string
}

// Exported says what an export does with every table that has columns of the class
// DataErased: in which member of the file its rows are, or after "not: " why they are
// not in it.
var Exported = map[string]string{
	"shipments":            "shipments",
	"labels":               "shipments",
	"tracking_events":      "shipments",
	"carrier_exchanges":    "shipments",
	"return_requests":      "returnRequests",
	"batch_rows":           "orderFileLines",
	"compat_objects":       "compatObjects",
	"pickups":              "pickups",
	"shipment_states":      "shipments",
	"label_renderings":     "not: copies of labels that are exported, for a few days",
	"documents":            "not: they are made from the order, which is exported",
	"purchase_attempts":    "not: what carriers objected to an order that is exported",
	"orphaned_labels":      "not: further labels of an order that is exported",
	"bulk_action_rows":     "not: what carriers objected to an order that is exported",
	"document_submissions": "not: what carriers objected to an order that is exported",
	"events":               "not: they show their shipments, which are exported",
	"pushes":               "not: what carriers sent is exported as tracking events",
	"api_requests":         "not: paths and problems of requests, for thirty days",
	"idempotency_keys":     "not: answers that repeat what is exported",
	"webhook_attempts":     "not: answers of the account's own receivers",
}

// PersonalData classifies every column that can hold a text. A test compares it
// with the schema, so a new column must be classified, and another plants a
// canary in each column that is erased and looks for it afterwards.
var PersonalData = []PersonalColumns{
	{"shipments", []string{"request", "purchase"}, DataErased, "order and purchase, rewritten without people"},
	{"shipments", []string{"carrier"}, DataNone, ""},
	{"shipment_states", []string{"metadata"}, DataErased, "notes of the client, as it changed them"},
	{"shipment_states", []string{"uploads"}, DataNone, "types of documents"},
	{"shipment_states", []string{"estimate_source", "carrier", "tracking_number", "reason"}, DataIdentifier, "statuses and numbers"},
	{"labels", []string{"data"}, DataErased, "the row is deleted"},
	{"labels", []string{"format"}, DataNone, ""},
	{"label_renderings", []string{"data"}, DataErased, "a label in another format, for a few days; the row is deleted"},
	{"label_renderings", []string{"format", "size", "error_code", "error_message"}, DataNone, ""},
	{"label_files", []string{"content_key", "format", "size", "state"}, DataNone, ""},
	{"documents", []string{"data"}, DataErased, "the row is deleted"},
	{"documents", []string{"type", "format"}, DataNone, ""},
	{"purchase_attempts", []string{"error_message"}, DataErased, "carriers quote addresses"},
	{"purchase_attempts", []string{"reference", "carrier", "service", "outcome", "error_code"}, DataIdentifier, "references of our own and codes"},
	{"orphaned_labels", []string{"purchase", "message"}, DataErased, "without the texts of carriers"},
	{"orphaned_labels", []string{"carrier", "tracking_number", "found_by", "state"}, DataIdentifier, ""},
	{"missing_purchases", []string{"encrypted_entry"}, DataEncrypted, "the request and the label of a purchase that a restore lost, until it is adopted or voided; of one that is held, for 400 days, without people after an erasure"},
	{"missing_purchases", []string{"key", "carrier", "service", "tracking_number", "currency", "state", "message"}, DataIdentifier, "keys of clients, numbers and states; the row is deleted 400 days after the decision"},
	{"missing_purchases", []string{"decided_by"}, DataMember, ""},
	{"charges", []string{"tracking_number", "kind", "carrier", "currency"}, DataIdentifier, "amounts and numbers"},
	{"lookup_keys", []string{"kind", "value"}, DataIdentifier, "order and tracking numbers, and ids of shipments that are returned"},
	{"tracking_events", []string{"description", "raw"}, DataErased, "carriers name who signed; replaced by plain words"},
	{"tracking_events", []string{"code", "reason", "location"}, DataIdentifier, "codes and places of scans"},
	{"events", []string{"snapshot"}, DataErased, "texts of carriers; the rest of a body is read from the shipment"},
	{"address_checks", []string{"address_hash", "encrypted_check"}, DataEncrypted, "with a key that follows from the address itself; deleted after 30 days"},
	{"address_checks", []string{"carrier"}, DataNone, ""},
	{"search_words", []string{"word_hash"}, DataHashed, "words of names and e-mails"},
	{"shipment_facts", []string{"carrier", "service", "status", "state", "currency", "search_numbers", "reference"}, DataIdentifier, "references, statuses, order and tracking numbers"},
	{"search_numbers", []string{"numbers"}, DataIdentifier, "order and tracking numbers"},
	{"daily_shipment_counts", []string{"carrier", "service", "status", "state", "currency"}, DataNone, ""},
	{"transit_times", []string{"carrier", "service", "origin_area", "destination_area"}, DataNone, "areas"},
	{"batch_rows", []string{"cells", "errors"}, DataErased, "personal fields and columns without a meaning"},
	{"batch_rows", []string{"request"}, DataErased, "what an API client asked for, as a whole"},
	{"batch_rows", []string{"state", "rate", "currency"}, DataNone, ""},
	{"batch_rows", []string{"not_quoted"}, DataNone, "carriers without a rate and codes of reasons"},
	{"bulk_action_rows", []string{"error_message"}, DataErased, "carriers quote addresses"},
	{"bulk_action_rows", []string{"state", "idempotency_key", "error_code"}, DataNone, "keys of our own and codes"},
	{"bulk_actions", []string{"kind", "state", "form_key", "created_by"}, DataAccount, "who started it"},
	{"batches", []string{"name", "created_by", "state", "header", "mapping", "label_format"}, DataAccount, "name and header of a file, and who uploaded it"},
	{"approvals", []string{"status", "price_currency", "decided_by"}, DataAccount, "who decided"},
	{"return_requests", []string{"items", "comment", "email", "denial", "error_message"}, DataErased, "what a recipient wrote, and what was written to them; carriers quote addresses"},
	{"return_requests", []string{"reason", "state", "language", "paid_by", "approval", "error_code"}, DataNone, "one of the account's reasons"},
	{"compat_objects", []string{"body", "reference"}, DataErased, "addresses and shipments of clients of another API; the row is deleted"},
	{"compat_objects", []string{"kind"}, DataNone, ""},
	{"return_rules", []string{"reasons", "paid_by", "approval", "max_amount_currency", "carrier", "service"}, DataAccount, "what recipients may return"},
	{"pushes", []string{"headers", "body"}, DataErased, "the row is deleted"},
	{"carrier_exchanges", []string{"url", "error", "exchange"}, DataErased, "the row is deleted"},
	{"carrier_exchanges", []string{"operation", "method"}, DataNone, ""},
	{"carrier_calls", []string{"operation"}, DataNone, ""},
	{"api_requests", []string{"path", "idempotency_key", "problem"}, DataErased, "where the person is mentioned"},
	{"api_requests", []string{"method", "route", "error_code"}, DataNone, ""},
	{"idempotency_keys", []string{"response_body"}, DataErased, "where the person is mentioned"},
	{"idempotency_keys", []string{"key", "fingerprint", "offer_fingerprint"}, DataIdentifier, "the client's own key, and hashes of its request"},
	{"webhook_attempts", []string{"response_headers", "response_body", "error"}, DataErased, "receivers repeat what they got"},
	{"webhook_attempts", []string{"trigger", "outcome", "remote_address"}, DataNone, "addresses of receivers"},
	{"erasures", []string{"subject_kind", "state", "step", "step_cursor", "counts"}, DataNone, "ids and counts"},
	{"erasures", []string{"subject_hash"}, DataHashed, "who was erased, for comparison"},
	{"erasures", []string{"encrypted_subject"}, DataEncrypted, "until the erasure is done"},
	{"exports", []string{"subject_kind", "state", "counts"}, DataNone, "counts"},
	{"exports", []string{"subject_hash"}, DataHashed, "whose data was exported, for comparison"},
	{"exports", []string{"encrypted_subject", "encrypted_file"}, DataEncrypted, "for seven days at most; an erasure deletes all files of the account"},

	{"pickups", []string{"request", "booking", "error_message"}, DataErased, "a place and its contact, which can be anybody's, and what the carrier confirmed; the area and the number stay"},
	{"pickups", []string{"carrier", "place_hash", "state", "error_code"}, DataNone, "a hash of the place"},
	{"document_submissions", []string{"error_message"}, DataErased, "carriers quote addresses"},
	{"document_submissions", []string{"type", "carrier", "state", "receipt", "error_code"}, DataIdentifier, "types, states and numbers of carriers"},
	{"manifests", []string{"request", "location", "excluded", "error_message"}, DataAccount, "the account's own address; tracking numbers"},
	{"manifests", []string{"carrier", "scope", "state", "number", "idempotency_key", "fingerprint", "error_code"}, DataIdentifier, "numbers of carriers and keys of clients"},
	{"manifest_documents", []string{"data"}, DataAccount, "forms of carriers: the account's own address, counts and numbers"},
	{"manifest_documents", []string{"type", "format"}, DataNone, ""},
	{"accounts", []string{"name", "origin", "weight_unit", "length_unit", "currency", "two_factor_roles"}, DataAccount, "name and default sender"},
	{"account_logos", []string{"image_hash", "image"}, DataAccount, ""},
	{"api_keys", []string{"key_hash", "hint", "name", "scopes", "networks", "daily_limit_currency", "limits_currency", "allowed_countries"}, DataAccount, ""},
	{"boxes", []string{"name", "unit"}, DataAccount, ""},
	{"saved_views", []string{"name", "filter"}, DataAccount, "filters without search words"},
	{"column_mappings", []string{"header_hash", "mapping"}, DataAccount, "a hash of the titles of a file, and fields of ours"},
	{"locations", []string{"name", "address", "contact", "cutoff_times"}, DataAccount, "the account's own places and their contacts"},
	{"connections", []string{"carrier", "name", "wrapped_key", "encrypted_credentials", "public_fields", "check_result", "differences", "confirmed"}, DataAccount, "credentials are encrypted; differences have no values of answers"},
	{"rate_sheets", []string{"name", "carrier", "csv"}, DataAccount, ""},
	{"rule_books", []string{"book", "note"}, DataAccount, ""},
	{"rule_drafts", []string{"book"}, DataAccount, ""},
	{"carrier_plugins", []string{"name", "url", "encrypted_secret", "description"}, DataNone, "what operators registered"},
	{"webhook_endpoints", []string{"url", "event_kinds", "description", "signature_scheme", "encrypted_headers", "encrypted_secret", "encrypted_previous_secret", "disabled_reason"}, DataAccount, ""},

	{"people", []string{"email", "name", "password_hash", "encrypted_totp_seed"}, DataMember, ""},
	{"members", []string{"role", "daily_limit_currency"}, DataMember, ""},
	{"invitations", []string{"token_hash", "email", "role", "invited_by"}, DataMember, ""},
	{"audit_log", []string{"actor", "action", "target", "mode", "details", "remote_address", "user_agent"}, DataMember, "names of recipients are never written here"},
	{"sessions", []string{"token_hash", "method", "remote_address", "user_agent"}, DataMember, ""},
	{"device_sign_ins", []string{"device_hash", "user_code_hash", "client_name", "remote_address", "state", "approved_key"}, DataMember, "deleted when they expire, after 10 minutes"},
	{"passkeys", []string{"id", "name", "credential"}, DataMember, ""},
	{"recovery_codes", []string{"code_hash"}, DataMember, ""},
	{"identities", []string{"issuer", "subject"}, DataMember, ""},
	{"auth_flows", []string{"token_hash", "kind", "data"}, DataMember, ""},
	{"sign_in_throttles", []string{"subject_hash"}, DataMember, ""},

	{"audit_chain", []string{"hash"}, DataNone, "hashes over entries"},
	{"audit_anchors", []string{"hash"}, DataNone, "hashes over entries"},
	{"audit_streams", []string{"name"}, DataNone, "names that the operator chose"},
	{"service_copies", []string{"copy_id", "host"}, DataNone, "names of machines"},
	{"restore_state", []string{"noticed_by", "awaited"}, DataNone, ""},
	{"instance", []string{"cell", "signing_key", "sealed_signing_key"}, DataNone, ""},
	{"partition_rules", []string{"parent", "period", "storage", "drop_group"}, DataNone, ""},
	{"shipment_sweeps", []string{"relation"}, DataNone, "names of tables"},
	{"shards", []string{"cell", "moving_to"}, DataNone, ""},
	{"cells", []string{"name", "url"}, DataNone, "names that the operator chose"},
	{"cell_state", []string{"owned_shards"}, DataNone, "a bit for each shard"},
	{"shard_markers", []string{"marker"}, DataNone, ""},
	{"shard_moves", []string{"source", "target", "state", "last_error"}, DataNone, "names of cells; errors of the database"},
	{"webhook_slots", []string{"worker"}, DataNone, ""},
	{"webhook_workers", []string{"worker"}, DataNone, ""},
	{"river_job", []string{"args", "attempted_by", "errors", "kind", "metadata", "queue", "tags", "unique_key"}, DataNone, "ids; errors of the program"},
	{"river_leader", []string{"leader_id", "name"}, DataNone, ""},
	{"river_migration", []string{"line"}, DataNone, ""},
	{"river_notification", []string{"payload", "topic"}, DataNone, ""},
	{"river_queue", []string{"name", "metadata"}, DataNone, ""},
}
