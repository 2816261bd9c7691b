package api

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// forGenerators renders the document for programs that generate clients. It
// describes the same interface as the YAML, which is exact and which requests
// are tested against, without what generators turn into bad code: null beside
// absence, either-or bodies, repeated enums, answers without a schema, and
// names that only the server knows.
func (d *document) forGenerators() ([]byte, error) {
	root := clone(d.root).(*object)
	g := generators{root: root, schemas: root.child("components", "schemas")}

	g.dropNull(d.patchSchemas())
	g.dropEitherOr()
	g.dropHeadAndLinks()
	g.dropNotModified()
	g.nameOperations()
	g.nameEnums()
	g.nameSchemas()
	g.addWebhooks()
	walkObjects(root, dropInt64)

	return wire.Marshal(root)
}

// patchSchemas returns the names of the schemas of PATCH bodies, where null and
// absence mean different things. An object inside, such as an address, is
// replaced as a whole and stays as it is elsewhere.
func (d *document) patchSchemas() map[string]bool {
	seen := map[string]bool{}
	d.operations(func(method, _ string, op *object) {
		if body := op.child("requestBody"); method == "PATCH" && body != nil {
			ref := body.child("content", "application/json", "schema").text("$ref")
			seen[strings.TrimPrefix(ref, schemaRef)] = true
		}
	})
	return seen
}

// generators changes a document for generators.
type generators struct {
	root    *object
	schemas *object
}

// dropNull leaves null out of the optional members of requests. The service
// still accepts it.
func (g generators) dropNull(keep map[string]bool) {
	for _, schema := range g.schemas.members {
		if keep[schema.name] {
			continue
		}
		properties := schema.value.(*object).child("properties")
		if properties == nil {
			continue
		}
		required := schema.value.(*object).list("required")
		for i, p := range properties.members {
			// A member that is always there, such as nextCursor, says something by
			// being null.
			if !slices.Contains(required, any(p.name)) {
				properties.members[i].value = withoutNull(p.value.(*object))
			}
		}
	}
}

// withoutNull undoes what nullable did.
func withoutNull(schema *object) *object {
	if choices := schema.list("anyOf"); len(choices) == 2 && choices[1].(*object).text("type") == "null" {
		out := clone(choices[0]).(*object)
		if about := schema.text("description"); about != "" {
			out.set("description", about)
		}
		return out
	}

	if kinds := schema.list("type"); len(kinds) == 2 && kinds[1] == "null" {
		schema.set("type", kinds[0])
	}
	if enum := schema.list("enum"); len(enum) > 0 && enum[len(enum)-1] == nil {
		schema.set("enum", enum[:len(enum)-1])
	}
	return schema
}

// dropEitherOr states in words that exactly one of two members is required:
// generators lose the whole body over a oneOf.
func (g generators) dropEitherOr() {
	for _, m := range g.schemas.members {
		schema := m.value.(*object)
		names, alternative := choicesOf(schema)
		if len(names) == 0 {
			continue
		}

		schema.remove("oneOf")
		rule := "Exactly one of " + strings.Join(names, " and ") + " is required."
		if len(alternative) > 0 {
			rule = "Either " + names[0] + " alone, or " + strings.Join(alternative, ", ") + " are required."
		}
		about := strings.TrimSpace(schema.text("description") + " " + rule)
		schema.set("description", about)
		schema.arrange([]string{"type", "description"})
	}
}

// dropHeadAndLinks removes what becomes no client method: HEAD answers as GET
// does, and links repeat the list of operations.
func (g generators) dropHeadAndLinks() {
	for _, path := range g.root.child("paths").members {
		item := path.value.(*object)
		item.remove("head")

		for _, op := range item.members {
			for _, answer := range op.value.(*object).child("responses").members {
				answer.value.(*object).remove("links")
			}
		}
	}
}

// dropNotModified leaves out 304, which has no body: generators give the whole
// operation the type "anything" for it. The description of If-None-Match still
// mentions it.
func (g generators) dropNotModified() {
	for _, path := range g.root.child("paths").members {
		for _, op := range path.value.(*object).members {
			op.value.(*object).child("responses").remove("304")
		}
	}
}

// An sdkMethod is what an operation is called in a client: a method of a
// resource.
type sdkMethod struct{ id, resource, method string }

