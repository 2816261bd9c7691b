package usps

import "encoding/json"

type trackingRequest struct {
	TrackingNumber string `json:"trackingNumber"`
}

// trackingResult is what USPS reports of one parcel, in the names of both
// generations of its API, or the error that it has instead.
type trackingResult struct {
	TrackingNumber  text            `json:"trackingNumber"`
	TrackingEvents  json.RawMessage `json:"trackingEvents"`
	Error           json.RawMessage `json:"error"`
	Expectation     json.RawMessage `json:"deliveryDateExpectation"`
	PredictedDate   text            `json:"predictedDeliveryDate"`
	PredictedStamp  text            `json:"predictedDeliveryTimeStamp"`
	ExpectedStamp   text            `json:"expectedDeliveryTimeStamp"`
	ExpectedDate    text            `json:"expectedDeliveryDate"`
	GuaranteedStamp text            `json:"guaranteedDeliveryTimeStamp"`
}

type deliveryExpectation struct {
	Predicted  text `json:"predictedDeliveryDate"`
	Expected   text `json:"expectedDeliveryDate"`
	Guaranteed text `json:"guaranteedDeliveryDate"`
}

type trackingEvent struct {
	EventType      text `json:"eventType"`
	EventCode      text `json:"eventCode"`
	EventTimestamp text `json:"eventTimestamp"` // local, whatever offset is written behind it
	GMTTimestamp   text `json:"GMTTimestamp"`
	GMTOffset      text `json:"GMTOffset"`
	EventCity      text `json:"eventCity"`
	EventState     text `json:"eventState"`
	EventCountry   text `json:"eventCountry"`
}

// notification is what USPS pushes. The payload is a tracking result as text.
type notification struct {
	Timestamp text            `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
	Challenge text            `json:"challenge"`
}

type subscriptionRequest struct {
	ListenerURL       string             `json:"listenerURL"`
	Secret            string             `json:"secret"`
	AdminNotification []adminEmail       `json:"adminNotification,omitempty"`
	FilterProperties  subscriptionFilter `json:"filterProperties"`
}

type adminEmail struct {
	Email string `json:"email"`
}

type subscriptionFilter struct {
	MID string `json:"MID"`
}

type subscriptionAnswer struct {
	Status text `json:"status"`
	Secret text `json:"secret"`
}
