package fedex

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Types that the request for rates and the purchase share.
type (
	account struct {
		Value string `json:"value"`
	}
	weight struct {
		Units string      `json:"units"`
		Value json.Number `json:"value"`
	}
	dimensions struct {
		Length int64  `json:"length"`
		Width  int64  `json:"width"`
		Height int64  `json:"height"`
		Units  string `json:"units"`
	}
	amount struct {
		Amount   json.Number `json:"amount"`
		Currency string      `json:"currency"`
	}
	address struct {
		StreetLines []string `json:"streetLines,omitempty"`
		City        string   `json:"city,omitempty"`
		State       string   `json:"stateOrProvinceCode,omitempty"`
		PostalCode  string   `json:"postalCode"` // present even where a country has none
		CountryCode string   `json:"countryCode"`
		Residential bool     `json:"residential,omitempty"`
	}
	piece struct {
		SequenceNumber     int           `json:"sequenceNumber,omitempty"`
		SubPackagingType   string        `json:"subPackagingType,omitempty"`
		CustomerReferences []reference   `json:"customerReferences,omitempty"`
		DeclaredValue      *amount       `json:"declaredValue,omitempty"`
		Weight             weight        `json:"weight"`
		Dimensions         *dimensions   `json:"dimensions,omitempty"`
		GroupPackageCount  int           `json:"groupPackageCount"` // without it FedEx drops the references
		SpecialServices    *pieceSpecial `json:"packageSpecialServices,omitempty"`
	}
	pieceSpecial struct {
		Types           []string            `json:"specialServiceTypes,omitempty"`
		SignatureOption string              `json:"signatureOptionType,omitempty"`
		DryIceWeight    *weight             `json:"dryIceWeight,omitempty"`
		Alcohol         *alcoholDetail      `json:"alcoholDetail,omitempty"`
		Batteries       []batteryDetail     `json:"batteryDetails,omitempty"`
		Standalone      []standaloneBattery `json:"standaloneBatteryDetails,omitempty"`
		COD             *pieceCOD           `json:"packageCODDetail,omitempty"`
	}
	alcoholDetail struct {
		RecipientType string `json:"alcoholRecipientType"`
	}
	batteryDetail struct {
		Material   string `json:"batteryMaterialType,omitempty"`
		Packing    string `json:"batteryPackingType,omitempty"`
		Regulation string `json:"batteryRegulatoryType,omitempty"`

		// The same in a quote.
		QuotedMaterial   string `json:"material,omitempty"`
		QuotedPacking    string `json:"packing,omitempty"`
		QuotedRegulation string `json:"regulatorySubType,omitempty"`
	}
	standaloneBattery struct {
		Material string `json:"batteryMaterialType"`
	}
	pieceCOD struct {
		Amount *amount `json:"codCollectionAmount"`
	}
	reference struct {
		Type  string `json:"customerReferenceType"`
		Value string `json:"value"`
	}
	special struct {
		Types  []string      `json:"specialServiceTypes"`
		Return *returnDetail `json:"returnShipmentDetail,omitempty"`
		ETD    *etdDetail    `json:"etdDetail,omitempty"`
		Hold   *holdDetail   `json:"holdAtLocationDetail,omitempty"`
		COD    *codDetail    `json:"shipmentCODDetail,omitempty"`
		DryIce *dryIceDetail `json:"shipmentDryIceDetail,omitempty"`
	}
	holdDetail struct {
		LocationID string `json:"locationId"`
	}
	codDetail struct {
		CollectionType string  `json:"codCollectionType"`
		Amount         *amount `json:"codCollectionAmount,omitempty"`
	}
	dryIceDetail struct {
		TotalWeight  weight `json:"totalWeight"`
		PackageCount int    `json:"packageCount"`
	}
	etdDetail struct {
		Requested  []string `json:"requestedDocumentTypes"`
		Attributes []string `json:"attributes,omitempty"`
	}
	returnDetail struct {
		ReturnType string `json:"returnType"`
	}
	economyDetail struct {
		HubID   string `json:"hubId"`
		Indicia string `json:"indicia"`
	}
	payment struct {
		PaymentType string `json:"paymentType"`
		Payor       *payor `json:"payor,omitempty"`
	}
	payor struct {
		ResponsibleParty payingParty `json:"responsibleParty"`
	}
	payingParty struct {
		AccountNumber account `json:"accountNumber"`
	}
	customs struct {
		Invoice       invoice     `json:"commercialInvoice"`
		DutiesPayment payment     `json:"dutiesPayment"`
		Commodities   []commodity `json:"commodities"`
		DocumentOnly  bool        `json:"isDocumentOnly,omitempty"`
		TotalValue    *amount     `json:"totalCustomsValue,omitempty"`

		RecipientID *recipientCustomsID `json:"recipientCustomsId,omitempty"`
		Importer    *party              `json:"importerOfRecord,omitempty"`
	}
	recipientCustomsID struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	}
	invoice struct {
		OriginatorName  string      `json:"originatorName,omitempty"`
		TermsOfSale     string      `json:"termsOfSale,omitempty"`
		ShipmentPurpose string      `json:"shipmentPurpose,omitempty"`
		References      []reference `json:"customerReferences,omitempty"`
	}
	commodity struct {
		Description          string `json:"description"`
		CountryOfManufacture string `json:"countryOfManufacture,omitempty"`
		HarmonizedCode       string `json:"harmonizedCode,omitempty"`
		Quantity             int    `json:"quantity"`
		QuantityUnits        string `json:"quantityUnits"`
		UnitPrice            amount `json:"unitPrice"`
		CustomsValue         amount `json:"customsValue"`
		Weight               weight `json:"weight"`
		Purpose              string `json:"purpose,omitempty"`

		Regulatory []regulatoryDetail `json:"regulatoryDetails,omitempty"`
	}
	regulatoryDetail struct {
		Regulation    string `json:"regulationCode"`
		ProductID     string `json:"productId"`
		ProductIDType string `json:"productIdType"`
	}
)

