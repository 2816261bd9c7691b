package web

import (
	"bytes"
	"context"
	"image/png"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/tracking"
	"github.com/waybillhq/waybill/internal/webhook"
)

// shipmentView is the page of one shipment.
type shipmentView struct {
	ship.Shipment
	Tracked  tracking.Tracked
	Names    catalog
	Accounts accountNames          // where a carrier has several
	Account  string                // the carrier account that sold it; "" for the simulated one
	Formats  []label.Format        // that the label can be had in
	Problem  string                // of what was tried last
	Failure  string                // why no label was bought
	Refused  *shipping.RefusedVoid // the void that the carrier refused, if the label can still be used
	Page     string                // address of the public tracking page; "" while there is none
	Told     []webhook.Told
	Hooks    map[ship.EndpointID]string // the endpoints without their scheme
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
		case p.NoDelivery() != "":
			// The parcel goes nowhere: no step is done or under way.
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
	if p.State == ship.StateFailed {
		failures, err := v.Shipping.PurchaseFailures(v.ctx(), v.tenant(), []ship.ShipmentID{id})
		if err != nil {
			return p, err
		}
		p.Failure = failureReason(failures[id])
	}
	p.Names = v.offers()
	if err := v.nameAccounts(&p); err != nil {
		return p, err
	}
	if p.HasLabel() && v.who.Can(member.PrintLabels) {
		if p.Formats, err = v.Shipping.LabelFormats(v.ctx(), v.tenant(), id); err != nil {
			return p, err
		}
	}
	p.Tracked, err = v.Tracking.Track(v.ctx(), v.tenant(), string(id), "")
	return p, err
}

// nameAccounts adds to a shipment what the client calls its carrier accounts,
// also those that it has no longer.
func (v *visit) nameAccounts(p *shipmentView) error {
	connections, err := v.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return err
	}

	carriers := map[string][]shipping.Connection{}
	for _, c := range connections {
		carriers[c.Carrier] = append(carriers[c.Carrier], shipping.Connection{ID: c.ID, Name: c.Name})
		if c.ID == p.Deal.Connection {
			p.Account = or(c.Name, short(string(c.ID)))
		}
	}
	var list []shipping.CarrierInfo
	for name, own := range carriers {
		list = append(list, shipping.CarrierInfo{Name: name, Connections: own})
	}
	p.Accounts = accountNamesOf(list)
	return nil
}

// offerTitle is an offer's carrier and service, and over which account where
// there are several.
func (p shipmentView) offerTitle(r ship.Rate) string {
	title := p.Names.offer(r)
	if name := p.Accounts[r.Connection]; name != "" {
		title += " over " + name
	}
	return title
}

// HasPicture reports whether the label can be shown as a picture; else its PDF
// is shown.
func (p shipmentView) HasPicture() bool { return slices.Contains(p.Formats, label.PNG) }

// HasPDF reports whether there is a PDF of the label.
func (p shipmentView) HasPDF() bool { return slices.Contains(p.Formats, label.PDF) }

// Piece is the tracking number of a parcel of several; "" where the shipment's
// own is the only one.
func (p shipmentView) Piece(i int) string {
	if i < len(p.Deal.Pieces) && len(p.Deal.Pieces) > 1 {
		return p.Deal.Pieces[i]
	}
	return ""
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
	if err := v.findRefusedVoid(&p); err != nil {
		return err
	}
	if p.HasPDF() && !p.HasPicture() {
		allowFrames(v.w.Header())
	}
	f := v.frame("Order "+p.Order.OrderID, "shipments")
	if v.isPart() {
		return v.show(status, shipmentDetail(f, p))
	}
	return v.show(status, shipmentPage(f, p))
}

// findRefusedVoid adds the void that the carrier refused. A job may have asked
// for it again long after the person left, so the page says it afterwards too.
func (v *visit) findRefusedVoid(p *shipmentView) error {
	if p.State != ship.StatePurchased || p.Problem != "" {
		return nil
	}
	refused, found, err := v.Shipping.RefusedVoidOf(v.ctx(), v.tenant(), p.ID)
	if found {
		p.Refused = &refused
	}
	return err
}

