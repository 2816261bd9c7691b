package royalmail

import "encoding/json"

// The messages of Click & Drop and of the Tracking API: only the fields that are
// used.

// What an order is made of.
type (
	ordersRequest struct {
		Items []orderRequest `json:"items"`
	}
	orderRequest struct {
		OrderReference       string           `json:"orderReference"`
		IsRecipientABusiness *bool            `json:"isRecipientABusiness,omitempty"`
		Recipient            recipient        `json:"recipient"`
		Packages             []packageRequest `json:"packages"`
		OrderDate            string           `json:"orderDate"`
		PlannedDespatchDate  string           `json:"plannedDespatchDate,omitempty"`
		Subtotal             json.Number      `json:"subtotal"`
		ShippingCostCharged  json.Number      `json:"shippingCostCharged"`
		Total                json.Number      `json:"total"`
		Currency             string           `json:"currencyCode"`
		Postage              postageDetails   `json:"postageDetails"`
		Tags                 []tag            `json:"tags,omitempty"`
		Label                labelRequest     `json:"label"`
		Importer             *importerNumbers `json:"importer,omitempty"`
	}
	recipient struct {
		Address address `json:"address"`
		Phone   string  `json:"phoneNumber,omitempty"`
		Email   string  `json:"emailAddress,omitempty"`
	}
	address struct {
		FullName    string `json:"fullName,omitempty"`
		CompanyName string `json:"companyName,omitempty"`
		Line1       string `json:"addressLine1"`
		Line2       string `json:"addressLine2,omitempty"`
		Line3       string `json:"addressLine3,omitempty"`
		City        string `json:"city"`
		County      string `json:"county,omitempty"`
		Postcode    string `json:"postcode,omitempty"`
		CountryCode string `json:"countryCode"`
	}
	packageRequest struct {
		WeightInGrams int64         `json:"weightInGrams"`
		Format        string        `json:"packageFormatIdentifier"`
		Dimensions    *dimensions   `json:"dimensions,omitempty"`
		Contents      []productItem `json:"contents,omitempty"`
	}
	dimensions struct {
		Height int64 `json:"heightInMms"`
		Width  int64 `json:"widthInMms"`
		Depth  int64 `json:"depthInMms"`
	}
	productItem struct {
		Name                string      `json:"name"`
		Quantity            int         `json:"quantity"`
		UnitValue           json.Number `json:"unitValue"`
		UnitWeightInGrams   int64       `json:"unitWeightInGrams"`
		CustomsDescription  string      `json:"customsDescription"`
		ExtendedDescription string      `json:"extendedCustomsDescription,omitempty"`
		CustomsCode         string      `json:"customsCode,omitempty"`
		OriginCountryCode   string      `json:"originCountryCode,omitempty"`
		DeclarationCategory string      `json:"customsDeclarationCategory"`
	}
	postageDetails struct {
		NotifyTo      string `json:"sendNotificationsTo,omitempty"`
		ServiceCode   string `json:"serviceCode"`
		Register      string `json:"serviceRegisterCode,omitempty"` // fact: service-register
		EmailNotice   bool   `json:"receiveEmailNotification,omitempty"`
		SMSNotice     bool   `json:"receiveSmsNotification,omitempty"`
		CarrierName   string `json:"carrierName,omitempty"`
		Signature     bool   `json:"requestSignatureUponDelivery,omitempty"`
		LocalCollect  bool   `json:"isLocalCollect,omitempty"`
		IOSSNumber    string `json:"IOSSNumber,omitempty"`
		InvoiceNumber string `json:"commercialInvoiceNumber,omitempty"`
		RecipientEORI string `json:"recipientEoriNumber,omitempty"`
	}
	tag struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	labelRequest struct {
		IncludeLabel bool `json:"includeLabelInResponse"`
		IncludeCN    bool `json:"includeCN"`
		// A return label beside that of a parcel is never asked for: nobody would
		// know about it.
		IncludeReturnsLabel bool `json:"includeReturnsLabel"`
	}
	importerNumbers struct {
		VATNumber  string `json:"vatNumber,omitempty"`
		TaxCode    string `json:"taxCode,omitempty"`
		EORINumber string `json:"eoriNumber,omitempty"`
	}
)