// The request for rates.
type (
	rateRequest struct {
		AccountNumber     account      `json:"accountNumber"`
		Control           rateControl  `json:"rateRequestControlParameters"`
		RequestedShipment rateShipment `json:"requestedShipment"`
	}
	rateControl struct {
		ReturnTransitTimes bool `json:"returnTransitTimes"`
	}
	rateShipment struct {
		Shipper         rateParty      `json:"shipper"`
		Recipient       rateParty      `json:"recipient"`
		RateRequestType []string       `json:"rateRequestType"`
		ShipDateStamp   string         `json:"shipDateStamp,omitempty"`
		PickupType      string         `json:"pickupType"`
		PackagingType   string         `json:"packagingType,omitempty"`
		Packages        []piece        `json:"requestedPackageLineItems"`
		SpecialServices *special       `json:"shipmentSpecialServices,omitempty"`
		Customs         *customs       `json:"customsClearanceDetail,omitempty"`
		Economy         *economyDetail `json:"smartPostInfoDetail,omitempty"`
	}
	rateParty struct {
		Address address `json:"address"`
	}
)

// The purchase.
type (
	shipRequest struct {
		AccountNumber        account   `json:"accountNumber"`
		LabelResponseOptions string    `json:"labelResponseOptions"`
		ProcessingOptionType string    `json:"processingOptionType"`
		RequestedShipment    shipOrder `json:"requestedShipment"`
	}
	// A rehearsal is a purchase that is checked and not made.
	rehearsalRequest struct {
		AccountNumber     account   `json:"accountNumber"`
		RequestedShipment shipOrder `json:"requestedShipment"`
	}
	rehearsalAnswer struct {
		Output *struct{} `json:"output"`
	}
	shipOrder struct {
		ShipDatestamp      string         `json:"shipDatestamp,omitempty"`
		TotalDeclaredValue *amount        `json:"totalDeclaredValue,omitempty"`
		Shipper            party          `json:"shipper"`
		Recipients         []party        `json:"recipients"`
		PickupType         string         `json:"pickupType"`
		ServiceType        string         `json:"serviceType"`
		PackagingType      string         `json:"packagingType"`
		TotalWeight        json.Number    `json:"totalWeight"`
		TotalPackageCount  int            `json:"totalPackageCount,omitempty"` // not in a rehearsal
		Payment            payment        `json:"shippingChargesPayment"`
		SpecialServices    *special       `json:"shipmentSpecialServices,omitempty"`
		Customs            *customs       `json:"customsClearanceDetail,omitempty"`
		Economy            *economyDetail `json:"smartPostInfoDetail,omitempty"`
		Label              labelSpec      `json:"labelSpecification"`
		Documents          *documentSpec  `json:"shippingDocumentSpecification,omitempty"`
		RateRequestType    []string       `json:"rateRequestType"`
		Packages           []piece        `json:"requestedPackageLineItems"`
	}
	party struct {
		Contact contact `json:"contact"`
		Address address `json:"address"`
		Tins    []tin   `json:"tins,omitempty"`
	}
	contact struct {
		PersonName   string `json:"personName,omitempty"`
		CompanyName  string `json:"companyName,omitempty"`
		PhoneNumber  string `json:"phoneNumber"`
		EmailAddress string `json:"emailAddress,omitempty"`
	}
	tin struct {
		Number string `json:"number"`
		Type   string `json:"tinType"`
		Usage  string `json:"usage,omitempty"`
	}
	labelSpec struct {
		ImageType      string `json:"imageType"`
		LabelStockType string `json:"labelStockType"`
	}
	documentSpec struct {
		Types   []string    `json:"shippingDocumentTypes"`
		Invoice invoiceSpec `json:"commercialInvoiceDetail"`
	}
	invoiceSpec struct {
		Format documentFormat `json:"documentFormat"`
	}
	documentFormat struct {
		StockType string `json:"stockType"`
		DocType   string `json:"docType"`
	}
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
		DateBegin     string `json:"shipDateBegin,omitempty"`
		// FedEx documents one name and uses the other in its examples.
		DateEnd     string `json:"shipDateEnd,omitempty"`
		DateEndDate string `json:"shipDateEndDate,omitempty"`
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
