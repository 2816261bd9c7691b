package wire

// Webhook is a webhook endpoint as the API shows it.
type Webhook struct {
	ID          string   `json:"id" example:"whe_01KJMBQDHV00G9W4T7H2K5NXQD" doc:"Identifier of the webhook, prefix whe_."`
	URL         string   `json:"url" format:"uri" example:"https://example.com/webhooks" doc:"URL to which events are sent."`
	Events      []string `json:"events" doc:"The event types that are sent; * means all."`
	Description string   `json:"description,omitempty" doc:"Description set by the client."`
	Enabled     bool     `json:"enabled" doc:"Whether events are sent."`

	DisabledReason string   `json:"disabledReason,omitempty" enum:"client,gone,failing" doc:"Why it is disabled: by the client (client), because it answered 410 (gone), or because it failed for days (failing)."`
	Signature      string   `json:"signature" enum:"v1,v1a,both" doc:"How events are signed: v1 with the shared secret (HMAC-SHA256), v1a with a key pair (Ed25519), or both."`
	Format         string   `json:"format,omitempty" example:"easypost" doc:"The format of another API in which events are sent and signed, for a webhook that was created under /v2; omitted otherwise."`
	Secret         string   `json:"secret,omitempty" example:"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA=" doc:"The shared secret. Shown once: when the webhook is created and when its secret is rotated."`
	PublicKey      string   `json:"publicKey,omitempty" example:"whpk_aEjkmDpRkbIDGT5PgEeQIbnrTmOWKzN1zYZKqZpAHjg=" doc:"The public key, if v1a is used."`
	HeaderNames    []string `json:"headerNames" doc:"Names of the custom headers; their values are not shown."`

	PreviousSecretExpiresAt string `json:"previousSecretExpiresAt,omitempty" format:"date-time" doc:"Until when events are also signed with the previous secret after a rotation."`
	Verified                bool   `json:"verified" doc:"Whether it has answered 2xx at this URL. Until then events are sent one at a time."`
	Parked                  bool   `json:"parked" doc:"Whether deliveries are paused because it keeps failing; they resume when it answers again."`
	Failures                int    `json:"failures" doc:"Number of consecutive failed attempts."`
	FailingSince            string `json:"failingSince,omitempty" format:"date-time" doc:"When the first of these attempts failed."`
	LastSuccessAt           string `json:"lastSuccessAt,omitempty" format:"date-time" doc:"When it last answered 2xx."`
	Livemode                bool   `json:"livemode" doc:"Whether it receives events of live mode."`
	CreatedAt               string `json:"createdAt" format:"date-time" doc:"When the webhook was created."`
}

// Delivery is one attempt to send an event to a webhook.
type Delivery struct {
	ID        string            `json:"id" example:"att_01KJMBQDHV00GXF2Z6M1R8VY5C" doc:"Identifier of the attempt, prefix att_."`
	EventID   string            `json:"eventId" example:"evt_01KJMBQDHV00GB3K9T4ZP6YS0R" doc:"The event."`
	Attempt   int               `json:"attempt" minimum:"1" doc:"Number of the attempt for this event."`
	Trigger   string            `json:"trigger" enum:"auto,retry,probe,drain,manual,recover,test" doc:"What triggered the attempt."`
	Outcome   string            `json:"outcome" enum:"delivered,failed,destination_not_allowed,timeout,dns,connect,tls,connection_closed,protocol,cancelled" doc:"Result of the attempt; delivered means that the webhook answered 2xx."`
	Status    int               `json:"status,omitempty" example:"200" doc:"HTTP status of the response, if any."`
	Error     string            `json:"error,omitempty" doc:"What went wrong, as text."`
	Address   string            `json:"address,omitempty" example:"203.0.113.7" doc:"The IP address that was connected to."`
	Timings   DeliveryTimings   `json:"timings" doc:"Duration of each phase."`
	Response  *DeliveryResponse `json:"response,omitempty" doc:"The beginning of the response."`
	Timestamp string            `json:"timestamp" format:"date-time" doc:"When the attempt started."`
}

// DeliveryTimings is how long the parts of an attempt took.
type DeliveryTimings struct {
	DNSMs       int64 `json:"dnsMs" doc:"DNS lookup; 0 on a reused connection."`
	ConnectMs   int64 `json:"connectMs" doc:"TCP connection; 0 on a reused connection."`
	TLSMs       int64 `json:"tlsMs" doc:"TLS handshake; 0 on a reused connection."`
	FirstByteMs int64 `json:"firstByteMs" doc:"From the start to the first byte of the response."`
	TotalMs     int64 `json:"totalMs" doc:"The whole attempt."`
}

// DeliveryResponse is the beginning of an answer.
type DeliveryResponse struct {
	Head string `json:"head" doc:"Status line and headers, at most 2 KB."`
	Body string `json:"body" doc:"Body, at most 4 KB."`
}
