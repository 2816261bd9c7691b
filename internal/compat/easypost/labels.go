package easypost

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// labelObject is a label.
type labelObject struct {
	head
	DateAdvance     int     `json:"date_advance"`
	IntegratedForm  string  `json:"integrated_form"`
	LabelDate       *string `json:"label_date"`
	LabelResolution int     `json:"label_resolution"`
	LabelSize       string  `json:"label_size"`
	LabelType       string  `json:"label_type"`
	LabelFileType   string  `json:"label_file_type"`
	LabelURL        *string `json:"label_url"`
	LabelPDFURL     *string `json:"label_pdf_url"`
	LabelZPLURL     *string `json:"label_zpl_url"`
	LabelEPL2URL    *string `json:"label_epl2_url"`
}

// The formats of a label: PNG unless the client asks for another.
var (
	labelFileTypes = map[string]string{"PNG": "image/png", "PDF": "application/pdf", "ZPL": "application/zpl"}
	labelKinds     = map[string]label.Format{"PNG": label.PNG, "PDF": label.PDF, "ZPL": label.ZPL}
)

// labelLife is how long the link to a label works: the longest that the service
// gives out. Reading the shipment again makes another.
const labelLife = 7 * 24 * time.Hour

// postageLabel is the label of a shipment. Its links need no key, so they are given
// only to keys that may make them.
func (s *server) postageLabel(ctx context.Context, in *request, bought ship.Shipment, format string) (*labelObject, error) {
	if _, ok := labelKinds[format]; !ok {
		format = "PNG"
	}
	out := &labelObject{
		head:            headOf(in.tenant, "PostageLabel", prefixLabel, bought.ID.Raw()),
		IntegratedForm:  "none",
		LabelDate:       timeOrNull(bought.Purchase.BoughtAt),
		LabelResolution: 300,
		LabelSize:       "4x6",
		LabelType:       "default",
		LabelFileType:   labelFileTypes[format],
	}
	if !in.caller.Can("shipments:write") {
		return out, nil
	}

	link, err := s.labelLink(ctx, in, bought, format)
	if err != nil {
		return nil, err
	}
	out.LabelURL = link
	switch format {
	case "PDF":
		out.LabelPDFURL = link
	case "ZPL":
		out.LabelZPLURL = link
	}
	in.note("label_link.made", bought.ID)
	return out, nil
}

func (s *server) getLabel(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	format := strings.ToUpper(firstOf(in.query.Get("file_format"), in.query.Get("format"), "PDF"))
	if _, ok := labelKinds[format]; !ok {
		return answer{}, invalid("file_format", "must be PDF, PNG or ZPL")
	}

	shown, err := s.shipment(ctx, in, object, d)
	if err != nil {
		return answer{}, err
	}
	if shown.PostageLabel == nil {
		return answer{}, ship.Coded(ship.Invalid, "label_not_ready", "the shipment has no label")
	}
	bought, err := s.Shipping.Shipment(ctx, in.tenant, object.Shipment)
	if err != nil {
		return answer{}, err
	}
	link, err := s.labelLink(ctx, in, bought, format)
	if err != nil {
		return answer{}, err
	}
	switch format {
	case "PDF":
		shown.PostageLabel.LabelPDFURL = link
	case "ZPL":
		shown.PostageLabel.LabelZPLURL = link
	default:
		shown.PostageLabel.LabelURL = link
	}
	return answer{status: http.StatusOK, body: shown}, nil
}

// labelLink returns the address of a label that needs no key.
func (s *server) labelLink(ctx context.Context, in *request, bought ship.Shipment, format string) (*string, error) {
	if !in.caller.Can("shipments:write") {
		return nil, nil
	}
	kind := labelKinds[format]
	link, err := s.Shipping.LabelLink(ctx, in.tenant, bought.ID, kind, labelLife)
	switch ship.KindOf(err) {
	case "":
	case ship.Gone, ship.Conflict, ship.Unsupported:
		return nil, nil // the shipment itself can still be shown
	default:
		return nil, err
	}
	return new(s.BaseURL + "/v1/labels/" + string(bought.ID) + "." + string(kind) + "?token=" + url.QueryEscape(link.Token)), nil
}
