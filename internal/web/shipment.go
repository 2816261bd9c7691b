package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// shipmentView is the page of one shipment.
type shipmentView struct {
	ship.Shipment
	Tracked tracking.Tracked
	Names   catalog
	Problem string // of what was tried last
	Page    string // address of the public tracking page; "" while there is none
	Told    []webhook.Told
	Hooks   map[ship.EndpointID]string // the endpoints without their scheme
}

// HasLabel reports whether there is a label to show.
func (p shipmentView) HasLabel() bool {
	return p.State == ship.StatePurchased || p.State == ship.StateVoiding
}

// Gist is the shipment in one line: what goes to whom, and for how much.
func (p shipmentView) Gist() string {
	to := strings.Join(slices.DeleteFunc([]string{p.Order.Destination.Name, place(p.Order.Destination)}, func(s string) bool { return s == "" }), ", ")
	if p.Deal.Carrier == "" {
		return "To " + to
	}
	words := carrierTitle(p.Deal.Carrier) + " " + serviceTitle(p.Shipment) + " to " + to
	if p.Deal.Price.IsZero() {
		return words
	}
	return words + " · " + money(p.Deal.Price)
}

// MayVoid reports whether a void makes sense now.
func (p shipmentView) MayVoid() bool {
	return p.State == ship.StatePurchased && p.Progress.Status != ship.Delivered
}

// MayAdvance reports whether the sandbox can move the parcel on.
func (p shipmentView) MayAdvance() bool {
	return !p.Tenant.Livemode && p.State == ship.StatePurchased && p.Progress.Status != ship.Delivered
}

// A milestone is one step of a parcel's way.
type milestone struct {
	Status ship.Status
	Class  string // "done", "now", "bad" or ""
}

// Milestones are the five steps that people wait for.
func (p shipmentView) Milestones() []milestone {
	steps := []ship.Status{ship.LabelGenerated, ship.PickedUp, ship.InTransit, ship.OutForDelivery, ship.Delivered}
	at := p.Progress.Status
	if at == ship.Exception {
		// An exception stands where the parcel was last well.
		for _, sc := range p.Tracked.Scans {
			if sc.Status != ship.Exception {
				at = sc.Status
				break
			}
		}
	}
	list := make([]milestone, len(steps))
	for i, s := range steps {
		list[i] = milestone{Status: s}
		switch {
		case s == at && p.Progress.Status == ship.Exception:
			list[i].Class = "bad"
		case s == at:
			list[i].Class = "now"
		case s.Rank() < at.Rank():
			list[i].Class = "done"
		}
	}
	return list
}

// Why is the routing in plain words.
func (p shipmentView) Why() string {
	d := p.Deal
	return p.Names.why(ship.Rate{Carrier: d.Carrier, Connection: d.Connection, Service: d.Service, ServiceName: d.ServiceName, Price: d.Price}, d.Routing)
}