// sdkMethods are the operations by their ids in the YAML.
var sdkMethods = map[string]sdkMethod{
	"quoteRates":              {"quoteRates", "rates", "quote"},
	"validateAddress":         {"validateAddress", "addresses", "validate"},
	"createShipment":          {"createShipment", "shipments", "create"},
	"listShipments":           {"listShipments", "shipments", "list"},
	"getShipment":             {"getShipment", "shipments", "get"},
	"changeShipment":          {"updateShipment", "shipments", "update"},
	"voidShipment":            {"voidShipment", "shipments", "void"},
	"duplicateShipment":       {"duplicateShipment", "shipments", "duplicate"},
	"createReturn":            {"createReturn", "shipments", "return"},
	"getProofOfDelivery":      {"getProofOfDelivery", "shipments", "getProofOfDelivery"},
	"listServicePoints":       {"listServicePoints", "servicePoints", "list"},
	"estimateLandedCost":      {"estimateLandedCost", "landedCost", "estimate"},
	"makeLabel":               {"createLabel", "labels", "create"},
	"linkLabel":               {"createLabelLink", "labels", "createLink"},
	"getLabelPdf":             {"getLabelPdf", "labels", "getPdf"},
	"getLabelZpl":             {"getLabelZpl", "labels", "getZpl"},
	"getLabelPng":             {"getLabelPng", "labels", "getPng"},
	"getPackingSlip":          {"getPackingSlip", "labels", "getPackingSlip"},
	"uploadDocument":          {"uploadDocument", "labels", "uploadDocument"},
	"resolveDocument":         {"resolveDocument", "labels", "resolveDocument"},
	"getDocument":             {"getDocument", "labels", "getDocument"},
	"createBatch":             {"createBatch", "batches", "create"},
	"listBatches":             {"listBatches", "batches", "list"},
	"getBatch":                {"getBatch", "batches", "get"},
	"getBatchLabelsPdf":       {"getBatchLabelsPdf", "batches", "getLabelsPdf"},
	"getBatchLabelsZpl":       {"getBatchLabelsZpl", "batches", "getLabelsZpl"},
	"track":                   {"getTracking", "tracking", "get"},
	"recognizeTrackingNumber": {"recognizeTrackingNumber", "tracking", "recognize"},
	"follow":                  {"createTracker", "trackers", "create"},
	"listTrackers":            {"listTrackers", "trackers", "list"},
	"unfollow":                {"deleteTracker", "trackers", "delete"},
	"listEvents":              {"listEvents", "events", "list"},
	"redeliverEvent":          {"redeliverEvent", "events", "redeliver"},
	"createWebhook":           {"createWebhook", "webhooks", "create"},
	"listWebhooks":            {"listWebhooks", "webhooks", "list"},
	"getWebhook":              {"getWebhook", "webhooks", "get"},
	"changeWebhook":           {"updateWebhook", "webhooks", "update"},
	"deleteWebhook":           {"deleteWebhook", "webhooks", "delete"},
	"rotateWebhookSecret":     {"rotateWebhookSecret", "webhooks", "rotateSecret"},
	"testWebhook":             {"testWebhook", "webhooks", "test"},
	"listDeliveries":          {"listWebhookDeliveries", "webhooks", "listDeliveries"},
	"recoverWebhook":          {"recoverWebhook", "webhooks", "recover"},
	"listCarriers":            {"listCarriers", "carriers", "list"},
	"getRouting":              {"getRouting", "routing", "get"},
	"saveRoutingDraft":        {"saveRoutingDraft", "routing", "saveDraft"},
	"dropRoutingDraft":        {"deleteRoutingDraft", "routing", "deleteDraft"},
	"publishRouting":          {"publishRouting", "routing", "publish"},
	"rollBackRouting":         {"rollbackRouting", "routing", "rollback"},
	"listRoutingVersions":     {"listRoutingVersions", "routing", "listVersions"},
	"getRoutingVersion":       {"getRoutingVersion", "routing", "getVersion"},
	"tryRouting":              {"tryRouting", "routing", "try"},
	"simulateRouting":         {"simulateRouting", "routing", "simulate"},
	"listRoutingVariables":    {"listRoutingVariables", "routing", "listVariables"},
	"importRateSheet":         {"importRateSheet", "rateSheets", "import"},
	"listRateSheets":          {"listRateSheets", "rateSheets", "list"},
	"getRateSheet":            {"getRateSheet", "rateSheets", "get"},
	"getRetention":            {"getRetention", "retention", "get"},
	"changeRetention":         {"changeRetention", "retention", "change"},
	"createErasure":           {"createErasure", "erasures", "create"},
	"listErasures":            {"listErasures", "erasures", "list"},
	"getErasure":              {"getErasure", "erasures", "get"},
	"createExport":            {"createExport", "exports", "create"},
	"listExports":             {"listExports", "exports", "list"},
	"getExport":               {"getExport", "exports", "get"},
	"getExportFile":           {"getExportFile", "exports", "getFile"},
	"bookPickup":              {"createPickup", "pickups", "create"},
	"listPickups":             {"listPickups", "pickups", "list"},
	"getPickup":               {"getPickup", "pickups", "get"},
	"cancelPickup":            {"cancelPickup", "pickups", "cancel"},
	"resolvePickup":           {"resolvePickup", "pickups", "resolve"},
	"createLocation":          {"createLocation", "locations", "create"},
	"listLocations":           {"listLocations", "locations", "list"},
	"getLocation":             {"getLocation", "locations", "get"},
	"changeLocation":          {"updateLocation", "locations", "update"},
	"deleteLocation":          {"deleteLocation", "locations", "delete"},
	"closeManifest":           {"createManifest", "manifests", "create"},
	"listManifests":           {"listManifests", "manifests", "list"},
	"getManifest":             {"getManifest", "manifests", "get"},
	"resolveManifest":         {"resolveManifest", "manifests", "resolve"},
	"getManifestPdf":          {"getManifestPdf", "manifests", "getPdf"},
	"getReturnRule":           {"getReturnRule", "returnRule", "get"},
	"changeReturnRule":        {"updateReturnRule", "returnRule", "update"},
	"listReturnRequests":      {"listReturnRequests", "returnRequests", "list"},
	"getReturnRequest":        {"getReturnRequest", "returnRequests", "get"},
	"approveReturnRequest":    {"approveReturnRequest", "returnRequests", "approve"},
	"denyReturnRequest":       {"denyReturnRequest", "returnRequests", "deny"},
	"listRequests":            {"listRequests", "requests", "list"},
	"removeRateSheet":         {"deleteRateSheet", "rateSheets", "delete"},
	"advanceShipment":         {"advanceShipment", "sandbox", "advance"},
}

