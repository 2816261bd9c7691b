package fedex

import (
	"encoding/json"
	"errors"
)

// The tracking answers and pushes of FedEx. Every part is decoded on its own:
// one of an unexpected shape does not affect the others.
type (
	trackRequest struct {
		Detailed bool        `json:"includeDetailedScans"`
		Info     []trackInfo `json:"trackingInfo"`
	}
	trackInfo struct {
		Number trackNumber `json:"trackingNumberInfo"`
	}
	trackNumber struct {
		TrackingNumber string `json:"trackingNumber"`
	}

	trackAnswer struct {
		Output struct {
			Results []completeResult `json:"completeTrackResults"`
			Errors  []fault          `json:"cxsErrors"`
		} `json:"output"`
	}
	completeResult struct {
		TrackingNumber string          `json:"trackingNumber"`
		Histories      []parcelHistory `json:"trackResults"`
	}
	// A parcelHistory is what became of one parcel. FedEx reuses tracking
	// numbers, so one number may have several.
	parcelHistory struct {
		Number     trackNumber       `json:"trackingNumberInfo"`
		Additional json.RawMessage   `json:"additionalTrackingInfo"`
		Latest     json.RawMessage   `json:"latestStatusDetail"`
		Scans      []json.RawMessage `json:"scanEvents"`
		Dates      []historyDate     `json:"dateAndTimes"`
		Estimated  timeWindow        `json:"estimatedDeliveryTimeWindow"`
		Standard   timeWindow        `json:"standardTransitTimeWindow"`
		Error      fault             `json:"error"`
	}
	scanEvent struct {
		Date          string    `json:"date"`
		Type          string    `json:"eventType"`
		Description   string    `json:"eventDescription"`
		Derived       string    `json:"derivedStatusCode"`
		DerivedText   string    `json:"derivedStatus"`
		Exception     string    `json:"exceptionCode"`
		ExceptionText string    `json:"exceptionDescription"`
		Place         scanPlace `json:"scanLocation"`
		Delay         struct {
			Type string `json:"type"`
		} `json:"delayDetail"`

		isReturned bool // the parcel went back to its sender
	}
	latestStatus struct {
		Code        string    `json:"code"`
		Description string    `json:"description"`
		Place       scanPlace `json:"scanLocation"`
	}
	scanPlace struct {
		City    string `json:"city"`
		State   string `json:"stateOrProvinceCode"`
		Country string `json:"countryCode"`
	}
	historyDate struct {
		Type string `json:"type"`
		At   string `json:"dateTime"`
	}
	timeWindow struct {
		Window struct {
			Ends string `json:"ends"`
		} `json:"window"`
	}
)

// decodeLeniently decodes as much of the data as has the documented shape, and
// reports whether it is JSON at all.
func decodeLeniently(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, isTypeError := errors.AsType[*json.UnmarshalTypeError](err) // the rest of it is read
	return err == nil || isTypeError
}
