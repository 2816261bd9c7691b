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
	trackedShipment
	Names    catalog
	Accounts accountNames               // of carriers with several accounts
	Account  string                     // the carrier account that sold it; "" for the simulated one
	Formats  []label.Format             // that the label is available in
	Problem  string                     // of the last action
	Failure  string                     // why no label was bought
	Refused  *shipping.RefusedVoid      // the void that the carrier refused, if the label can still be used
	Page     string                     // address of the public tracking page; "" while there is none
	Told     []webhook.EventDeliveries  // its events, and their deliveries
	Hooks    map[ship.EndpointID]string // the endpoints' URLs without the scheme
}

// HasLabel reports whether there is a label to show.
func (p shipmentView) HasLabel() bool {
	return p.State == ship.StatePurchased || p.State == ship.StateVoiding
}

// Gist returns the shipment in one line: what goes to whom, and for how much.
func (p shipmentView) Gist() string {
	recipient := []string{p.Order.Destination.Name, place(p.Order.Destination)}
	recipient = slices.DeleteFunc(recipient, func(part string) bool { return part == "" })
	to := strings.Join(recipient, ", ")
	if p.Purchase.Carrier == "" {
		return "To " + to
	}

	words := carrierTitle(p.Purchase.Carrier) + " " + serviceTitle(p.Shipment) + " to " + to
	if p.Purchase.Price.IsZero() {
		return words
	}
	return words + " · " + money(p.Purchase.Price)
}

// MayVoid reports whether a void makes sense now.
func (p shipmentView) MayVoid() bool {
	return p.State == ship.StatePurchased && p.Progress.Status != ship.Delivered
}

// MayAdvance reports whether the sandbox can move the parcel on.
func (p shipmentView) MayAdvance() bool {
	return !p.Tenant.Livemode && p.State == ship.StatePurchased && p.Progress.Status != ship.Delivered
}

// A trackedShipment is a shipment and where its parcels are.
type trackedShipment struct {
	ship.Shipment
	Tracked tracking.Tracked
}

// A milestone is one step of a parcel's tracking state.
type milestone struct {
	Status ship.Status
	Class  string // "done", "now", "bad" or ""
}

// Milestones returns the five steps that people wait for.
func (p trackedShipment) Milestones() []milestone {
	// An exception is shown at the step that the parcel had reached before.
	current := p.Progress.Status
	if current == ship.Exception {
		for _, scan := range p.Tracked.Scans {
			if scan.Status != ship.Exception {
				current = scan.Status
				break
			}
		}
	}

	steps := []ship.Status{ship.LabelGenerated, ship.PickedUp, ship.InTransit, ship.OutForDelivery, ship.Delivered}
	list := make([]milestone, len(steps))
	for i, step := range steps {
		list[i] = milestone{Status: step}
		switch {
		case p.NoDelivery() != "":
			// The parcel goes nowhere: no step is done or under way.
		case step == current && p.Progress.Status == ship.Exception:
			list[i].Class = "bad"
		case step == current:
			list[i].Class = "now"
		case step.Rank() < current.Rank():
			list[i].Class = "done"
		}
	}
	return list
}

// Why explains the choice of carrier and service.
func (p shipmentView) Why() string {
	purchase := p.Purchase
	taken := ship.Rate{
		Carrier:     purchase.Carrier,
		Connection:  purchase.Connection,
		Service:     purchase.Service,
		ServiceName: purchase.ServiceName,
		Price:       purchase.Price,
	}
	return p.Names.why(taken, purchase.Routing)
}