// nameOperations gives operations the names of client methods, states how lists
// go on, and calls the shipment of a label by the name it has elsewhere.
func (g generators) nameOperations() {
	paths := g.root.child("paths")
	for i, path := range paths.members {
		paths.members[i].name = strings.ReplaceAll(path.name, "{shipment_id}", "{id}")

		for _, m := range path.value.(*object).members {
			op := m.value.(*object)
			if method, ok := sdkMethods[op.text("operationId")]; ok {
				sdk := &object{}
				sdk.set("resource", method.resource)
				sdk.set("method", method.method)
				op.set("operationId", method.id)
				op.set("x-sdk", sdk)
			}

			for _, p := range op.list("parameters") {
				parameter := p.(*object)
				switch parameter.text("name") {
				case "shipment_id":
					parameter.set("name", "id")
				case "cursor", "after":
					pagination := &object{}
					pagination.set("cursor", parameter.text("name"))
					pagination.set("next", "nextCursor")
					items := "data"
					if op.text("operationId") == "getBatch" {
						items = "lines"
					}
					pagination.set("items", items)
					op.set("x-pagination", pagination)
				}
			}
			op.arrange([]string{"operationId", "x-sdk", "x-pagination"})
		}
	}
}

// An enumName is the name of a list of values. The lists of answers are open:
// a client must accept a value that it does not know.
type enumName struct {
	name   string
	values []string
}

