package api

// abouts describe the operations in the document, in Markdown of the plainest
// kind: paragraphs and code.
var abouts = map[string]string{
	"quoteRates": "Requests quotes from all carriers of the account in parallel. A carrier that fails is listed in `errors` and does not affect the others; the response is an error only if all of them fail.\n\n" +
		"Carriers that take longer than `timeoutMs` are left out, and `partial` is true. Quoting stores nothing; a rate can be bought for 24 hours.",
	"createShipment": "Assigns a carrier, buys the label and returns the shipment. Without `carrier`, `service`, `connectionId` or `rateId` the account's routing rules choose the carrier; if there are none, the cheapest offer is bought. `routing` explains the choice.\n\n" +
		"Send an `Idempotency-Key`: a repeat with the same key and body returns the same response and buys nothing. Unknown fields are rejected, because this call spends money.\n\n" +
		"`status` in this response is always `created`. If the carrier has not responded within 20 seconds, the response is 202 and `trackingNumber` is omitted until there is one.",
	"validateAddress": "Checks whether parcels reach an address. The account's carriers are asked that can, the one that checks the country's addresses most precisely first; their answers are kept for 30 days. Without one, built-in rules answer: the format, the state against the postal code, post office boxes and military addresses.\n\n" +
		"A name is not needed, and nothing about the person is sent to a carrier.",
	"listShipments":  "Lists shipments, newest first. A shipment must match all filters.",
	"getShipment":    "Returns the current state of a shipment.",
	"changeShipment": "Replaces the metadata of a shipment; nothing else of a shipment can be changed. Reading it, lists, duplicates and exports of personal data show the new metadata. Events and responses that are repeated under their `Idempotency-Key` show that of the creation. The metadata of a shipment whose personal data was erased cannot be changed (409).",
	"createReturn": "Buys a label that brings the parcels of a shipment back: from its destination to its origin, as the carrier's own return service where there is one. Everything that applies to `POST /v1/shipments` applies here, too.\n\n" +
		"By default the return has the parcels, order number, reference, metadata and declared goods of the shipment; extra services and third-party billing are not carried over. A shipment has one return: while that is open or has a label, another request answers 409 `return_exists`, unless it has `again: true`.",
	"getProofOfDelivery": "Fetches the proof that the parcel was delivered from its carrier: a PDF, or a picture of the signature. It is fetched anew for each request and not stored, because it shows a person's name and signature. A carrier may take some hours after the delivery to make it.",
	"listServicePoints":  "Asks the account's carriers that can for places where parcels are handed in or collected, near a postal code or city. All are asked in parallel; a carrier that fails is listed in `errors` and does not affect the others. Nothing is stored.",
	"estimateLandedCost": "Asks the account's carriers that can what customs will charge for a shipment: duties, taxes and fees, by item where the carrier gives them by item. The body is that of a shipment; of the destination, country and postal code are enough. The estimates are not combined, and amounts are not added up, because they can be in several currencies. Nothing is bought or stored.",
	"duplicateShipment":  "Returns a request body for `POST /v1/shipments` that ships the same order again, with addresses, parcels, customs and options filled in and dates omitted. Edit it as needed and send it. Nothing is bought.",
	"voidShipment":       "Asks the carrier to void the label. `status` stays as it is; `labelStatus` shows the outcome.",
	"makeLabel":          "Renders the label in another format, size or resolution and returns its URL. Labels are rendered on this server from the carrier's original.",
	"linkLabel":          "Creates a signed link to one format of a label, for a printer or a person without an API key. The link expires, and stops working if the label is voided.",
	"uploadDocument":     "Adds a file to the documents of a bought shipment, such as a certificate of origin or an invoice of your own: a PDF, PNG or JPEG file of at most 10 MiB, in base64. A shipment can have 20 of them. They are listed in `documents` after those of the carrier, are returned by the URL there, and are kept and erased with the label. A document that customs need is sent to the carrier in the background, if the carrier takes such documents after the purchase and the shipment has a customs declaration whose `paperless` is not `off`: `submission` says how far it is. It is sent once: if the answer is lost and the carrier cannot be asked, it needs review.",
	"resolveDocument":    "Ends the review of an uploaded document with what a person learned from the carrier. `received` makes its `submission` `received`; `not_received` makes it `failed`, and the document can be uploaded again. The carrier is not called, and the audit log has who resolved it. A document that does not need review answers 409 `not_in_review`.",
	"getDocument":        "Returns one of the additional documents of a shipment, such as a commercial invoice. This is the URL in `documents`.",
	"getPackingSlip":     "Returns the packing slip of a shipment as a PDF: both addresses, the order number, the carrier and the declared goods with their quantities, with the logo of the account. It has no prices. Goods are those of `customs.items`; a shipment without them has a slip without a list.",
	"getLabel":           "Returns the label. This is the URL in `labelUrl` and `labels`.",
	"createBatch": "Buys up to 10,000 shipments with one request of up to 16 MiB. The body is either JSON, `{\"shipments\": [...]}`, or newline-delimited JSON (`Content-Type: application/x-ndjson`) with one shipment a line; each is a body of `POST /v1/shipments`, of up to 256 KiB, and has the same meaning here, with the same limits of the key.\n\n" +
		"The response is 202 as soon as the batch is stored, and its lines are bought in the background: poll the batch until `status` is `done`. A line that is invalid or that no carrier sells fails by itself, and the others are bought. A body that is not JSON is refused as a whole, with the number of the line, and nothing is bought.\n\n" +
		"Send an `Idempotency-Key`: a repeat with the same key and content returns the same batch and buys nothing. With a live key and without an `Idempotency-Key`, the same content is the same batch for a day. If the API key is revoked or expires, lines that were not bought yet fail.",
	"listBatches":             "Lists batches, newest first: those of the API and the files of the dashboard.",
	"getBatch":                "Returns a batch with the number of its lines by status, and a page of the lines.",
	"getBatchLabelsPdf":       "Returns the labels of the lines that are bought as one PDF, a page a label, in the order of the lines. A file has at most 500 labels; `part` selects the next 500. `X-Labels-Excluded` is the number of labels that are damaged or cannot be part of the file: fetch those one by one. Voided labels are left out.",
	"getBatchLabelsZpl":       "Returns the labels of the lines that are bought as one ZPL file, as with PDF.",
	"track":                   "Returns the status and the timeline of a parcel, newest event first. The response is served from stored data and never waits for a carrier.",
	"recognizeTrackingNumber": "Names the carriers that a tracking number may belong to, by its format and check digits, the likeliest first. It is a guess from the number alone: no carrier is asked, and nothing is stored. A number that no carrier recognizes may still be valid.",
	"follow":                  "Tracks a parcel whose label was not bought here. Its events have `data.tracker` instead of `data.shipment`.",
	"listTrackers":            "Lists trackers, newest first, without their timelines: `events` is empty here.",
	"unfollow":                "Stops tracking a parcel. Recorded events stay in the log.",
	"listEvents": "Lists all events of the last 30 days, oldest first, whether or not a webhook received them. Page through the log with `after`: a cursor never skips an event.\n\n" +
		"Each entry is exactly the body that is sent to webhooks.",
	"createWebhook": "Creates a webhook: from now on, events of the chosen types are sent to its URL as `POST` requests, with the body that `GET /v1/events` shows. An account can have 20 webhooks in each mode.\n\n" +
		"Each request is signed according to the Standard Webhooks specification, in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. The secret is returned only in this response.\n\n" +
		"A delivery succeeds if the webhook answers 2xx within 10 seconds. Redirects are not followed. Events can arrive more than once and out of order: use `webhook-id` to detect duplicates and `sequence` to order them.",
	"listWebhooks":        "Lists all webhooks of the account in the key's mode.",
	"getWebhook":          "Returns a webhook and its delivery status, without its secret.",
	"changeWebhook":       "Updates the given fields and leaves the rest unchanged. Events for a disabled webhook wait and are sent when it is enabled again. A new URL starts unverified, and stored header values are not sent to it: give `headers` again.",
	"deleteWebhook":       "Deletes a webhook. Events that are waiting for it are no longer sent; they stay in the log.",
	"rotateWebhookSecret": "Gives a webhook a new secret and a new key pair. For 24 hours, events are also signed with the old ones, so receivers can switch without losing events.",
	"testWebhook":         "Sends one test event, marked with `test: true`, immediately and returns the result. Limited to one per second.",
	"listDeliveries":      "Lists the delivery attempts of the last 30 days for a webhook, with its responses.",
	"recoverWebhook": "Resends every event since a given time that the webhook has not answered with 2xx, in log order, and continues from there. A parked or disabled webhook is enabled again.\n\n" +
		"Events are kept for 30 days; `since` cannot be earlier than that.",
	"redeliverEvent": "Resends one event with the same id and body, even to a webhook that already answered it with 2xx. If delivery fails, it is retried like any other.",
	"createErasure": "Erases the personal data of somebody in the key's account and mode: of the person with an e-mail address or a phone number, or of the people in one shipment. Names, companies, streets, phone numbers, e-mail addresses, tax numbers, metadata, labels and documents are removed from shipments, scans of trackers, files of orders, events, logs and exchanges with carriers. Amounts, tracking numbers, statuses, scans, cities, postal codes and countries are kept.\n\n" +
		"The work is done in the background: poll the erasure until `status` is `done`. It cannot be undone. A purchase that is not settled yet is erased as soon as it is; until then `status` is `waiting`.",
	"createExport":    "Makes a file with what the account holds about the person with an e-mail address or a phone number: shipments with their addresses, tracking events, labels and exchanges with carriers, trackers that mention the person, and lines of order files. The work is done in the background: poll the export until `status` is `done`, then download `fileUrl`. The file is encrypted at rest, and deleted after seven days or by an erasure.",
	"getExport":       "Returns an export and where its file is.",
	"listExports":     "Lists the exports of the account, newest first.",
	"getExportFile":   "Returns the file of an export, as JSON.",
	"getRetention":    "Returns for how long the account keeps personal data and labels, in both modes. What is left out is kept for as long as the installation keeps it.",
	"changeRetention": "Chooses for how long the account keeps personal data and labels, in both modes; what is left out is kept for as long as the installation keeps it. Shipments that are older are erased within minutes, as with `POST /v1/erasures`, and this cannot be undone. It requires a live key.",
	"getErasure":      "Returns an erasure, with its status and what was erased.",
	"listErasures":    "Lists the erasures of the account, newest first.",
	"bookPickup": "Asks a carrier to collect parcels. A carrier account has one pickup at an address on a day: asked for again, the same pickup is returned with 200, whatever window the request names; cancel it to book another.\n\n" +
		"A window that the carrier cannot keep is 422 `pickup_too_late`, with the next possible one in `nextWindow` if the carrier says it. Some carriers charge for pickups: see `price`.\n\n" +
		"If the carrier does not answer, the response is 202 with `status: pending` and the outcome is looked up. Where a carrier can neither be asked nor safely be asked again, `status` is `needs_review`: ask it before you book again.",
	"listPickups":   "Lists the pickups of the account, newest first.",
	"getPickup":     "Returns a pickup.",
	"cancelPickup":  "Cancels a pickup with the carrier. Cancelling twice is the same as once. A pickup with `status: needs_review` is given up without asking the carrier, so that another one can be booked.",
	"resolvePickup": "Ends the review of a pickup with what a person learned from the carrier. `booked` makes it `scheduled`, with the carrier's number as `confirmation`; `not_booked` makes it `failed`, and another one can be booked. The carrier is not called, and the audit log has who resolved it. A pickup that does not need review answers 409 `not_in_review`.",
	"closeManifest": "Hands labels over to a carrier on one form, so that the driver scans one code instead of each parcel. By default, the manifest has everything of the last seven days that is labelled, on no manifest and not with the carrier yet. A shipment is on one manifest at most.\n\n" +
		"Carriers that need no manifest get a hand-over sheet for the driver's signature, with the number of parcels, their weights and tracking numbers. A carrier that closes a whole day answers 422 `manifest_covers_day` to `shipmentIds` that leave out a label of the day.",
	"listManifests":   "Lists the manifests of the account, newest first, without their shipments and documents.",
	"getManifest":     "Returns a manifest with its shipments and documents.",
	"resolveManifest": "Ends the review of a manifest with what a person learned from the carrier. `not_closed` makes it `failed`, and its labels can go on another manifest. The carrier is not called, and the audit log has who resolved it. A manifest that does not need review answers 409 `not_in_review`.",
	"getManifestPdf":  "Returns a document of a manifest: the carrier's form, or the hand-over sheet. This is the URL in `documents`.",
	"createLocation": "Creates a place that the account ships from, with the people, the cut-off times and the carrier accounts of that place. Requests then name it instead of an address: `\"origin\": {\"locationId\": \"loc_...\"}`.\n\n" +
		"The address is copied to what is bought, so a location can change at any time. With `connections`, only these carrier accounts are quoted and used for parcels that leave from here. Live and test mode have separate locations.",
	"listLocations":  "Lists all locations of the account in the key's mode, by name.",
	"getLocation":    "Returns a location.",
	"changeLocation": "Updates the given fields and leaves the rest unchanged. Shipments, pickups and manifests that exist keep the address that they were made with.",
	"deleteLocation": "Deletes a location. What was sent from it keeps its address and `locationId`. If it was the default, requests without an origin use the account's sender address again.",
	"getReturnRule":  "Returns what the account allows recipients who want to send a parcel back. Live and test mode have separate rules.",
	"changeReturnRule": "Replaces the rule. While it is enabled, the tracking page of a delivered parcel has a form on which the recipient asks for a return. Requests that exist keep the terms that they were made under.\n\n" +
		"With `approval: automatic`, labels are bought as soon as recipients ask. They count against the daily limit of the key that saved the rule.",
	"listReturnRequests":   "Lists the returns that recipients asked for, newest first.",
	"getReturnRequest":     "Returns a return request.",
	"approveReturnRequest": "Approves a return request, also one that was denied or has failed. The label is bought in the background as a return of the shipment, once for each approval, and its link is mailed to the recipient. It counts against the daily limit of the key.",
	"denyReturnRequest":    "Denies a return request. The recipient reads the reason on the tracking page.",
	"listRequests":         "Lists the requests that were made with the API keys of the account, in the key's mode, oldest first, without their bodies. Poll with the last `nextCursor` to follow the log. A request is in the log about a second after it was answered, at the time at which it began: one that took long can appear before a cursor that you already have. Requests for this list are left out.",
	"listCarriers":         "Lists the carriers with their services, packaging and capabilities. A test key sees the simulated carriers.",
	"getRouting": "Returns the rules that choose the carrier if the client names none: the active rules and the draft. Live and test mode have separate rules.\n\n" +
		"A rule is a condition and an action. Conditions are written in CEL over typed variables: `parcel.weightKg > 20 && destination.country == \"US\"`. The first rule that matches and finds an offer decides; `routing` of each shipment shows what was chosen, what was excluded and why.",
	"saveRoutingDraft":    "Saves rules as the draft, replacing the previous one. The rules are validated completely: an invalid condition is rejected with its column and, where possible, a suggested correction. The draft has no effect until it is published.",
	"dropRoutingDraft":    "Deletes the draft, if there is one. The published rules stay active.",
	"publishRouting":      "Makes the draft active from the next purchase on: immediately in this instance, and within two seconds in other instances of the service. If other rules were published after the draft was saved, the response is 409 `rules_changed`; read them and save the draft again.",
	"rollBackRouting":     "Publishes the rules of an earlier version again, as a new version. The draft is kept.",
	"listRoutingVersions": "Lists the published versions, newest first, without their rules.",
	"getRoutingVersion":   "Returns a version as it was published.",
	"tryRouting": "Quotes a shipment and applies rules to the offers: the active rules, the draft, or rules in `book`. Returns the choice, what would be tried after it, and why. Nothing is bought or stored.\n\n" +
		"If the rules would buy nothing, the response is still 200 and `refused` says why. If no carrier makes an offer, it is an error, as with `POST /v1/rates`.",
	"simulateRouting": "Applies rules to past shipments, using the offers stored with each of them, and returns what would have changed and what it would have saved or cost: in total, by carrier and by area. Without a body, the draft is applied to the newest 1000 shipments. Nothing is bought, and no carrier is called.\n\n" +
		"`notes` explains the limits of the figures. An account can run one simulation at a time.",
	"listRoutingVariables": "Lists the variables that conditions can use, each with its type and an example, for use in editors. Names, streets, phone numbers and e-mail addresses are not available to conditions.",
	"importRateSheet": "Validates a rate sheet and activates it, replacing the one with the same name: from now on, prices for the carrier account come from the sheet instead of the carrier. Its offers have `source: sheet`.\n\n" +
		"A sheet is one CSV text of sections: `[sheet]` with currency and units, `[services]`, `[zones]`, `[rates]`, and where needed `[surcharges]`, `[fuel]` and others. Errors are listed line by line. A request can have up to 6 MiB, and a sheet up to 4 MB, 50,000 rows and 100,000 prices.",
	"listRateSheets":  "Lists the active rate sheets by name, without their text.",
	"getRateSheet":    "Returns a rate sheet with its text; `version` selects an earlier version, even of a sheet that was removed.",
	"removeRateSheet": "Removes a rate sheet: prices come from its carrier again. Its versions are kept.",
	"advanceShipment": "Moves a sandbox parcel forward by one step or to a given status, as if the carrier had scanned it, with the same events and webhooks.",
}

