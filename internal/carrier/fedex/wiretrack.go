package fedex

import (
	"encoding/json"
	"errors"
)

// What FedEx tells of parcels, asked or by itself. Every part is read alone:
// one that is odd does not cost the others.
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
		TrackingNumber string        `json:"trackingNumber"`
		Stories        []parcelStory `json:"trackResults"`
	}
	// A parcelStory is what became of one parcel. FedEx uses numbers again, so
	// one number may have several.
	parcelStory struct {
		Number    trackNumber       `json:"trackingNumberInfo"`
		Latest    json.RawMessage   `json:"latestStatusDetail"`
		Scans     []json.RawMessage `json:"scanEvents"`
		Dates     []storyDate       `json:"dateAndTimes"`
		Estimated timeWindow        `json:"estimatedDeliveryTimeWindow"`
		Standard  timeWindow        `json:"standardTransitTimeWindow"`
		Error     fault             `json:"error"`
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
	storyDate struct {
		Type string `json:"type"`
		At   string `json:"dateTime"`
	}
	timeWindow struct {
		Window struct {
			Ends string `json:"ends"`
		} `json:"window"`
	}
)

// readSome reads as much of data as has the shape that FedEx promises, and
// reports whether it is JSON at all.
func readSome(data []byte, into any) bool {
	err := json.Unmarshal(data, into)
	_, odd := errors.AsType[*json.UnmarshalTypeError](err) // the rest of it is read
	return err == nil || odd
}