// shipmentOf reads the shipment of the address.
func (v *visit) shipmentOf() (shipmentView, error) {
	var p shipmentView
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	if !ok {
		return p, ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	var err error
	if p.Shipment, err = v.Shipping.Shipment(v.ctx(), v.tenant(), id); err != nil {
		return p, err
	}
	if p.Deal.TrackingNumber != "" {
		p.Page = v.BaseURL + v.Tracking.PagePath(v.tenant(), id)
	}
	p.Names = v.offers()
	p.Tracked, err = v.Tracking.Track(v.ctx(), v.tenant(), string(id), "")
	return p, err
}

// shipment handles GET /app/{mode}/shipments/{id}.
func (s *Web) shipment(v *visit) error {
	p, err := v.shipmentOf()
	if err != nil {
		return err
	}
	return v.showShipment(http.StatusOK, p)
}

func (v *visit) showShipment(status int, p shipmentView) error {
	if err := v.toldOf(&p); err != nil {
		return err
	}
	f := v.frame("Order "+p.Order.OrderID, "shipments")
	if v.isPart() {
		return v.show(status, shipmentDetail(f, p))
	}
	return v.show(status, shipmentPage(f, p))
}

// labelFormats are the files of a label.
var labelFormats = []label.Format{label.PDF, label.ZPL, label.PNG}

// labelFile handles GET /app/{mode}/shipments/{id}/label/{file}.
func (s *Web) labelFile(v *visit) error {
	name, ext, _ := strings.Cut(v.r.PathValue("file"), ".")
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	format := label.Format(ext)
	if !ok || name != "label" || !slices.Contains(labelFormats, format) {
		return errNoPage
	}
	o := label.Options{Format: format, Size: label.Size4x6, DPI: 203}
	if v.query("dpi") == "300" {
		o.DPI = 300
	}
	if size := label.Size(v.query("size")); size == label.SizeA4 || size == label.SizeLetter || size == label.SizeA6 {
		o.Size = size
	}
	f, err := s.Shipping.Label(v.ctx(), v.tenant(), id, o)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("ETag", f.ETag)
	h.Set("Cache-Control", "private, no-cache")
	if v.r.Header.Get("If-None-Match") == f.ETag {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	how := "inline"
	if v.query("download") != "" {
		how = "attachment"
	}
	h.Set("Content-Type", format.ContentType())
	h.Set("Content-Disposition", how+`; filename="`+string(id)+"."+ext+`"`)
	v.w.Write(f.Data) // the reader may have left
	return nil
}

// printLabel handles GET /app/{mode}/shipments/{id}/print: a page that is the
// label and nothing else.
func (s *Web) printLabel(v *visit) error {
	p, err := v.shipmentOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, printPage(v.frame("Print", "shipments"), p))
}

// voidShipment handles POST /app/{mode}/shipments/{id}/void.
func (s *Web) voidShipment(v *visit) error {
	p, err := v.shipmentOf()
	if err != nil {
		return err
	}
	sh, err := s.Shipping.Void(v.ctx(), v.tenant(), p.ID)
	if why, mendable := problemsOf(err); mendable && ship.KindOf(err) == ship.Conflict {
		p.Problem = why.All
		return v.showShipment(http.StatusConflict, p)
	}
	if err != nil {
		return err
	}
	v.record("shipment.voided", string(p.ID), nil)
	s.hub.tell(v.tenant(), string(p.ID)) // a void is in no log of events
	done := "voided"
	if sh.State != ship.StateVoided {
		done = "voiding"
	}
	return v.redirect(v.to("shipments", string(p.ID)), done)
}

// advanceShipment handles POST /app/test/shipments/{id}/advance.
func (s *Web) advanceShipment(v *visit) error {
	p, err := v.shipmentOf()
	if err != nil {
		return err
	}
	status := v.form("status")
	ctx := v.audited("shipment.advanced", "", map[string]string{"to": or(status, "next")})
	_, err = s.Tracking.Advance(ctx, v.tenant(), p.ID, ship.Status(status), v.form("reason"))
	if why, mendable := problemsOf(err); mendable {
		p.Problem = why.All
		return v.showShipment(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("shipments", string(p.ID)), "advanced")
}

// audited is the context of one change that another service makes: its
// transaction writes the entry too. What is made new says its own target.
func (v *visit) audited(action, target string, details map[string]string) context.Context {
	return member.Audited(v.ctx(), v.who.Actor, member.Entry{Action: action, Target: target, Mode: v.mode(), Details: details})
}

// record writes into the audit log what was bought or voided: no transaction
// is open while a carrier is asked. What is done is done, and the shipment
// tells of it: a record that cannot be written is told to the operator.
func (v *visit) record(action, target string, details map[string]string) {
	err := v.Member.Record(v.ctx(), v.who.Actor, member.Entry{Action: action, Target: target, Mode: v.mode(), Details: details})
	if err != nil {
		v.Log.ErrorContext(v.ctx(), "audit log", "action", action, "target", target, "error", err)
	}
}