// labelFile handles GET /app/{mode}/shipments/{id}/label/{file}.
func (s *Web) labelFile(v *visit) error {
	name, ext, _ := strings.Cut(v.r.PathValue("file"), ".")
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	format := label.Format(ext)
	if !ok || name != "label" || format.ContentType() == "" {
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
	if format == label.PDF {
		allowFraming(h)
	}
	h.Set("Content-Type", format.ContentType())
	h.Set("Content-Disposition", how+`; filename="`+string(id)+"."+ext+`"`)
	v.w.Write(f.Data) // the reader may have left
	return nil
}

// allowFrames lets a page show what this server sends in a frame: a label that
// cannot be had as a picture.
func allowFrames(h http.Header) {
	h.Set("Content-Security-Policy", policy+"; frame-src 'self'")
}

// allowFraming lets the dashboard's own pages show a file in a frame.
func allowFraming(h http.Header) {
	h.Set("Content-Security-Policy", strings.Replace(policy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	h.Set("X-Frame-Options", "SAMEORIGIN")
}

// shipmentDocument handles GET /app/{mode}/shipments/{id}/documents/{n}: a
// customs paper, from 1.
func (s *Web) shipmentDocument(v *visit) error {
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	n, err := strconv.Atoi(v.r.PathValue("n"))
	if !ok || err != nil || n < 1 {
		return errNoPage
	}

	document, err := s.Shipping.Document(v.ctx(), v.tenant(), id, n)
	if err != nil {
		return err
	}
	kind := map[string]string{"pdf": "application/pdf", "png": "image/png", "gif": "image/gif"}[document.Format]

	h := v.w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Content-Type", or(kind, "application/octet-stream"))
	h.Set("Content-Disposition", `inline; filename="`+string(id)+"-"+document.Type+"."+document.Format+`"`)
	v.w.Write(document.Data) // the reader may have left
	return nil
}

// printView is the page that is printed: the label and nothing else.
type printView struct {
	shipmentView
	Sheets []labelSheet // of the picture; none where the PDF is printed
	Next   string       // where the person goes on when it is printed; "" to stay
}

// A labelSheet is one sheet of a picture that has several below each other: the
// part of the picture that begins at Top, in dots.
type labelSheet struct{ Width, Height, Top, Whole int }

// printLabel handles GET /app/{mode}/shipments/{id}/print. With ?next=new the
// person is led back to an empty form when the label is printed.
func (s *Web) printLabel(v *visit) error {
	shipment, err := v.shipmentOf()
	if err != nil {
		return err
	}
	p := printView{shipmentView: shipment}
	if v.query("next") == "new" {
		p.Next = v.to("shipments", "new") + "?last=" + url.QueryEscape(string(p.ID))
	}

	switch {
	case p.HasPicture() && p.HasPDF():
		if p.Sheets, err = v.labelSheets(p.ID); err != nil {
			return err
		}
	case p.HasPDF():
		allowFrames(v.w.Header())
	}
	return v.show(http.StatusOK, printPage(v.frame("Print", "shipments"), p))
}

// printDPI is the resolution of the picture that is printed.
const printDPI = 300

// labelSheets divides the picture of a label into its sheets: each is printed
// on paper of its own.
func (v *visit) labelSheets(id ship.ShipmentID) ([]labelSheet, error) {
	options := label.Options{Format: label.PDF, Size: label.Size4x6, DPI: printDPI}
	pdf, err := v.Shipping.Label(v.ctx(), v.tenant(), id, options)
	if err != nil {
		return nil, err
	}
	options.Format = label.PNG
	picture, err := v.Shipping.Label(v.ctx(), v.tenant(), id, options)
	if err != nil {
		return nil, err
	}

	count, err := label.Sheets(pdf.Data)
	if err != nil {
		return nil, err
	}
	config, err := png.DecodeConfig(bytes.NewReader(picture.Data))
	if err != nil {
		return nil, err
	}
	list := make([]labelSheet, max(count, 1))
	height := config.Height / len(list)
	for i := range list {
		list[i] = labelSheet{Width: config.Width, Height: height, Top: i * height, Whole: config.Height}
	}
	return list, nil
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
