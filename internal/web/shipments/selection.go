package shipments

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// maxSelected is how many shipments can be selected together: as many as one file
// of labels holds.
const maxSelected = shipping.MaxLabels

// maySelect reports whether the person can do anything with a selection.
func maySelect(f site.Frame) bool {
	actions := []member.Action{member.PrintLabels, member.ExportShipments, member.VoidShipments, member.BuyShipments}
	return slices.ContainsFunc(actions, f.Who.Can)
}

// papers are the sizes that labels and packing slips can be printed on.
var papers = []parts.Choice{
	{Value: string(label.Size4x6), Title: "4 × 6 in"},
	{Value: string(label.SizeLetter), Title: "Letter"},
	{Value: string(label.SizeA4), Title: "A4"},
}

// paperOf returns the size of paper that a form or an address asks for.
func paperOf(text string) label.Size {
	for _, paper := range papers {
		if paper.Value == text || text == string(label.SizeA6) {
			return label.Size(text)
		}
	}
	return label.Size4x6
}

// selection returns the shipments that a form is about: those that are checked, in
// the order of the form, or all that match the filter, up to maxSelected. IDs that
// do not exist are left out.
func selection(v *site.Visit) ([]ship.Shipment, error) {
	if v.Form("all") != "" {
		filter := readShipmentQuery(v.Form).filter()
		filter.Page = ship.Page{Limit: maxSelected}
		list, _, err := v.Shipping.Shipments(v.Context(), v.Tenant(), filter)
		return list, err
	}

	var ids []ship.ShipmentID
	for _, text := range v.Request.Form["id"] {
		if id, ok := ship.ParseShipmentID(text); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > maxSelected {
		return nil, ship.Errorf(ship.Invalid, "at most %d shipments can be selected together; %d are", maxSelected, len(ids))
	}

	found, err := v.Shipping.ShipmentsByID(v.Context(), v.Tenant(), ids)
	if err != nil {
		return nil, err
	}
	var list []ship.Shipment
	for _, id := range ids {
		if shipment, ok := found[id]; ok {
			list = append(list, shipment)
		}
	}
	return list, nil
}

func idsOf(list []ship.Shipment) []ship.ShipmentID {
	ids := make([]ship.ShipmentID, len(list))
	for i, shipment := range list {
		ids[i] = shipment.ID
	}
	return ids
}

// withSelection calls do with the selected shipments. A form without any leads
// back to the list.
func withSelection(v *site.Visit, do func([]ship.Shipment) error) error {
	list, err := selection(v)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return v.Redirect(v.To("shipments"), "nothing-selected")
	}
	return do(list)
}

// printSelectedPDF handles POST /app/{account}/{mode}/shipments/labels.pdf.
func printSelectedPDF(v *site.Visit) error { return printSelected(v, label.PDF) }

// printSelectedZPL handles POST /app/{account}/{mode}/shipments/labels.zpl.
func printSelectedZPL(v *site.Visit) error { return printSelected(v, label.ZPL) }

// printSelected sends the labels of the selected shipments in one file. If some
// are not in it, a page lists them first.
func printSelected(v *site.Visit, format label.Format) error {
	return withSelection(v, func(list []ship.Shipment) error {
		options := label.Options{Format: format, Size: label.Size4x6, DPI: 203}
		if format == label.PDF {
			options.Size = paperOf(v.Form("paper"))
		}
		if v.Form("dpi") == "300" {
			options.DPI = 300
		}
		file, err := v.Shipping.Labels(v.Context(), v.Tenant(), idsOf(list), options)
		if err != nil && ship.CodeOf(err) != "label_not_ready" {
			return showPreparing(v, err)
		}

		// The page links to the file with the number of labels that are missing; if
		// that has changed by then, the page is shown again.
		missing := missingLabels(list, file, format)
		if len(missing) > 0 && (file.Data == nil || v.Form("without") != strconv.Itoa(len(missing))) {
			page := missingView{
				Format:   format,
				Paper:    options.Size,
				Included: file.Included,
				List:     missing,
				IDs:      idsOf(list),
			}
			return v.Show(http.StatusOK, missingPage(v.Frame("Labels", "shipments"), page))
		}
		v.RecordPrints(file.Printed...)

		disposition := "inline"
		if format == label.ZPL {
			disposition = "attachment" // browsers cannot display ZPL
		}
		header := v.Writer.Header()
		header.Set("Content-Type", format.ContentType())
		header.Set("Content-Disposition", disposition+`; filename="labels.`+string(format)+`"`)
		header.Set("X-Labels", strconv.Itoa(file.Included))
		v.Writer.Write(file.Data) // the client may have disconnected
		return nil
	})
}

