package api

// abouts describe the operations in the document, in Markdown of the plainest
// kind: paragraphs and code.
var abouts = map[string]string{
	"quoteRates": "Asks all carriers of the account at once. One carrier's failure never loses another's quote: it is listed in `errors`, and only when all fail the answer is an error.\n\n" +
		"Slow carriers are not waited for longer than `timeoutMs`; then `partial` is true. Quoting writes nothing; a rate can be bought for 24 hours.",
	"createShipment": "Assigns a carrier, buys the label and returns the shipment. Without `carrier`, `service`, `connectionId` or `rateId` the account's routing rules choose, and where there are none the cheapest offer is bought; `routing` says why.\n\n" +
		"Send an `Idempotency-Key`: a repeat with the same key and body returns the same answer and buys nothing. An unknown field is refused, because money is spent on this call.\n\n" +
		"`status` in this answer is always `created`. If the carrier has not answered within 20 seconds the answer is 202 and `trackingNumber` is left out until there is one.",
	"listShipments":     "Lists shipments, newest first. All filters must fit.",
	"getShipment":       "Shows a shipment as it is now.",
	"duplicateShipment": "Answers with a body for `POST /v1/shipments` that ships the same order again: addresses, parcels, customs and options filled in, the days left out. Change what differs and send it. Nothing is bought.",
	"voidShipment":      "Asks the carrier to void the label. `status` stays as it is; `labelStatus` shows the outcome.",
	"makeLabel":         "Renders the label in another format, size or resolution and returns its address. Renderings are derived on this server from what the carrier sent.",
	"linkLabel":         "Makes a signed link to one format of a label, for a printer or a person without an API key. It ends by itself, and with a void.",
	"getDocument":       "Returns one of the further papers of a shipment, such as a commercial invoice. This is the address in `documents`.",
	"getLabel":          "Returns the label. This is the address in `labelUrl` and `labels`.",
	"track":             "Shows the status and the timeline of a parcel, newest first. It is answered from what is known and never waits for a carrier.",
	"follow":            "Follows a parcel that was not bought here. Its events come with `data.tracker` instead of `data.shipment`.",
	"listTrackers":      "Lists followed parcels, newest first, without their timelines: `events` is empty here.",
	"unfollow":          "Stops following a parcel. Events that were recorded stay in the log.",
	"listEvents": "Reads the log of everything that was told to webhook endpoints, without loss, for 30 days. Follow it with `after`: a cursor never skips an event.\n\n" +
		"Each entry is the very body that is sent to webhook endpoints.",
	"createWebhook": "Makes a webhook: events of the chosen kinds are sent to its address from now on, as `POST` with the body that `GET /v1/events` shows. An account may have 20 in each mode.\n\n" +
		"Each request is signed as the Standard Webhooks specification says, in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. The secret is in this answer and in no other.\n\n" +
		"Success is an answer of 2xx within 10 seconds. Redirects are not followed. An event can arrive twice, and out of order: `webhook-id` and `sequence` tell.",
	"listWebhooks":        "Lists all webhooks of the account in the key's mode.",
	"getWebhook":          "Shows a webhook, without its secret, and how deliveries to it go.",
	"changeWebhook":       "Changes what is given and leaves the rest. A webhook that is switched off keeps what waits for it; switched on again, it is sent from there. A new address starts unverified.",
	"deleteWebhook":       "Deletes a webhook. What waits for it is not sent any more; the events stay in the log.",
	"rotateWebhookSecret": "Gives a webhook a new secret and a new key pair. For 24 hours events are signed with the old one too, so that receivers can change over without a loss.",
	"testWebhook":         "Sends one made-up event, marked with `test: true`, at once, and shows what became of it. At most one a second.",
	"listDeliveries":      "Lists the attempts to tell a webhook of events, with what it answered, for 30 days.",
	"recoverWebhook": "Sends a webhook everything since a time that it has not answered with 2xx, in the order of the log, and goes on from there. A webhook that was parked or disabled is enabled again.\n\n" +
		"Events are kept for 30 days; `since` cannot be longer ago.",
	"redeliverEvent": "Sends one event again, with the same id and the same body, also to a webhook that has answered it with 2xx. If it fails, it is tried again like any other.",
	"listCarriers":   "Lists the carriers with their services, packagings and abilities. A test key sees the simulated carriers.",
	"getRouting": "Shows the rules that choose the carrier where a client names none: those that count now, and the draft. Live and test mode have rules of their own.\n\n" +
		"A rule is a condition and an action. Conditions are written in CEL over typed variables: `parcel.weightKg > 20 && destination.country == \"US\"`. The first rule that matches and finds an offer decides; what it chose, what it dropped and why is in `routing` of each shipment.",
	"saveRoutingDraft":    "Saves rules as the draft, in place of the one before. They are checked whole: a condition that cannot work is refused with its column and, where it can be told, with what was meant. Nothing counts before it is published.",
	"dropRoutingDraft":    "Deletes the draft, if there is one. What is published stays.",
	"publishRouting":      "Makes the draft count, from the next purchase on: here at once, and within two seconds in other copies of the service. If other rules were published since the draft was saved the answer is 409 `rules_changed`; read them and save the draft again.",
	"rollBackRouting":     "Publishes the rules of an earlier version again, as a new version. The draft stays.",
	"listRoutingVersions": "Lists what was published, newest first, without the rules.",
	"getRoutingVersion":   "Shows a version as it was published.",
	"tryRouting": "Asks the carriers for a shipment's prices and lets rules choose: those that count, the draft, or rules in `book`. It answers with the choice, what would be tried after it, and why. Nothing is bought and nothing is written.\n\n" +
		"If the rules would buy nothing the answer is still 200: `refused` says why. If no carrier has an offer it is an error, as with `POST /v1/rates`.",
	"simulateRouting": "Tries rules on shipments of the past, by the offers that were stored with each of them: what would have changed, and what it would have saved or cost, in all, by carrier and by area. Without a body the draft is tried on the newest 1000 shipments. Nothing is bought, and no carrier is asked.\n\n" +
		"`notes` says what limits the meaning of the figures. An account can have one simulation run at a time.",
	"listRoutingVariables": "Lists the variables that conditions can read, with their types and an example of each, so that editors can help. No name, street, phone number or e-mail address is among them.",
	"importRateSheet": "Checks a rate sheet and makes it count, in place of the one of the same name: from now on the carrier account is priced by it instead of by asking the carrier. Its offers say `source: sheet`.\n\n" +
		"A sheet is one CSV text of sections: `[sheet]` with currency and units, `[services]`, `[zones]`, `[rates]`, and where needed `[surcharges]`, `[fuel]` and others. What is wrong is told line by line. A request may have 16 MiB, and a sheet 10 MB.",
	"listRateSheets":  "Lists the rate sheets that count, by name, without their text.",
	"getRateSheet":    "Shows a rate sheet with its text; `version` shows an earlier one, also of a sheet that was removed.",
	"removeRateSheet": "Ends a rate sheet: its carrier is asked for prices again. Its versions are kept.",
	"advanceShipment": "Moves a parcel of the sandbox on by one step or to a status, as if the carrier had scanned it: with the same events and webhooks.",
}