// shipmentOf reads the shipment that the address names.
func (v *visit) shipmentOf() (shipmentView, error) {
	var page shipmentView
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	if !ok {
		return page, ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	var err error
	if page.Shipment, err = v.Shipping.Shipment(v.ctx(), v.tenant(), id); err != nil {
		return page, err
	}

	if page.Purchase.TrackingNumber != "" {
		page.Page = v.BaseURL + v.Tracking.PagePath(v.tenant(), id)
	}
	if page.State == ship.StateFailed {
		failures, err := v.Shipping.PurchaseFailures(v.ctx(), v.tenant(), []ship.ShipmentID{id})
		if err != nil {
			return page, err
		}
		page.Failure = failureReason(failures[id])
	}

	page.Names = v.offers()
	if err := v.nameAccounts(&page); err != nil {
		return page, err
	}

	if page.HasLabel() && v.who.Can(member.PrintLabels) {
		if page.Formats, err = v.Shipping.LabelFormats(v.ctx(), v.tenant(), id); err != nil {
			return page, err
		}
	}
	page.Tracked, err = v.Tracking.Track(v.ctx(), v.tenant(), string(id), "")
	return page, err
}

// nameAccounts adds the client's names of its carrier accounts to a shipment,
// including accounts that were removed since.
func (v *visit) nameAccounts(page *shipmentView) error {
	connections, err := v.Account.Connections(v.ctx(), v.tenant())
	if err != nil {
		return err
	}

	byCarrier := map[string][]shipping.Connection{}
	for _, connection := range connections {
		byCarrier[connection.Carrier] = append(byCarrier[connection.Carrier], shipping.Connection{ID: connection.ID, Name: connection.Name})
		if connection.ID == page.Purchase.Connection {
			page.Account = or(connection.Name, short(string(connection.ID)))
		}
	}

	var carriers []shipping.CarrierInfo
	for name, connections := range byCarrier {
		carriers = append(carriers, shipping.CarrierInfo{Name: name, Connections: connections})
	}
	page.Accounts = accountNamesOf(carriers)
	return nil
}

// offerTitle returns an offer's carrier and service, and its account where
// there are several.
func (p shipmentView) offerTitle(rate ship.Rate) string {
	title := p.Names.offer(rate)
	if name := p.Accounts[rate.Connection]; name != "" {
		title += " via " + name
	}
	return title
}

// HasPicture reports whether the label can be shown as a picture; otherwise its
// PDF is shown.
func (p shipmentView) HasPicture() bool { return slices.Contains(p.Formats, label.PNG) }

// HasPDF reports whether there is a PDF of the label.
func (p shipmentView) HasPDF() bool { return slices.Contains(p.Formats, label.PDF) }

// Piece returns the tracking number of one parcel of several; "" if the
// shipment has only one number.
func (p shipmentView) Piece(i int) string {
	if i < len(p.Purchase.Pieces) && len(p.Purchase.Pieces) > 1 {
		return p.Purchase.Pieces[i]
	}
	return ""
}

// shipment handles GET /app/{account}/{mode}/shipments/{id}.
func (s *Web) shipment(v *visit) error {
	page, err := v.shipmentOf()
	if err != nil {
		return err
	}
	return v.showShipment(http.StatusOK, page)
}

func (v *visit) showShipment(status int, page shipmentView) error {
	if err := v.addDeliveries(&page); err != nil {
		return err
	}
	if err := v.findRefusedVoid(&page); err != nil {
		return err
	}

	if page.HasPDF() && !page.HasPicture() {
		allowFrames(v.w.Header())
	}
	frame := v.frame("Order "+page.Order.OrderID, "shipments")
	if v.isPart() {
		return v.show(status, shipmentDetail(frame, page))
	}
	return v.show(status, shipmentPage(frame, page))
}

// findRefusedVoid adds the void that the carrier refused. A job may have
// requested it long after the person left, so the page shows it later, too.
func (v *visit) findRefusedVoid(page *shipmentView) error {
	if page.State != ship.StatePurchased || page.Problem != "" {
		return nil
	}

	refused, found, err := v.Shipping.RefusedVoidOf(v.ctx(), v.tenant(), page.ID)
	if found {
		page.Refused = &refused
	}
	return err
}

// labelFile handles GET /app/{account}/{mode}/shipments/{id}/label/{file}.
func (s *Web) labelFile(v *visit) error {
	name, extension, _ := strings.Cut(v.r.PathValue("file"), ".")
	id, ok := ship.ParseShipmentID(v.r.PathValue("id"))
	format := label.Format(extension)
	if !ok || name != "label" || format.ContentType() == "" {
		return errNoPage
	}

	options := label.Options{Format: format, Size: label.Size4x6, DPI: 203}
	if v.query("dpi") == "300" {
		options.DPI = 300
	}
	if size := label.Size(v.query("size")); size == label.SizeA4 || size == label.SizeLetter || size == label.SizeA6 {
		options.Size = size
	}
	file, err := s.Shipping.Label(v.ctx(), v.tenant(), id, options)
	if err != nil {
		return err
	}

	header := v.w.Header()
	header.Set("ETag", file.ETag)
	header.Set("Cache-Control", "private, no-cache")
	if v.r.Header.Get("If-None-Match") == file.ETag {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}

	disposition := "inline"
	if v.query("download") != "" {
		disposition = "attachment"
	}
	if format == label.PDF {
		allowFraming(header)
	}
	header.Set("Content-Type", format.ContentType())
	header.Set("Content-Disposition", disposition+`; filename="`+string(id)+"."+extension+`"`)
	v.w.Write(file.Data) // the reader may have left
	return nil
}

// allowFrames lets a page show a file of this server in a frame: a label that
// is not available as a picture.
func allowFrames(header http.Header) {
	header.Set("Content-Security-Policy", policy+"; frame-src 'self'")
}

// allowFraming lets the dashboard's own pages show a file in a frame.
func allowFraming(header http.Header) {
	header.Set("Content-Security-Policy", strings.Replace(policy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	header.Set("X-Frame-Options", "SAMEORIGIN")
}

// shipmentDocument handles GET
// /app/{account}/{mode}/shipments/{id}/documents/{n}: a customs document, counted
// from 1.
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
	contentType := map[string]string{"pdf": "application/pdf", "png": "image/png", "gif": "image/gif"}[document.Format]

	header := v.w.Header()
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Content-Type", or(contentType, "application/octet-stream"))
	header.Set("Content-Disposition", `inline; filename="`+string(id)+"-"+document.Type+"."+document.Format+`"`)
	v.w.Write(document.Data) // the reader may have left
	return nil
}

// printView is the page that is printed: the label and nothing else.
type printView struct {
	shipmentView
	Sheets []labelSheet // of the picture; none where the PDF is printed
	Next   string       // where the person continues after printing; "" to stay
}

// A labelSheet is one of several sheets that a picture has below each other:
// the part of the picture that begins at Top, in dots.
type labelSheet struct{ Width, Height, Top, Whole int }

// printLabel handles GET /app/{account}/{mode}/shipments/{id}/print. With
// ?next=new the person returns to an empty form after printing.
func (s *Web) printLabel(v *visit) error {
	shipment, err := v.shipmentOf()
	if err != nil {
		return err
	}

	page := printView{shipmentView: shipment}
	if v.query("next") == "new" {
		page.Next = v.to("shipments", "new") + "?last=" + url.QueryEscape(string(page.ID))
	}

	switch {
	case page.HasPicture() && page.HasPDF():
		if page.Sheets, err = v.labelSheets(page.ID); err != nil {
			return err
		}
	case page.HasPDF():
		allowFrames(v.w.Header())
	}
	return v.show(http.StatusOK, printPage(v.frame("Print", "shipments"), page))
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

	// Only the PDF says how many sheets there are; the picture has them all in
	// one column, each as high as the others.
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
		list[i] = labelSheet{
			Width:  config.Width,
			Height: height,
			Top:    i * height,
			Whole:  config.Height,
		}
	}
	return list, nil
}

// voidShipment handles POST /app/{account}/{mode}/shipments/{id}/void.
func (s *Web) voidShipment(v *visit) error {
	page, err := v.shipmentOf()
	if err != nil {
		return err
	}

	shipment, err := s.Shipping.Void(v.ctx(), v.tenant(), page.ID)
	if reason, fixable := problemsOf(err); fixable && ship.KindOf(err) == ship.Conflict {
		page.Problem = reason.All
		return v.showShipment(http.StatusConflict, page)
	}
	if err != nil {
		return err
	}

	v.record("shipment.voided", string(page.ID), nil)

	// A void is in no log of events, so open pages are notified from here.
	v.notifyPages(page.ID)

	done := "voided"
	if shipment.State != ship.StateVoided {
		done = "voiding"
	}
	return v.redirect(v.to("shipments", string(page.ID)), done)
}

// advanceShipment handles POST /app/{account}/test/shipments/{id}/advance.
func (s *Web) advanceShipment(v *visit) error {
	page, err := v.shipmentOf()
	if err != nil {
		return err
	}

	status := v.form("status")
	ctx := v.audited("shipment.advanced", "", map[string]string{"to": or(status, "next")})
	_, err = s.Tracking.Advance(ctx, v.tenant(), page.ID, ship.Status(status), v.form("reason"))
	if reason, fixable := problemsOf(err); fixable {
		page.Problem = reason.All
		return v.showShipment(http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("shipments", string(page.ID)), "advanced")
}

// audited returns the context for one change by another service, whose
// transaction then writes the audit entry, too. A service that creates
// something fills in the target itself.
func (v *visit) audited(action, target string, details map[string]string) context.Context {
	return member.Audited(v.ctx(), v.who.Actor, member.Entry{
		Action:  action,
		Target:  target,
		Mode:    v.mode(),
		Details: details,
	})
}

// record writes purchases and voids to the audit log afterwards: no transaction
// is open while a carrier is called. The action cannot be undone, and the
// shipment itself shows it, so an entry that cannot be written is logged for
// the operator and does not fail the request.
func (v *visit) record(action, target string, details map[string]string) {
	err := v.Member.Record(v.ctx(), v.who.Actor, member.Entry{
		Action:  action,
		Target:  target,
		Mode:    v.mode(),
		Details: details,
	})
	if err != nil {
		v.Log.ErrorContext(v.ctx(), "audit log", "action", action, "target", target, "error", err)
	}
}