// missingView is the page of labels that a file leaves out.
type missingView struct {
	Format   label.Format
	Paper    label.Size
	Included int // labels that are in the file
	List     []missingLabel
	IDs      []ship.ShipmentID // of the whole selection
}

// A missingLabel is one that is not in a file, and why.
type missingLabel struct {
	ship.Shipment
	Why      string
	HasOther bool // it may be had in the other format
}

// OtherFormat returns the format that some of them may be available in.
func (p missingView) OtherFormat() label.Format {
	if p.Format == label.ZPL {
		return label.PDF
	}
	return label.ZPL
}

// Others returns the shipments whose labels may be available in the other format.
func (p missingView) Others() (ids []ship.ShipmentID) {
	for _, missing := range p.List {
		if missing.HasOther {
			ids = append(ids, missing.ID)
		}
	}
	return ids
}

// missingLabels lists the shipments whose labels are not in the file.
func missingLabels(list []ship.Shipment, file shipping.LabelBundle, format label.Format) (missing []missingLabel) {
	for _, shipment := range list {
		if slices.Contains(file.Printed, shipment.ID) {
			continue
		}

		reason, isExcluded := file.Excluded[shipment.ID]
		switch {
		case !isExcluded:
			missing = append(missing, missingLabel{Shipment: shipment, Why: whyNoLabel(shipment)})
		case ship.CodeOf(reason) == "format_unavailable":
			why := parts.CarrierTitle(shipment.Purchase.Carrier) + " sold this label in a format that cannot be converted to " + strings.ToUpper(string(format)) + "."
			missing = append(missing, missingLabel{Shipment: shipment, Why: why, HasOther: true})
		default:
			missing = append(missing, missingLabel{Shipment: shipment, Why: parts.Sentence(reason.Error())})
		}
	}
	return missing
}

// whyNoLabel says why a shipment has no label to print.
func whyNoLabel(shipment ship.Shipment) string {
	switch {
	case shipment.IsErased:
		return "The label was erased with the personal data of the shipment."
	case shipment.State == ship.StateVoided || shipment.State == ship.StateRefundPending:
		return "The label was voided."
	case shipment.State == ship.StateFailed:
		return "The label was not bought."
	}
	return "The purchase of the label has not finished."
}

// exportSelected handles POST /app/{account}/{mode}/shipments.csv: the selected
// shipments as a table.
func exportSelected(v *site.Visit) error {
	return withSelection(v, func(list []ship.Shipment) error {
		out := v.ExportCSV("shipments", shipmentColumns...)
		for _, shipment := range list {
			out.Row(shipmentCells(shipment)...)
		}
		return nil
	})
}

// printedWords says how often a label was printed.
func printedWords(printed store.LabelPrint) string {
	switch printed.Count {
	case 0:
		return "Not printed"
	case 1:
		return "Printed once"
	case 2:
		return "Printed twice"
	}
	return "Printed " + parts.Grouped(printed.Count) + " times"
}

// printedShort is printedWords where there is little room.
func printedShort(printed store.LabelPrint) string {
	if printed.Count == 1 {
		return "Printed"
	}
	return "Printed " + parts.Grouped(printed.Count) + "×"
}

// counted is a number of things, such as "12 labels".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return parts.Grouped(n) + " " + thing + "s"
}
