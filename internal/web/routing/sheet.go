package routing

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// sheetView is the page of one rate sheet.
type sheetView struct {
	rulebook.Sheet
	Newest   store.RateSheet   // the latest import or removal under the name
	Versions []store.RateSheet // a page of them, newest first
	At       string            // cursor of the page
	Next     string
	Names    offers.Catalog
	Form     sheetForm
}

// Target returns what the sheet prices.
func (p sheetView) Target() routing.Target {
	return routing.Target{Carrier: p.Carrier, ConnectionID: p.Connection}
}

// Word returns the state of a version of the sheet, and the class of its badge.
func (p sheetView) Word(version store.RateSheet) (word, class string) {
	switch {
	case version.CSV == "":
		return "Removed", "badge"
	case version.Version == p.Newest.Version:
		return "Active", "badge badge-ok"
	}
	return "Replaced", "badge"
}

// sheetOf reads a sheet and the earlier imports under its name.
func sheetOf(v *site.Visit, name string) (page sheetView, err error) {
	version, _ := versionOf(v.Query("version"))
	if page.Sheet, err = v.Rules.Sheet(v.Context(), v.Tenant(), name, version); err != nil {
		return page, err
	}

	page.At = v.Query("cursor")
	before, _ := versionOf(page.At)
	if page.Versions, err = v.Rules.SheetVersions(v.Context(), v.Tenant(), name, before, site.PageSize+1); err != nil {
		return page, err
	}
	newest, err := v.Rules.SheetVersions(v.Context(), v.Tenant(), name, 0, 1)
	if err != nil {
		return page, err
	}
	page.Newest = newest[0] // the sheet itself is a version

	if len(page.Versions) > site.PageSize {
		page.Versions = page.Versions[:site.PageSize]
		page.Next = v.To("rate-sheets", name) + "?cursor=" + strconv.Itoa(page.Versions[site.PageSize-1].Version)
		if version > 0 {
			page.Next += "&version=" + strconv.Itoa(version)
		}
	}
	page.Names, err = offers.CatalogOf(v)
	return page, err
}

// getSheet handles GET /app/{account}/{mode}/rate-sheets/{id}.
func getSheet(v *site.Visit) error {
	page, err := sheetOf(v, v.Request.PathValue("id"))
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, sheetPage(v.Frame(page.Name, "routing"), page))
}

// exportSheetVersions handles GET
// /app/{account}/{mode}/rate-sheets/{id}/versions.csv.
func exportSheetVersions(v *site.Visit) error {
	name := v.Request.PathValue("id")
	list, err := v.Rules.SheetVersions(v.Context(), v.Tenant(), name, 0, site.CSVPart)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return site.ErrNoPage
	}

	page := sheetView{Newest: list[0]}
	out := v.ExportCSV("rate-sheet-"+name, "name", "version", "what", "carrier", "connection", "when")
	for n := 0; len(list) > 0 && n < site.CSVLimit && out.Err == nil; n += site.CSVPart {
		for _, version := range list {
			word, _ := page.Word(version)
			out.Row(
				version.Name,
				strconv.Itoa(version.Version),
				word,
				version.Carrier,
				string(version.Connection),
				parts.MachineTime(version.AddedAt),
			)
		}

		oldest := list[len(list)-1].Version
		if list, err = v.Rules.SheetVersions(v.Context(), v.Tenant(), name, oldest, site.CSVPart); err != nil {
			return err
		}
	}
	return nil
}
