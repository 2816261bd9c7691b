package usps

import (
	"bytes"
	"encoding/json"
	"errors"
)

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

// listOf returns the members of a list, or the one object that stands in its
// place; nil if it is neither.
func listOf(raw json.RawMessage) []json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '{' {
		return []json.RawMessage{raw}
	}

	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// decodeLeniently decodes an object. Members of an unexpected type are left
// out.
func decodeLeniently(raw json.RawMessage, into any) bool {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	err := json.Unmarshal(raw, into)
	_, isTypeError := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || isTypeError
}