// introduction opens the document.
const introduction = "One interface for many shipping carriers: rates, labels, tracking and events in the same shapes whichever carrier is used.\n\n" +
	"Every request carries `Authorization: Bearer <key>`. A key that begins with `sk_live_` buys real labels with your own carrier accounts; one that begins with `sk_test_` works in the sandbox, where simulated carriers make sample labels for nothing.\n\n" +
	"Bodies are JSON in UTF-8, times are ISO 8601 in UTC, money is a decimal string with its currency. Clients must ignore fields and event kinds that they do not know.\n\n" +
	"Any POST takes an `Idempotency-Key`: the same key with the same body gives the same answer again, marked `Idempotent-Replayed: true`, and does nothing twice.\n\n" +
	"Errors are `application/problem+json` (RFC 9457) with a stable `code`; every answer carries a `Request-Id`."

// tags group the operations, in the order of the workflow.
var tags = [][2]string{
	{"Rates", "What each carrier would charge."},
	{"Shipments", "Labels bought for orders."},
	{"Labels", "Labels as PDF, ZPL and PNG."},
	{"Tracking", "Where parcels are."},
	{"Events", "What changed."},
	{"Webhooks", "Where events are sent."},
	{"Carriers", "Who can carry what."},
	{"Routing", "Rules that choose the carrier."},
	{"Rate sheets", "Prices of contracts, as data."},
	{"Sandbox", "Test shipments on demand."},
}

// headers describe the headers of answers.
var headers = map[string]string{
	"Request-Id":          "Identifier of the request; name it when you report a problem.",
	"RateLimit":           "What is left of the key's limit.",
	"RateLimit-Policy":    "The key's limit.",
	"Retry-After":         "Seconds to wait before the next try.",
	"ETag":                "Tag of this version, for If-None-Match.",
	"Cache-Control":       "Answers may be kept by the client alone and must be checked again.",
	"Content-Disposition": "Name of the file.",
	"Location":            "Path of the resource.",
	"Idempotent-Replayed": "true if the answer was given before to the same Idempotency-Key.",
	"WWW-Authenticate":    "Always Bearer.",
}
