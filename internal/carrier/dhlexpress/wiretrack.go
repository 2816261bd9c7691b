package dhlexpress

import (
	"encoding/json"
	"errors"
)

// The tracking answer of DHL. Every part is decoded on its own: one of an
// unexpected shape does not affect the others.
type (
	historyAnswer struct {
		Shipments []json.RawMessage `json:"shipments"`
	}
	shipmentHistory struct {
		Number         loose             `json:"shipmentTrackingNumber"`
		Events         []json.RawMessage `json:"events"`
		NumberOfPieces loose             `json:"numberOfPieces"`
		Pieces         []pieceHistory    `json:"pieces"`
		Estimated      string            `json:"estimatedDeliveryDate"`
		Receiver       struct {
			Address struct {
				Province string `json:"provinceCode"`
				Country  string `json:"countryCode"`
			} `json:"postalAddress"`
		} `json:"receiverDetails"`
	}
	pieceHistory struct {
		Number loose             `json:"trackingNumber"`
		Events []json.RawMessage `json:"events"`
	}
	checkpoint struct {
		Date        string `json:"date"`
		Time        string `json:"time"`
		GMTOffset   string `json:"GMTOffset"`
		TypeCode    string `json:"typeCode"`
		Description string `json:"description"`
		Areas       []struct {
			Description string `json:"description"`
		} `json:"serviceArea"`
	}
)

// loose is a text or a number; anything else counts as absent.
type loose string

// UnmarshalJSON reads either spelling.
func (l *loose) UnmarshalJSON(data []byte) error {
	var t text
	if t.UnmarshalJSON(data) == nil {
		*l = loose(t)
	}
	return nil
}

// decodeLeniently decodes as much of the data as has the documented shape, and
// reports whether it is JSON at all.
func decodeLeniently(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, isTypeError := errors.AsType[*json.UnmarshalTypeError](err) // the rest of it is read
	return err == nil || isTypeError
}
