package wire

// Webhook is a webhook endpoint as the API shows it.
type Webhook struct {
	ID          string   `json:"id" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Identifier of the webhook, prefix whe_."`
	URL         string   `json:"url" format:"uri" example:"https://example.com/webhooks" doc:"Where events are sent."`
	Events      []string `json:"events" doc:"The kinds that are sent; * means all."`
	Description string   `json:"description,omitempty" doc:"The client's own note."`
	Enabled     bool     `json:"enabled" doc:"Whether events are sent."`

	DisabledReason string   `json:"disabledReason,omitempty" enum:"client,gone,failing" doc:"Why it is not enabled: switched off by the client, it answered 410, or it has failed for days."`
	Signature      string   `json:"signature" enum:"v1,v1a,both" doc:"How events are signed: v1 with the shared secret (HMAC-SHA256), v1a with a key pair (Ed25519), or both."`
	Secret         string   `json:"secret,omitempty" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA=" doc:"The shared secret. Shown once: when the webhook is created and when its secret is rotated."`
	PublicKey      string   `json:"publicKey,omitempty" example:"whpk_aEjkmDpRkbIDGT5PgEeQIbnrTmOWKzN1zYZKqZpAHjg=" doc:"The public key, where v1a is used."`
	HeaderNames    []string `json:"headerNames" doc:"Names of the custom headers; their values are not shown."`

	PreviousSecretExpiresAt string `json:"previousSecretExpiresAt,omitempty" format:"date-time" doc:"Until when events are also signed with the secret before, after a rotation."`
	Verified                bool   `json:"verified" doc:"Whether it has answered 2xx at this address. Until then events are sent one at a time."`
	Parked                  bool   `json:"parked" doc:"Whether it fails so often that events wait until it answers again."`
	Failures                int    `json:"failures" doc:"Attempts that failed in a row."`
	FailingSince            string `json:"failingSince,omitempty" format:"date-time" doc:"When the first of them was."`
	LastSuccessAt           string `json:"lastSuccessAt,omitempty" format:"date-time" doc:"When it last answered 2xx."`
	Livemode                bool   `json:"livemode" doc:"Whether it is told of live data."`
	CreatedAt               string `json:"createdAt" format:"date-time" doc:"When the webhook was created."`
}

// Delivery is one attempt to send an event to a webhook.
type Delivery struct {
	ID        string            `json:"id" example:"att_01KJMBQDHV00GXF2Z6M1R8VY5C" doc:"Identifier of the attempt, prefix att_."`
	EventID   string            `json:"eventId" example:"evt_01KJMBQDHV00GB3K9T4ZP6YS0R" doc:"The event."`
	Attempt   int               `json:"attempt" minimum:"1" doc:"Counts the attempts for this event."`
	Trigger   string            `json:"trigger" enum:"auto,retry,probe,drain,manual,recover,test" doc:"What made the attempt."`
	Outcome   string            `json:"outcome" enum:"delivered,failed,destination_not_allowed,timeout,dns,connect,tls,connection_closed,protocol,cancelled" doc:"What became of it; delivered means that the webhook answered 2xx."`
	Status    int               `json:"status,omitempty" example:"200" doc:"HTTP status of the answer, if there was one."`
	Error     string            `json:"error,omitempty" doc:"What went wrong, in words."`
	Address   string            `json:"address,omitempty" example:"203.0.113.7" doc:"The address that was connected to."`
	Timings   DeliveryTimings   `json:"timings" doc:"How long it took."`
	Response  *DeliveryResponse `json:"response,omitempty" doc:"The beginning of the answer."`
	Timestamp string            `json:"timestamp" format:"date-time" doc:"When the attempt began."`
}

// DeliveryTimings is how long the parts of an attempt took.
type DeliveryTimings struct {
	DNSMs       int64 `json:"dnsMs" doc:"Looking the name up; 0 over an open connection."`
	ConnectMs   int64 `json:"connectMs" doc:"Connecting; 0 over an open connection."`
	TLSMs       int64 `json:"tlsMs" doc:"Securing the connection; 0 over an open one."`
	FirstByteMs int64 `json:"firstByteMs" doc:"From the start to the first byte of the answer."`
	TotalMs     int64 `json:"totalMs" doc:"The whole attempt."`
}

// DeliveryResponse is the beginning of an answer.
type DeliveryResponse struct {
	Head string `json:"head" doc:"Status line and header, at most 2 KB."`
	Body string `json:"body" doc:"Body, at most 4 KB."`
}
