package shipments

import (
	"bytes"
	"cmp"
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
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
	"github.com/waybillhq/waybill/internal/webhook"
)

// shipmentView is the page of one shipment.
type shipmentView struct {
	parts.TrackedShipment
	Names    offers.Catalog
	Accounts offers.AccountNames              // of carriers with several accounts
	Account  string                           // the carrier account that sold it; "" for the simulated one
	Formats  []label.Format                   // that the label is available in
	Problem  string                           // of the last action
	Failure  string                           // why no label was bought
	Refused  *shipping.RefusedVoid            // the void that the carrier refused, if the label can still be used
	Page     string                           // address of the public tracking page; "" while there is none
	Told     []webhook.EventDeliveries        // its events, and their deliveries
	Hooks    map[ship.EndpointID]string       // the endpoints' URLs without the scheme
	Returns  []ship.ShipmentID                // that bring its parcels back, newest first
	Printed  store.LabelPrint                 // zero if the label was never printed
	HasProof bool                             // the parcel is delivered, and the carrier has proofs of it
	Sent     map[int]store.DocumentSubmission // uploaded documents that go to the carrier, by their number among all
}

// HasLabel reports whether there is a label to show.
func (p shipmentView) HasLabel() bool {
	return p.State == ship.StatePurchased || p.State == ship.StateVoiding
}

// Gist summarizes the shipment in one line: what goes to whom, and at what
// price.
func (p shipmentView) Gist() string {
	recipient := []string{p.Order.Destination.Name, parts.Place(p.Order.Destination)}
	recipient = slices.DeleteFunc(recipient, func(part string) bool { return part == "" })
	to := strings.Join(recipient, ", ")
	if p.Purchase.Carrier == "" {
		return "To " + to
	}

	words := parts.CarrierTitle(p.Purchase.Carrier) + " " + parts.ServiceTitle(p.Shipment) + " to " + to
	if p.Purchase.Price.IsZero() {
		return words
	}
	return words + " · " + parts.Money(p.Purchase.Price)
}

// MayVoid reports whether a void makes sense now.
func (p shipmentView) MayVoid() bool {
	return p.State == ship.StatePurchased && p.Progress.Status != ship.Delivered
}

// MayAdvance reports whether the sandbox can move the parcel on.
func (p shipmentView) MayAdvance() bool {
	return !p.Tenant.Livemode && p.State == ship.StatePurchased && p.Progress.Status != ship.Delivered
}

// MayReturn reports whether the parcels can come back.
func (p shipmentView) MayReturn() bool {
	return p.State == ship.StatePurchased && !p.Order.IsReturn && !p.IsErased
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
	return p.Names.Why(taken, purchase.Routing)
}