var enumNames = []enumName{
	{"ShipmentStatus", stringsOf(ship.Statuses)},
	{"LabelStatus", []string{"pending", "ready", "failed", "needs_review", "voiding", "refund_pending", "voided"}},
	{"ApprovalStatus", []string{"waiting", "approved", "denied", "expired"}},
	{"LabelFormat", []string{"pdf", "zpl", "png"}},
	{"LabelSize", []string{"4x6", "a6", "a4", "letter"}},
	{"LabelResolution", []string{"203", "300"}},
	{"EventType", stringsOf(ship.EventKinds)},
	{"EventSelector", append([]string{"*"}, stringsOf(ship.EventKinds)...)},
	{"Signature", []string{"standard", "indirect", "direct", "adult"}},
	{"RequiredSignature", []string{"standard", "adult"}},
	{"BatteryType", []string{"ion", "metal"}},
	{"BatteryPacking", []string{"in_equipment", "with_equipment", "alone"}},
	{"CODMethod", []string{"any", "cash", "check", "guaranteed_funds"}},
	{"ReturnPayer", []string{ship.PaidByAccount, ship.PaidByRecipient}},
	{"ReturnApproval", []string{ship.ApprovalAutomatic, ship.ApprovalManual}},
	{"RequestedReturnStatus", stringsOf(ship.ReturnStates)},
	{"WebhookSignature", []string{"v1", "v1a", "both"}},
	{"WeightUnit", []string{"lb", "oz", "kg", "g"}},
	{"LengthUnit", []string{"in", "cm", "mm"}},
	{"OfferSource", []string{"carrier", "sheet", "cache"}},
	{"RoutingPreference", []string{"cheapest", "fastest"}},
	{"RuleFallback", []string{"next", "refuse"}},
	{"ContentsType", ship.ContentsTypes},
	{"Incoterm", []string{"EXW", "FCA", "CPT", "CIP", "DAP", "DPU", "DDP"}},
	{"TaxIdentifierType", ship.TaxIdentifierTypes},
	{"TaxParty", ship.TaxParties},
	{"PaperlessTrade", []string{"auto", "off"}},
	{"PartyType", []string{"business", "consumer"}},
	{"BillingType", []string{"sender", "recipient", "third_party"}},
	{"ProductIdentifierType", []string{"merchant", "manufacturer", "gtin", "none"}},
	{"ReturnBilling", []string{"purchase", "scan"}},
	{"ErrorSource", []string{"client", "service", "carrier"}},
	{"BatchStatus", []string{"pending", "working", "done"}},
	{"BatchSource", []string{"api", "file"}},
	{"NotQuotedReason", []string{"rate_limited", "timeout", "unavailable", "circuit_open", "credentials", "missing_field", "refused"}},
}

// stringsOf converts a list to plain strings.
func stringsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = string(value)
	}
	return out
}

// nameEnums replaces lists of values that stand in several places by one
// schema with a name.
func (g generators) nameEnums() {
	used := map[string]*object{}
	walkObjects(g.root, func(schema *object) {
		name := enumNameOf(schema.list("enum"))
		if name == "" {
			return
		}

		if used[name] == nil {
			named := &object{}
			named.set("type", schema.get("type"))
			named.set("enum", schema.get("enum"))
			named.set("x-extensible-enum", true)
			used[name] = named
		}
		schema.remove("type")
		schema.remove("enum")
		schema.remove("format")
		schema.set("$ref", schemaRef+name)
		schema.arrange([]string{"$ref"})
	})

	for name, schema := range used {
		g.schemas.set(name, schema)
	}
	g.sortSchemas()
}

// sortSchemas puts the schemas into the order of their names.
func (g generators) sortSchemas() {
	slices.SortFunc(g.schemas.members, func(a, b property) int { return strings.Compare(a.name, b.name) })
}

// enumNameOf returns the name of the list of values, empty if it has none.
func enumNameOf(values []any) string {
	given := make([]string, len(values))
	for i, value := range values {
		switch value := value.(type) {
		case string:
			given[i] = value
		case json.Number:
			given[i] = value.String()
		}
	}

	for _, enum := range enumNames {
		if slices.Equal(given, enum.values) {
			return enum.name
		}
	}
	return ""
}

