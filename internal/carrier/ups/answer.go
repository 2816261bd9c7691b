package ups

// The answers. They are read leniently: what the driver does not use may be
// anything.

type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	ExpiresIn   text   `json:"expires_in"` // seconds
}

type errorAnswer struct {
	Response struct {
		Errors some[struct {
			Code    text   `json:"code"`
			Message string `json:"message"`
		}] `json:"errors"`
	} `json:"response"`
}

// response is what every answer begins with.
type response struct {
	Alert                some[coded]
	TransactionReference some[reference]
}

// context is the reference that the answer is about; empty if it does not say.
func (r response) context() string {
	if len(r.TransactionReference) == 0 {
		return ""
	}
	return r.TransactionReference[0].CustomerContext
}

type rateAnswer struct {
	RateResponse struct {
		RatedShipment some[ratedShipment]
	}
}

type ratedShipment struct {
	Service               coded
	BillingWeight         answeredWeight
	TransportationCharges money
	ServiceOptionsCharges money
	TotalCharges          money
	ItemizedCharges       some[itemizedCharge]
	RatedPackage          some[ratedPackage]
	NegotiatedRateCharges *negotiated
	GuaranteedDelivery    *struct {
		BusinessDaysInTransit text
	}
	TimeInTransit *struct {
		ServiceSummary struct {
			GuaranteedIndicator *string
			EstimatedArrival    struct {
				Arrival               day
				BusinessDaysInTransit text
			}
		}
	}
}

// negotiated is the account's own price.
type negotiated struct {
	TotalCharge     money
	ItemizedCharges some[itemizedCharge]
}

// ratedPackage is what one parcel adds to a price; its own surcharges stand
// apart from those of the shipment.
type ratedPackage struct {
	ItemizedCharges   some[itemizedCharge]
	NegotiatedCharges *struct {
		ItemizedCharges some[itemizedCharge]
	}
}

type itemizedCharge struct {
	Code          text
	Description   string
	CurrencyCode  string
	MonetaryValue text
}

type answeredWeight struct {
	UnitOfMeasurement coded
	Weight            text
}

type shipAnswer struct {
	ShipmentResponse struct {
		Response        response
		ShipmentResults struct {
			ShipmentCharges struct {
				TotalCharges money
			}
			NegotiatedRateCharges        *negotiated
			ShipmentIdentificationNumber string
			PackageResults               some[packageResult]
			Form                         some[form]
			ControlLogReceipt            some[picture]
		}
	}
}

type packageResult struct {
	TrackingNumber string
	ShippingLabel  picture
}

type picture struct {
	ImageFormat  coded
	GraphicImage string // base64
}

type form struct {
	Image picture
}

type recoveryAnswer struct {
	LabelRecoveryResponse struct {
		Response                     response
		ShipmentIdentificationNumber string
		LabelResults                 some[labelResult]
		Form                         some[form]
		TrackingCandidate            some[trackingCandidate]
	}
}

// trackingCandidate is a parcel that may be the one that is looked for.
type trackingCandidate struct {
	TrackingNumber        string
	DestinationPostalCode string
}

type labelResult struct {
	TrackingNumber string
	LabelImage     struct {
		LabelImageFormat coded
		GraphicImage     string
	}
	Form some[form]
}

type voidAnswer struct {
	VoidShipmentResponse struct {
		SummaryResult struct {
			Status coded
		}
		PackageLevelResults some[packageVoid]
		PackageLevelResult  some[packageVoid] // as real answers spell it
	}
}

type packageVoid struct {
	TrackingNumber string
	Status         coded
}
