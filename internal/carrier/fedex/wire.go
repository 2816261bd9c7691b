package fedex

import "encoding/json"

// What both the request for rates and the purchase hold.
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
		Types           []string `json:"specialServiceTypes"`
		SignatureOption string   `json:"signatureOptionType"`
	}
	reference struct {
		Type  string `json:"customerReferenceType"`
		Value string `json:"value"`
	}
	special struct {
		Types  []string      `json:"specialServiceTypes"`
		Return *returnDetail `json:"returnShipmentDetail,omitempty"`
		ETD    *etdDetail    `json:"etdDetail,omitempty"`
	}
	etdDetail struct {
		Requested []string `json:"requestedDocumentTypes"`
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
	shipOrder struct {
		ShipDatestamp      string         `json:"shipDatestamp,omitempty"`
		TotalDeclaredValue *amount        `json:"totalDeclaredValue,omitempty"`
		Shipper            party          `json:"shipper"`
		Recipients         []party        `json:"recipients"`
		PickupType         string         `json:"pickupType"`
		ServiceType        string         `json:"serviceType"`
		PackagingType      string         `json:"packagingType"`
		TotalWeight        json.Number    `json:"totalWeight"`
		TotalPackageCount  int            `json:"totalPackageCount"`
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