// introduction opens the document.
const introduction = "One API for many shipping carriers: rates, labels, tracking and events have the same format whichever carrier is used.\n\n" +
	"Every request carries `Authorization: Bearer <key>`. A key that begins with `sk_live_` buys real labels with your own carrier accounts; one that begins with `sk_test_` works in the sandbox, where simulated carriers issue sample labels free of charge.\n\n" +
	"Bodies are JSON in UTF-8, times are ISO 8601 in UTC, money is a decimal string with its currency. Clients must ignore fields and event types that they do not know.\n\n" +
	"Every POST accepts an `Idempotency-Key`: repeating a request with the same key and body returns the original response, marked `Idempotent-Replayed: true`, and does not perform the operation again.\n\n" +
	"Errors are `application/problem+json` (RFC 9457) with a stable `code`; every response has a `Request-Id`."

// tags group the operations, in the order of the workflow.
var tags = [][2]string{
	{"Rates", "Prices and delivery times of each carrier."},
	{"Addresses", "Checks of addresses before a parcel is sent."},
	{"Shipments", "Labels bought for orders."},
	{"Return requests", "Returns that recipients ask for."},
	{"Labels", "Labels as PDF, ZPL and PNG."},
	{"Batches", "Many shipments with one request."},
	{"Pickups", "Drivers that collect parcels."},
	{"Manifests", "Labels that are handed over together."},
	{"Locations", "Places that parcels are sent from."},
	{"Service points", "Places where parcels are handed in or collected."},
	{"Tracking", "Status and timeline of parcels."},
	{"Events", "Log of everything that changed."},
	{"Webhooks", "Endpoints that receive events."},
	{"Requests", "Log of the requests to this API."},
	{"Carriers", "Available carriers, services and packaging."},
	{"Routing", "Rules that choose the carrier."},
	{"Privacy", "Erasing and exporting personal data."},
	{"Rate sheets", "Contract prices, imported as CSV."},
	{"Sandbox", "Simulate the progress of test shipments."},
}

// headers describe the headers of answers.
var headers = map[string]string{
	"Request-Id":          "Identifier of the request; include it when you report a problem.",
	"RateLimit":           "What remains of the key's rate limit.",
	"RateLimit-Policy":    "The key's rate limit.",
	"Data-As-Of":          "Only while the database has no primary: the response was read from a standby, whose last transaction is from this time (RFC 3339). Later changes are missing.",
	"Retry-After":         "Seconds to wait before retrying.",
	"ETag":                "Version tag, for If-None-Match.",
	"Cache-Control":       "`no-store`: browsers and proxies must not keep the response. You can still keep a copy and check it with its `ETag`.",
	"Content-Disposition": "Name of the file.",
	"Location":            "Path of the resource.",
	"Idempotent-Replayed": "true if this is the stored response to an earlier request with the same Idempotency-Key.",
	"WWW-Authenticate":    "Always Bearer.",
	"X-Labels":            "Number of labels in the file.",
	"X-Labels-Excluded":   "Number of labels that cannot be part of the file.",
}
