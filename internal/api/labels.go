package api

import (
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
	Size        string `query:"size" enum:"4x6,a6,a4,letter" doc:"Medium: 4x6 in (default), A6, or A4 and letter with the label in one corner."`
	DPI         int    `query:"dpi" enum:"203,300" doc:"Resolution of the printer; 203 by default."`
	Token       string `query:"token" hidden:"true"` // the document shows it as a way to authenticate
	IfNoneMatch string `header:"If-None-Match" doc:"ETag of the copy at hand; 304 if it is still right."`
}

// getLabel handles GET and HEAD of /v1/labels/{shipment_id}.{pdf,zpl,png}.
func (s *server) getLabel(ctx context.Context, in *labelRequest) (reply, error) {
	name, ext, _ := strings.Cut(in.File, ".")
	id, ok := ship.ParseShipmentID(name)
	format := label.Format(ext)
	if !ok || format.ContentType() == "" {
		return reply{}, ship.Errorf(ship.NotFound, "no such label")
	}
	f, err := s.label(ctx, id, label.Options{Format: format, Size: label.Size(in.Size), DPI: in.DPI}, in.Token)
	if err != nil {
		return reply{}, err
	}
	out := reply{status: http.StatusOK, kind: format.ContentType(), body: f.Data}
	if matches(in.IfNoneMatch, f.ETag) {
		out = reply{status: http.StatusNotModified}
	}
	return out.with("ETag", f.ETag).with("Cache-Control", "private, no-cache").
		with("Content-Disposition", `inline; filename="`+string(id)+"."+ext+`"`).
		with("X-Content-Type-Options", "nosniff"), nil
}

// label finds a label for the caller's key or, without one, for the token.
func (s *server) label(ctx context.Context, id ship.ShipmentID, o label.Options, token string) (shipping.LabelFile, error) {
	p := httpkit.From(ctx).Principal
	if p.Key == "" {
		return s.Shipping.LabelByToken(ctx, id, o, token)
	}
	return s.Shipping.Label(ctx, p.Tenant, id, o)
}

type documentRequest struct {
	ID     string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Number int    `path:"number" minimum:"1" maximum:"100" doc:"Which of the shipment's documents, from 1."`
}

// documentTypes are those of the formats that carriers make papers in.
var documentTypes = map[string]string{"pdf": "application/pdf", "png": "image/png", "gif": "image/gif"}

// getDocument handles GET /v1/shipments/{id}/documents/{number}.
func (s *server) getDocument(ctx context.Context, in *documentRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	d, err := s.Shipping.Document(ctx, httpkit.From(ctx).Principal.Tenant, id, in.Number)
	if err != nil {
		return reply{}, err
	}
	kind, known := documentTypes[d.Format]
	if !known {
		kind = "application/octet-stream"
	}
	name := string(id) + "-" + d.Type + "." + d.Format
	return reply{status: http.StatusOK, kind: kind, body: d.Data}.with("Cache-Control", "private, no-cache").
		with("Content-Disposition", `inline; filename="`+name+`"`).with("X-Content-Type-Options", "nosniff"), nil
}

// labelInput is the body of POST /v1/shipments/{id}/label.
type labelInput struct {
	Format string      `json:"format,omitempty" enum:"pdf,zpl,png" doc:"Format; pdf by default."`
	Size   string      `json:"size,omitempty" enum:"4x6,a6,a4,letter" doc:"Medium; 4x6 by default."`
	DPI    wholeNumber `json:"dpi,omitempty" enum:"203,300" doc:"Resolution of the printer; 203 by default."`
}

type makeLabelRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Body *labelInput
}

// rendering is the answer of POST /v1/shipments/{id}/label.
type rendering struct {
	URL    string `json:"url" format:"uri" doc:"Where the rendering can be fetched."`
	Format string `json:"format" enum:"pdf,zpl,png" doc:"Its format."`
	Size   string `json:"size" enum:"4x6,a6,a4,letter" doc:"Its medium."`
	DPI    int    `json:"dpi" enum:"203,300" doc:"Its resolution."`
}

// makeLabel handles POST /v1/shipments/{id}/label. It renders once, so that
// what cannot be had is told here and not to the printer.
func (s *server) makeLabel(ctx context.Context, in *makeLabelRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	out := rendering{Format: string(label.PDF), Size: string(label.Size4x6), DPI: 203}
	if b := in.Body; b != nil {
		out.Format, out.Size = or(b.Format, out.Format), or(b.Size, out.Size)
		if b.DPI != 0 {
			out.DPI = int(b.DPI)
		}
	}
	o := label.Options{Format: label.Format(out.Format), Size: label.Size(out.Size), DPI: out.DPI}
	if _, err := s.Shipping.Label(ctx, httpkit.From(ctx).Principal.Tenant, id, o); err != nil {
		return reply{}, err
	}
	out.URL = s.BaseURL + "/v1/labels/" + string(id) + "." + out.Format + "?size=" + out.Size + "&dpi=" + strconv.Itoa(out.DPI)
	return show(http.StatusOK, out)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// labelLinkInput is the body of POST /v1/shipments/{id}/label-link.
type labelLinkInput struct {
	Format    string      `json:"format,omitempty" enum:"pdf,zpl,png" doc:"Format; pdf by default."`
	ExpiresIn wholeNumber `json:"expiresIn,omitempty" minimum:"60" maximum:"604800" example:"86400" doc:"Seconds until the link ends; 86400 by default, 7 days at most."`
}

type labelLinkRequest struct {
	ID   string `path:"id" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the shipment."`
	Body *labelLinkInput
}

// labelLink is the answer of POST /v1/shipments/{id}/label-link.
type labelLink struct {
	URL       string `json:"url" format:"uri" doc:"Fetch the label here, without an API key."`
	ExpiresAt string `json:"expiresAt" format:"date-time" doc:"When the link ends."`
}

// linkLabel handles POST /v1/shipments/{id}/label-link.
func (s *server) linkLabel(ctx context.Context, in *labelLinkRequest) (reply, error) {
	id, err := shipmentID(in.ID)
	if err != nil {
		return reply{}, err
	}
	format, ttl := label.PDF, time.Duration(0)
	if b := in.Body; b != nil {
		format, ttl = label.Format(or(b.Format, string(format))), time.Duration(b.ExpiresIn)*time.Second
	}
	link, err := s.Shipping.LabelLink(ctx, httpkit.From(ctx).Principal.Tenant, id, format, ttl)
	if err != nil {
		return reply{}, err
	}
	return show(http.StatusOK, labelLink{
		URL:       s.BaseURL + "/v1/labels/" + string(id) + "." + string(format) + "?token=" + url.QueryEscape(link.Token),
		ExpiresAt: wire.Time(link.ExpiresAt),
	})
}
