package ups

import (
	"bytes"
	"encoding/json"
)

// list is an array, or its only member alone: UPS takes both.
type list[T any] []T

// UnmarshalJSON reads both.
func (l *list[T]) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]T)(l))
	}
	var one T
	err := json.Unmarshal(data, &one)
	*l = list[T]{one}
	return err
}

type code struct {
	Code        string `json:"Code"`
	Description string `json:"Description,omitempty"`
}

type amount struct {
	CurrencyCode  string `json:"CurrencyCode"`
	MonetaryValue string `json:"MonetaryValue"`
}

type head struct {
	RequestOption        string
	SubVersion           string
	TransactionReference struct{ CustomerContext string }
}

type place struct {
	AddressLine                         list[string]
	City, StateProvinceCode, PostalCode string
	CountryCode                         string
	ResidentialAddressIndicator         *string
}

type who struct {
	Name, AttentionName, ShipperNumber string
	Phone                              *struct{ Number string }
	Address                            place
	VendorInfo                         *struct {
		VendorCollectIDTypeCode, VendorCollectIDNumber, ConsigneeType string
	}
}

type reference struct{ Value string }

type globalTax struct {
	ShipperTypeValue, ConsigneeTypeValue string
	AgentTaxIdentificationNumber         list[struct {
		AgentRole               string
		TaxIdentificationNumber list[struct {
			IDNumberTypeCode, IdentificationNumber, IDNumberEncryptionIndicator, IDNumberPurposeCode, IDNumberCustomerRole string
		}]
	}]
}

type measure struct {
	UnitOfMeasurement code
	Weight            string
}

type box struct {
	Description              string
	Packaging, PackagingType *code
	Dimensions               *size
	PackageWeight            *measure
	ReferenceNumber          list[reference]
	PackageServiceOptions    *struct {
		DeliveryConfirmation *struct{ DCISType string }
		DeclaredValue        *amount
		COD                  *collection
		AccessPointCOD       *amount
		DryIce               *struct {
			RegulationSet string
			DryIceWeight  *measure
		}
	}
}

// collection is money that is collected on delivery.
type collection struct {
	CODFundsCode string
	CODAmount    *amount
}

type size struct {
	UnitOfMeasurement     code
	Length, Width, Height string
}

type charge struct {
	Type           string
	BillShipper    *struct{ AccountNumber string }
	BillReceiver   *struct{ AccountNumber string }
	BillThirdParty *struct{ AccountNumber string }
}

type payment struct{ ShipmentCharge list[charge] }

type shipment struct {
	Description           string
	ReturnService         *code
	Shipper, ShipTo       who
	ShipFrom              *who
	PaymentInformation    *payment
	PaymentDetails        *payment // of a quote
	ReferenceNumber       list[reference]
	Service               *code
	InvoiceLineTotal      *amount
	ShipmentTotalWeight   *measure
	ShipmentDate          string
	Package               list[box]
	ShipmentRatingOptions *struct{ NegotiatedRatesIndicator *string }
	GlobalTaxInformation  *globalTax

	ShipperType, ConsigneeType, ShipmentValueThresholdCode string

	ShipmentServiceOptions *struct {
		COD, AccessPointCOD       json.RawMessage
		EUDeMinimisIndicator      string
		SaturdayDeliveryIndicator *string
		DeliveryConfirmation      *struct{ DCISType string }
		InternationalForms        *struct {
			FormType                                                  list[string]
			InvoiceNumber, InvoiceDate, ReasonForExport, CurrencyCode string
			Contacts                                                  *struct{ SoldTo *who }
			Product                                                   list[article]
			OverridePaperlessIndicator                                *string
		}
	}
	ShipmentIndicationType   list[code]
	AlternateDeliveryAddress *struct {
		Name, AttentionName, UPSAccessPointID string
		Address                               *place
	}
	DeliveryTimeInformation *struct {
		PackageBillType string
		Pickup          struct{ Date string }
	}
}

type article struct {
	Description list[string]
	Unit        *struct {
		Number, Value     string
		UnitOfMeasurement code
	}
	OriginCountryCode string

	ProductIdentifier                  list[struct{ ProductID, ProductIDTypeCode string }]
	CommodityFieldSpecialConditionCode string
}

// from returns where the parcels start.
func (s *shipment) from() who {
	if s.ShipFrom != nil {
		return *s.ShipFrom
	}
	return s.Shipper
}

// kept is what the emulator needs to answer again about a sale.
type kept struct {
	From     string `json:"from"` // cities
	To       string `json:"to"`
	Zip      string `json:"zip,omitempty"`
	State    string `json:"state,omitempty"`
	Country  string `json:"country"`
	Start    string `json:"start"`              // country
	Province string `json:"province,omitempty"` // where it starts
	Invoice  bool   `json:"invoice,omitempty"`
	Receiver string `json:"receiver"`
	Days     int    `json:"days"`

	References []string `json:"references,omitempty"` // in the order in which they came
	IsReturn   bool     `json:"return,omitempty"`
}