// schemaNames are the names of schemas in clients, by the names in the YAML.
// What is not listed keeps its name.
var schemaNames = map[string]string{
	"ActionAnswer":       "RuleAction",
	"ActionRequest":      "RuleActionInput",
	"BatchLineShown":     "BatchLine",
	"BatchShown":         "Batch",
	"NotQuotedShown":     "BatchNotQuoted",
	"CarrierShown":       "Carrier",
	"ChangeShown":        "RuleChange",
	"ConnectionShown":    "Connection",
	"Dropped":            "DroppedOffer",
	"Events":             "EventPage",
	"LoggedRequest":      "RequestLogEntry",
	"LoggedRequests":     "RequestLogPage",
	"Failed":             "FailedAttempt",
	"GuardAnswer":        "RuleGuard",
	"GuardRequest":       "RuleGuardInput",
	"LineError":          "BatchLineError",
	"PageBatchShown":     "BatchPage",
	"PageCarrierShown":   "CarrierPage",
	"PageDelivery":       "DeliveryPage",
	"PageLocation":       "LocationPage",
	"PageManifest":       "ManifestPage",
	"PagePickup":         "PickupPage",
	"PageReturnRequest":  "RequestedReturnPage",
	"PageRuleSummary":    "RuleVersionPage",
	"PageSheetShown":     "RateSheetPage",
	"PageShipment":       "ShipmentPage",
	"PageTrackingResult": "TrackerPage",
	"PageWebhook":        "WebhookPage",
	"Raised":             "RaisedRequirement",
	"ReturnRequest":      "RequestedReturn",
	"ReturnRequestError": "RequestedReturnError",
	"Rates":              "RateList",
	"RequirementAnswer":  "RuleRequirement",
	"RequirementRequest": "RuleRequirementInput",
	"RuleAnswer":         "Rule",
	"RuleBookAnswer":     "RuleBook",
	"RuleBookRequest":    "RuleBookInput",
	"RuleRequest":        "RuleInput",
	"ShareAnswer":        "RuleShare",
	"ShareRequest":       "RuleShareInput",
	"SheetCounts":        "RateSheetCounts",
	"SheetInput":         "RateSheetInput",
	"SheetProblem":       "RateSheetProblem",
	"SheetService":       "RateSheetService",
	"RetentionShown":     "Retention",
	"SheetShown":         "RateSheet",
	"TargetAnswer":       "RuleTarget",
	"TargetRequest":      "RuleTargetInput",
	"Tried":              "RoutingTrial",
	"TryInput":           "RoutingTrialInput",
}

// nameSchemas renames the schemas and all references to them.
func (g generators) nameSchemas() {
	for i, m := range g.schemas.members {
		if name, ok := schemaNames[m.name]; ok {
			g.schemas.members[i].name = name
		}
	}
	g.sortSchemas()

	walkObjects(g.root, func(o *object) {
		name, ok := strings.CutPrefix(o.text("$ref"), schemaRef)
		if renamed := schemaNames[name]; ok && renamed != "" {
			o.set("$ref", schemaRef+renamed)
		}
	})
}

// addWebhooks describes what is sent to webhook endpoints.
func (g generators) addWebhooks() {
	webhooks := &object{}
	for _, kind := range ship.EventKinds {
		schema := &object{}
		schema.set("$ref", schemaRef+"Event")
		media := &object{}
		media.set("schema", schema)
		if kind == ship.ShipmentLabelGenerated {
			media.set("example", eventExample())
		}
		content := &object{}
		content.set("application/json", media)
		body := &object{}
		body.set("required", true)
		body.set("content", content)

		received := &object{}
		received.set("description", "Any 2xx response within 10 seconds means that the event was delivered.")
		responses := &object{}
		responses.set("2XX", received)

		// The security is empty because the service itself sends the request,
		// without an API key.
		post := &object{}
		post.set("operationId", "on"+strings.ReplaceAll(titleWords(string(kind)), " ", ""))
		post.set("summary", "Sent as "+string(kind))
		post.set("description", "Verify the signature (Standard Webhooks) before you use the body. The same event can be sent more than once, with the same id.")
		post.set("security", []any{})
		post.set("requestBody", body)
		post.set("responses", responses)
		item := &object{}
		item.set("post", post)
		webhooks.set(string(kind), item)
	}

	g.root.set("webhooks", webhooks)
	g.root.arrange([]string{"openapi", "info", "servers", "security", "tags", "paths", "webhooks", "components"})
}

// titleWords turns "shipment.picked_up" into "Shipment Picked Up".
func titleWords(kind string) string {
	words := strings.FieldsFunc(kind, func(r rune) bool { return r == '.' || r == '_' })
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, " ")
}

// dropInt64 leaves the size of integers to the client's language: generators
// make big integers of int64, and no number here is that large.
func dropInt64(schema *object) {
	if schema.text("type") == "integer" && schema.text("format") == "int64" {
		schema.remove("format")
	}
}

// walkObjects visits all objects of a tree, except for examples.
func walkObjects(v any, visit func(*object)) {
	switch v := v.(type) {
	case *object:
		visit(v)
		for _, m := range v.members {
			if m.name != "example" && m.name != "examples" {
				walkObjects(m.value, visit)
			}
		}

	case []any:
		for _, element := range v {
			walkObjects(element, visit)
		}
	}
}
