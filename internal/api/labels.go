package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/wire"
)

type labelRequest struct {
	File        string `path:"file" doc:"Identifier of the shipment and the format."`
	Size        string `query:"size" enum:"4x6,a6,a4,letter" doc:"Paper size: 4x6 in (default), A6, or A4 or letter with the label in one corner."`
	DPI         int    `query:"dpi" enum:"203,300" doc:"Printer resolution in dpi; 203 by default."`
	Token       string `query:"token" hidden:"true"` // the document shows it as a way to authenticate
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the cached copy; the response is 304 if it is still current."`
}

// getLabel handles GET and HEAD of /v1/labels/{shipment_id}.{pdf,zpl,png}.
func (s *server) getLabel(ctx context.Context, in *labelRequest) (reply, error) {
	name, extension, _ := strings.Cut(in.File, ".")
	id, ok := ship.ParseShipmentID(name)
	format := label.Format(extension)
	if !ok || format.ContentType() == "" {
		return reply{}, ship.Errorf(ship.NotFound, "no such label")
	}

	file, err := s.label(ctx, id, label.Options{Format: format, Size: label.Size(in.Size), DPI: in.DPI}, in.Token)
	if err != nil {
		return reply{}, err
	}

	out := reply{status: http.StatusOK, kind: format.ContentType(), body: file.Data}
	if etagMatches(in.IfNoneMatch, file.ETag) {
		out = reply{status: http.StatusNotModified}
	}

	// No cache may keep a label, which shows where people live. A program that
	// has a copy can check whether it is still valid: after a void it is not.
	return out.
		with("ETag", file.ETag).
		with("Content-Disposition", `inline; filename="`+string(id)+"."+extension+`"`), nil
}

// label returns a label for the caller's key or, without one, for the token of
// a signed link.
func (s *server) label(ctx context.Context, id ship.ShipmentID, options label.Options, token string) (shipping.LabelFile, error) {
	caller := httpkit.From(ctx).Principal

	// The guard admits a request without a key if it has any token at all; the
	// token is verified here.
	if caller.Key == "" {
		file, err := s.Shipping.LabelByToken(ctx, id, options, token)
		if err == nil {
			httpkit.From(ctx).Holder = file.Tenant
		}
		return file, err
	}
	return s.Shipping.Label(ctx, caller.Tenant, id, options)
}

type documentRequest struct {
	ID     string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Number int    `path:"number" minimum:"1" maximum:"100" doc:"Position in the shipment's documents, from 1."`
}

// documentTypes are the media types of the formats in which carriers issue
// documents.
var documentTypes = map[string]string{"pdf": "application/pdf", "png": "image/png", "gif": "image/gif", "jpg": "image/jpeg", "txt": "text/plain; charset=utf-8"}

// getDocument handles GET /v1/shipments/{id}/documents/{number}.
func (s *server) getDocument(ctx context.Context, in *documentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	doc, err := s.Shipping.Document(ctx, httpkit.From(ctx).Principal.Tenant, id, in.Number)
	if err != nil {
		return reply{}, err
	}

	return documentReply(id, doc), nil
}

// documentReply answers with a document.
func documentReply(id ship.ShipmentID, doc ship.Document) reply {
	// The bytes come from the carrier. A format that is not expected is not
	// given a type that a browser would run or render.
	kind, known := documentTypes[doc.Format]
	if !known {
		kind = "application/octet-stream"
	}

	name := string(id) + "-" + doc.Type + "." + doc.Format
	return reply{status: http.StatusOK, kind: kind, body: doc.Data}.
		with("Content-Disposition", `inline; filename="`+name+`"`)
}

// labelInput is the body of POST /v1/shipments/{id}/label.
type labelInput struct {
	Format string      `json:"format,omitempty" enum:"pdf,zpl,png" doc:"Format; pdf by default."`
	Size   string      `json:"size,omitempty" enum:"4x6,a6,a4,letter" doc:"Paper size; 4x6 by default."`
	DPI    wholeNumber `json:"dpi,omitempty" enum:"203,300" doc:"Printer resolution in dpi; 203 by default."`
}

type makeLabelRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Body *labelInput
}

// rendering is the answer of POST /v1/shipments/{id}/label.
type rendering struct {
	URL    string `json:"url" format:"uri" doc:"URL of the rendered label."`
	Format string `json:"format" enum:"pdf,zpl,png" doc:"Format of the rendered label."`
	Size   string `json:"size" enum:"4x6,a6,a4,letter" doc:"Paper size of the rendered label."`
	DPI    int    `json:"dpi" enum:"203,300" doc:"Resolution of the rendered label in dpi."`
}

// makeLabel handles POST /v1/shipments/{id}/label.
func (s *server) makeLabel(ctx context.Context, in *makeLabelRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}

	out := rendering{Format: string(label.PDF), Size: string(label.Size4x6), DPI: 203}
	if body := in.Body; body != nil {
		out.Format = cmp.Or(body.Format, out.Format)
		out.Size = cmp.Or(body.Size, out.Size)
		out.DPI = cmp.Or(int(body.DPI), out.DPI)
	}

	// The label is rendered once and thrown away, so that a format that is not
	// available fails here and not at the printer.
	options := label.Options{Format: label.Format(out.Format), Size: label.Size(out.Size), DPI: out.DPI}
	if _, err := s.Shipping.Label(ctx, httpkit.From(ctx).Principal.Tenant, id, options); err != nil {
		return reply{}, err
	}

	out.URL = s.BaseURL + "/v1/labels/" + string(id) + "." + out.Format + "?size=" + out.Size + "&dpi=" + strconv.Itoa(out.DPI)
	return jsonReply(http.StatusOK, out)
}

// labelLinkInput is the body of POST /v1/shipments/{id}/label-link.
type labelLinkInput struct {
	Format    string      `json:"format,omitempty" enum:"pdf,zpl,png" doc:"Format; pdf by default."`
	ExpiresIn wholeNumber `json:"expiresIn,omitempty" minimum:"60" maximum:"604800" example:"86400" doc:"Seconds until the link expires; 86400 by default, at most 604800 (7 days)."`
}

type labelLinkRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Body *labelLinkInput
}

// labelLink is the answer of POST /v1/shipments/{id}/label-link.
type labelLink struct {
	URL       string `json:"url" format:"uri" doc:"URL of the label; needs no API key."`
	ExpiresAt string `json:"expiresAt" format:"date-time" doc:"When the link expires."`
}

// linkLabel handles POST /v1/shipments/{id}/label-link.
func (s *server) linkLabel(ctx context.Context, in *labelLinkRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}

	format := label.PDF
	var lifetime time.Duration // zero stands for the default
	if body := in.Body; body != nil {
		format = cmp.Or(label.Format(body.Format), format)
		lifetime = time.Duration(body.ExpiresIn) * time.Second
	}

	link, err := s.Shipping.LabelLink(ctx, httpkit.From(ctx).Principal.Tenant, id, format, lifetime)
	if err != nil {
		return reply{}, err
	}
	return jsonReply(http.StatusOK, labelLink{
		URL:       s.BaseURL + "/v1/labels/" + string(id) + "." + string(format) + "?token=" + url.QueryEscape(link.Token),
		ExpiresAt: wire.Time(link.ExpiresAt),
	})
}