// shipmentOf reads the shipment that the address names.
func shipmentOf(v *site.Visit) (shipmentView, error) {
	var page shipmentView
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	if !ok {
		return page, ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	var err error
	if page.Shipment, err = v.Shipping.Shipment(v.Context(), v.Tenant(), id); err != nil {
		return page, err
	}

	if page.Purchase.TrackingNumber != "" {
		path, err := v.Tracking.CurrentPagePath(v.Context(), page.Shipment)
		if err != nil {
			return page, err
		}
		page.Page = v.BaseURL + path
	}
	if page.State == ship.StateFailed {
		failures, err := v.Shipping.PurchaseFailures(v.Context(), v.Tenant(), []ship.ShipmentID{id})
		if err != nil {
			return page, err
		}
		page.Failure = parts.FailureReason(failures[id])
	}

	if page.Returns, err = v.Shipping.Returns(v.Context(), v.Tenant(), id); err != nil {
		return page, err
	}

	page.Names = offers.ServicesOf(v)
	if err := nameAccounts(v, &page); err != nil {
		return page, err
	}

	if page.Progress.Status == ship.Delivered {
		if page.HasProof, err = v.Inquiry.OffersProof(v.Context(), page.Shipment); err != nil {
			return page, err
		}
	}
	if page.Sent, err = sentDocuments(v, page.Shipment); err != nil {
		return page, err
	}

	prints, err := v.Bulk.LabelPrints(v.Context(), v.Tenant(), []ship.ShipmentID{id})
	if err != nil {
		return page, err
	}
	page.Printed = prints[id]

	if page.HasLabel() && v.Who.Can(member.PrintLabels) {
		if page.Formats, err = v.Shipping.LabelFormats(v.Context(), v.Tenant(), id); err != nil {
			return page, err
		}
	}
	page.Tracked, err = v.Tracking.Track(v.Context(), v.Tenant(), string(id), "")
	return page, err
}

// nameAccounts adds the client's names of its carrier accounts to a shipment,
// including accounts that were removed since.
func nameAccounts(v *site.Visit, page *shipmentView) error {
	connections, err := v.Account.Connections(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	byCarrier := map[string][]shipping.Connection{}
	for _, connection := range connections {
		byCarrier[connection.Carrier] = append(byCarrier[connection.Carrier], shipping.Connection{ID: connection.ID, Name: connection.Name})
		if connection.ID == page.Purchase.Connection {
			page.Account = cmp.Or(connection.Name, parts.ShortID(string(connection.ID)))
		}
	}

	var carriers []shipping.CarrierInfo
	for name, connections := range byCarrier {
		carriers = append(carriers, shipping.CarrierInfo{Name: name, Connections: connections})
	}
	page.Accounts = offers.NameAccounts(carriers)
	return nil
}

// offerTitle returns an offer's carrier and service, and its account where
// there are several.
func (p shipmentView) offerTitle(rate ship.Rate) string {
	title := p.Names.Offer(rate)
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

// getShipment handles GET /app/{account}/{mode}/shipments/{id}.
func getShipment(v *site.Visit) error {
	page, err := shipmentOf(v)
	if err != nil {
		return err
	}
	return showShipment(v, http.StatusOK, page)
}

func showShipment(v *site.Visit, status int, page shipmentView) error {
	if err := addDeliveries(v, &page); err != nil {
		return err
	}
	if err := findRefusedVoid(v, &page); err != nil {
		return err
	}

	if page.HasPDF() && !page.HasPicture() {
		allowFrames(v.Writer.Header())
	}
	frame := v.Frame("Order "+page.Order.OrderID, "shipments")
	if v.IsPart() {
		return v.Show(status, shipmentDetail(frame, page))
	}
	return v.Show(status, shipmentPage(frame, page))
}

// findRefusedVoid adds the void that the carrier refused. A job may have
// requested it long after the person left, so the page shows it later, too.
func findRefusedVoid(v *site.Visit, page *shipmentView) error {
	if page.State != ship.StatePurchased || page.Problem != "" {
		return nil
	}

	refused, found, err := v.Shipping.RefusedVoidOf(v.Context(), v.Tenant(), page.ID)
	if found {
		page.Refused = &refused
	}
	return err
}

// downloadLabel handles GET /app/{account}/{mode}/shipments/{id}/label/{file}.
func downloadLabel(v *site.Visit) error {
	name, extension, _ := strings.Cut(v.Request.PathValue("file"), ".")
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	format := label.Format(extension)
	if !ok || name != "label" || format.ContentType() == "" {
		return site.ErrNoPage
	}

	options := label.Options{Format: format, Size: label.Size4x6, DPI: 203}
	if v.Query("dpi") == "300" {
		options.DPI = 300
	}
	if size := label.Size(v.Query("size")); size == label.SizeA4 || size == label.SizeLetter || size == label.SizeA6 {
		options.Size = size
	}
	file, err := v.Shipping.Label(v.Context(), v.Tenant(), id, options)
	if err != nil {
		return err
	}

	// Pages show the label as a picture; only a file that a person opened or
	// saved counts as printed.
	if v.Query("download") != "" || v.Query("open") != "" {
		v.RecordPrints(id)
	}

	header := v.Writer.Header()
	header.Set("ETag", file.ETag)
	if v.Request.Header.Get("If-None-Match") == file.ETag {
		v.Writer.WriteHeader(http.StatusNotModified)
		return nil
	}

	disposition := "inline"
	if v.Query("download") != "" {
		disposition = "attachment"
	}
	if format == label.PDF {
		allowFraming(header)
	}
	header.Set("Content-Type", format.ContentType())
	header.Set("Content-Disposition", disposition+`; filename="`+string(id)+"."+extension+`"`)
	v.Writer.Write(file.Data) // the client may have disconnected
	return nil
}

// allowFrames lets a page show a file of this server in a frame: a label that
// is not available as a picture.
func allowFrames(header http.Header) {
	header.Set("Content-Security-Policy", site.Policy+"; frame-src 'self'")
}

// allowFraming lets the dashboard's own pages show a file in a frame.
func allowFraming(header http.Header) {
	header.Set("Content-Security-Policy", strings.Replace(site.Policy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	header.Set("X-Frame-Options", "SAMEORIGIN")
}

// downloadDocument handles GET
// /app/{account}/{mode}/shipments/{id}/documents/{n}: a customs document, counted
// from 1.
func downloadDocument(v *site.Visit) error {
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	n, err := strconv.Atoi(v.Request.PathValue("n"))
	if !ok || err != nil || n < 1 {
		return site.ErrNoPage
	}

	document, err := v.Shipping.Document(v.Context(), v.Tenant(), id, n)
	if err != nil {
		return err
	}
	return showDocument(v, id, document)
}

// downloadProof handles GET /app/{account}/{mode}/shipments/{id}/proof-of-delivery.
func downloadProof(v *site.Visit) error {
	id, ok := ship.ParseShipmentID(v.Request.PathValue("id"))
	if !ok {
		return site.ErrNoPage
	}
	shipment, err := v.Shipping.Shipment(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}
	proof, err := v.Inquiry.Proof(v.Context(), shipment)
	if err != nil {
		return err
	}
	return showDocument(v, id, proof)
}

// showDocument sends a document for the browser to show. One of an unexpected format
// is not given a type that a browser would run or render.
func showDocument(v *site.Visit, id ship.ShipmentID, document ship.Document) error {
	contentType := map[string]string{"pdf": "application/pdf", "png": "image/png", "gif": "image/gif", "jpg": "image/jpeg"}[document.Format]

	header := v.Writer.Header()
	header.Set("Content-Type", cmp.Or(contentType, "application/octet-stream"))
	header.Set("Content-Disposition", `inline; filename="`+string(id)+"-"+document.Type+"."+document.Format+`"`)
	v.Writer.Write(document.Data) // the client may have disconnected
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
func printLabel(v *site.Visit) error {
	shipment, err := shipmentOf(v)
	if err != nil {
		return err
	}

	page := printView{shipmentView: shipment}
	if v.Query("next") == "new" {
		page.Next = v.To("shipments", "new") + "?last=" + url.QueryEscape(string(page.ID))
	}

	switch {
	case page.HasPicture() && page.HasPDF():
		if page.Sheets, err = labelSheets(v, page.ID); err != nil {
			return err
		}
	case page.HasPDF():
		allowFrames(v.Writer.Header())
	}
	if page.HasPDF() {
		v.RecordPrints(page.ID)
	}
	return v.Show(http.StatusOK, printPage(v.Frame("Print", "shipments"), page))
}

// printDPI is the resolution of the picture that is printed.
const printDPI = 300

// labelSheets divides the picture of a label into its sheets: each is printed
// on paper of its own.
func labelSheets(v *site.Visit, id ship.ShipmentID) ([]labelSheet, error) {
	options := label.Options{Format: label.PDF, Size: label.Size4x6, DPI: printDPI}
	pdf, err := v.Shipping.Label(v.Context(), v.Tenant(), id, options)
	if err != nil {
		return nil, err
	}
	options.Format = label.PNG
	picture, err := v.Shipping.Label(v.Context(), v.Tenant(), id, options)
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
func voidShipment(v *site.Visit) error {
	page, err := shipmentOf(v)
	if err != nil {
		return err
	}

	shipment, err := v.Shipping.Void(v.Context(), v.Tenant(), page.ID)
	if reason, fixable := site.ProblemsOf(err); fixable && ship.KindOf(err) == ship.Conflict {
		page.Problem = reason.All
		return showShipment(v, http.StatusConflict, page)
	}
	if err != nil {
		return err
	}

	v.Record("shipment.voided", string(page.ID), nil)

	// A void is in no log of events, so open pages are notified from here.
	v.NotifyPages(page.ID)

	done := "voided"
	if shipment.State != ship.StateVoided {
		done = "voiding"
	}
	return v.Redirect(v.To("shipments", string(page.ID)), done)
}

// advanceShipment handles POST /app/{account}/test/shipments/{id}/advance.
func advanceShipment(v *site.Visit) error {
	page, err := shipmentOf(v)
	if err != nil {
		return err
	}

	status := v.Form("status")
	ctx := v.Audited("shipment.advanced", "", map[string]string{"to": cmp.Or(status, "next")})
	_, err = v.Tracking.Advance(ctx, v.Tenant(), page.ID, ship.Status(status), v.Form("reason"))
	if reason, fixable := site.ProblemsOf(err); fixable {
		page.Problem = reason.All
		return showShipment(v, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("shipments", string(page.ID)), "advanced")
}

// Offers lists the offers that were compared for a shipment, cheapest first, at
// most ten, with the reason for those that could not be chosen.
func (p shipmentView) Offers() []offers.Tried {
	routed := p.Purchase.Routing
	var list []offers.Tried
	for _, rate := range routed.Seen[:min(len(routed.Seen), 10)] {
		offer := offers.Tried{Rate: rate}
		for _, drop := range routed.Dropped {
			if drop.Carrier == rate.Carrier && drop.Service == rate.Service {
				offer.Word = offers.DroppedWord(drop)
				offer.Class = "dropped"
			}
		}
		if rate.Carrier == p.Purchase.Carrier && rate.Service == p.Purchase.Service {
			offer.Word = ""
			offer.Class = "taken"
		}
		list = append(list, offer)
	}
	return list
}
