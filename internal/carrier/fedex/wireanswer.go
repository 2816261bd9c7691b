package fedex

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The answer with rates.
type (
	rateAnswer struct {
		Output *struct {
			Details []rateDetail `json:"rateReplyDetails"`
		} `json:"output"`
	}
	rateDetail struct {
		ServiceType string          `json:"serviceType"`
		Rated       []ratedShipment `json:"ratedShipmentDetails"`
		Operational operational     `json:"operationalDetail"`
		Commit      struct {
			DateDetail struct {
				DayFormat string `json:"dayFormat"`
			} `json:"dateDetail"`
			TransitDays struct {
				Minimum string `json:"minimumTransitTime"`
			} `json:"transitDays"`
			DaysInTransit string `json:"daysInTransit"`
		} `json:"commit"`
	}
	ratedShipment struct {
		RateType        string      `json:"rateType"`
		TotalBaseCharge json.Number `json:"totalBaseCharge"`
		TotalDiscounts  json.Number `json:"totalDiscounts"`
		TotalNetCharge  json.Number `json:"totalNetCharge"`
		Currency        string      `json:"currency"`
		Detail          rateItems   `json:"shipmentRateDetail"`
	}
	rateItems struct {
		Currency      string      `json:"currency"`
		Surcharges    []rateItem  `json:"surCharges"`
		Taxes         []rateItem  `json:"taxes"`
		Discount      json.Number `json:"totalFreightDiscount"`
		BillingWeight struct {
			Units string      `json:"units"`
			Value json.Number `json:"value"`
		} `json:"totalBillingWeight"`
	}
	rateItem struct {
		Type   string      `json:"type"`
		Amount json.Number `json:"amount"`
	}
	operational struct {
		CommitDate            string `json:"commitDate"`
		DeliveryDate          string `json:"deliveryDate"`
		PublishedDeliveryTime string `json:"publishedDeliveryTime"`
		TransitTime           string `json:"transitTime"`
		NotGuaranteed         bool   `json:"ineligibleForMoneyBackGuarantee"`
	}
)

// The answer to a purchase.
type (
	shipAnswer struct {
		CustomerTransactionID string `json:"customerTransactionId"`
		Output                struct {
			Shipments []soldShipment `json:"transactionShipments"`
			Alerts    []alert        `json:"alerts"`
		} `json:"output"`
	}
	soldShipment struct {
		MasterTrackingNumber string      `json:"masterTrackingNumber"`
		ServiceType          string      `json:"serviceType"`
		Alerts               []alert     `json:"alerts"`
		Documents            []document  `json:"shipmentDocuments"`
		Pieces               []soldPiece `json:"pieceResponses"`
		Completed            struct {
			Operational operational   `json:"operationalDetail"`
			Rating      rating        `json:"shipmentRating"`
			ETD         *completedETD `json:"completedEtdDetail"`
		} `json:"completedShipmentDetail"`
	}
	completedETD struct {
		FolderID  string            `json:"folderId"`
		Type      string            `json:"type"`
		Documents []json.RawMessage `json:"uploadDocumentReferenceDetails"`
	}
	soldPiece struct {
		TrackingNumber string      `json:"trackingNumber"`
		SequenceNumber int         `json:"packageSequenceNumber"`
		References     []reference `json:"customerReferences"`
		Documents      []document  `json:"packageDocuments"`
	}
	document struct {
		ContentType  string `json:"contentType"`
		DocType      string `json:"docType"`
		EncodedLabel []byte `json:"encodedLabel"` // base64
	}
	rating struct {
		ActualRateType string          `json:"actualRateType"`
		Details        []ratedShipment `json:"shipmentRateDetails"`
	}
	alert struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
)

// isVirtual reports whether the answer is a recorded one.
func (a *shipAnswer) isVirtual() bool {
	alerts := slices.Clone(a.Output.Alerts)
	for _, sold := range a.Output.Shipments {
		alerts = append(alerts, sold.Alerts...)
	}
	return slices.ContainsFunc(alerts, func(a alert) bool { return a.Code == virtualResponse })
}

// The cancellation.
type (
	cancelRequest struct {
		AccountNumber   account `json:"accountNumber"`
		TrackingNumber  string  `json:"trackingNumber"`
		DeletionControl string  `json:"deletionControl"`
	}
	cancelAnswer struct {
		Output struct {
			Cancelled *bool   `json:"cancelledShipment"`
			Message   string  `json:"message"`
			Alerts    []alert `json:"alerts"`
		} `json:"output"`
	}
)

// The look-up.
type (
	findRequest struct {
		Detailed   bool            `json:"includeDetailedScans"`
		References referenceSearch `json:"referencesInformation"`
	}
	referenceSearch struct {
		Type          string `json:"type"`
		Value         string `json:"value"`
		AccountNumber string `json:"accountNumber"`
		DateBegin     string `json:"shipDateBegin"`
		// FedEx describes the one name and shows the other in its examples.
		DateEnd     string `json:"shipDateEnd"`
		DateEndDate string `json:"shipDateEndDate"`
	}
	findAnswer struct {
		Output *struct {
			Errors  []fault `json:"cxsErrors"`
			Results []struct {
				TrackResults []trackResult `json:"trackResults"`
			} `json:"completeTrackResults"`
		} `json:"output"`
	}
	trackResult struct {
		Number struct {
			TrackingNumber string `json:"trackingNumber"`
		} `json:"trackingNumberInfo"`
		Additional struct {
			Identifiers []identifier `json:"packageIdentifiers"`
		} `json:"additionalTrackingInfo"`
		Package struct {
			SequenceNumber string `json:"sequenceNumber"`
		} `json:"packageDetails"`
		Service struct {
			Type string `json:"type"`
		} `json:"serviceDetail"`
		Latest struct {
			Code string `json:"code"`
		} `json:"latestStatusDetail"`
		Error *fault `json:"error"`
	}
	identifier struct {
		Type   string `json:"type"`
		Value  texts  `json:"value"`
		Values texts  `json:"values"`
	}
	fault struct {
		Code       string      `json:"code"`
		Message    string      `json:"message"`
		Parameters []parameter `json:"parameterList"`
	}
	parameter struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
)

// texts is one text or a list of them: FedEx sends both.
type texts []string

// UnmarshalJSON is json.Unmarshaler.
func (t *texts) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte{'['}) {
		return json.Unmarshal(data, (*[]string)(t))
	}

	var one string
	err := json.Unmarshal(data, &one)
	*t = texts{one}
	return err
}