// What a return is made of. fact: returns-members
type (
	returnRequest struct {
		Service  returnService  `json:"service"`
		Shipment returnShipment `json:"shipment"`
	}
	returnService struct {
		Code     string `json:"serviceCode"`
		Register string `json:"serviceRegisterCode,omitempty"`
	}
	returnShipment struct {
		From      returnAddress   `json:"shippingAddress"`
		To        returnAddress   `json:"returnAddress"`
		Reference returnReference `json:"customerReference"`
	}
	returnReference struct {
		Reference string `json:"reference"`
	}
	returnAddress struct {
		FirstName   string `json:"firstName,omitempty"`
		LastName    string `json:"lastName,omitempty"`
		CompanyName string `json:"companyName,omitempty"`
		Line1       string `json:"addressLine1"`
		Line2       string `json:"addressLine2,omitempty"`
		Line3       string `json:"addressLine3,omitempty"`
		City        string `json:"city"`
		County      string `json:"county,omitempty"`
		Postcode    string `json:"postcode"`
		Country     string `json:"country"`
		CountryCode string `json:"countryIsoCode"` // three letters
	}
	returnAnswer struct {
		Shipment *struct {
			TrackingNumber string `json:"trackingNumber"`
			ItemID         string `json:"uniqueItemId"`
		} `json:"shipment"`
		QRCode []byte `json:"qrCode"` // base64
		Label  []byte `json:"label"`  // base64
	}
)

// What Click & Drop answers.
type (
	createAnswer struct {
		CreatedOrders []createdOrder `json:"createdOrders"`
		FailedOrders  []failedOrder  `json:"failedOrders"`
	}
	createdOrder struct {
		OrderIdentifier int64  `json:"orderIdentifier"`
		OrderReference  string `json:"orderReference"`
		TrackingNumber  string `json:"trackingNumber"`
		Packages        []struct {
			TrackingNumber string `json:"trackingNumber"`
		} `json:"packages"`
		Label       []byte    `json:"label"` // base64
		LabelErrors []problem `json:"labelErrors"`
		Generated   []string  `json:"generatedDocuments"` // in the file of the label
	}
	// A shownOrder is a row of a look-up: an order, or why there is none.
	shownOrder struct {
		createdOrder
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	failedOrder struct {
		Errors []orderError `json:"errors"`
	}
	orderError struct {
		Code    int    `json:"errorCode"`
		Message string `json:"errorMessage"`
		Fields  []struct {
			Name string `json:"fieldName"`
		} `json:"fields"`
	}
	ordersAnswer struct {
		Orders []json.RawMessage `json:"orders"`
	}
	deleteAnswer struct {
		DeletedOrders []deletedOrder `json:"deletedOrders"`
		Errors        []problem      `json:"errors"`
	}
	deletedOrder struct {
		OrderIdentifier int64 `json:"orderIdentifier"`
	}
	manifestRequest struct {
		CarrierName string `json:"carrierName,omitempty"`
	}
	manifestAnswer struct {
		Number   int64  `json:"manifestNumber"`
		Status   string `json:"status"`
		Document []byte `json:"documentPdf"` // base64
	}
)

// problem is an error of either API, in all of its forms.
type problem struct {
	Code        string `json:"code"`
	Message     string `json:"message"`
	Details     string `json:"details"`
	Description string `json:"description"`

	HTTPCode         string `json:"httpCode"`
	HTTPMessage      string `json:"httpMessage"`
	MoreInformation  string `json:"moreInformation"`
	ErrorCode        string `json:"errorCode"`
	ErrorDescription string `json:"errorDescription"`

	Errors []problem `json:"errors"`
}

// What the Tracking API answers.
type (
	eventsAnswer struct {
		MailPieces json.RawMessage `json:"mailPieces"`
	}
	mailPiece struct {
		Number  string `json:"mailPieceId"`
		Summary struct {
			Barcode string `json:"oneDBarcode"`
		} `json:"summary"`
		EstimatedDelivery struct {
			Date string `json:"date"`
			End  string `json:"endOfEstimatedWindow"` // "11:00:00+01:00"
		} `json:"estimatedDelivery"`
		Events []json.RawMessage `json:"events"`
	}
	trackingEvent struct {
		Code         string `json:"eventCode"`
		Name         string `json:"eventName"`
		DateTime     string `json:"eventDateTime"`
		LocationName string `json:"locationName"`
	}
	signatureAnswer struct {
		MailPieces *struct {
			Signature *signature `json:"signature"`
		} `json:"mailPieces"`
		Signature *signature `json:"signature"`
	}
	signature struct {
		Image []byte `json:"image"` // base64
	}
)
