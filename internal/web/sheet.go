package web

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/store"
)

// sheetView is the page of one rate sheet.
type sheetView struct {
	rulebook.Sheet
	Newest   store.RateSheet   // the latest import or removal under the name
	Versions []store.RateSheet // a page of them, newest first
	At       string            // cursor of the page
	Next     string
	Names    catalog
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
func (v *visit) sheetOf(name string) (page sheetView, err error) {
	version, _ := versionOf(v.query("version"))
	if page.Sheet, err = v.Rules.Sheet(v.ctx(), v.tenant(), name, version); err != nil {
		return page, err
	}

	page.At = v.query("cursor")
	before, _ := versionOf(page.At)
	if page.Versions, err = v.Rules.SheetVersions(v.ctx(), v.tenant(), name, before, pageSize+1); err != nil {
		return page, err
	}
	newest, err := v.Rules.SheetVersions(v.ctx(), v.tenant(), name, 0, 1)
	if err != nil {
		return page, err
	}
	page.Newest = newest[0] // the sheet itself is a version

	if len(page.Versions) > pageSize {
		page.Versions = page.Versions[:pageSize]
		page.Next = v.to("rate-sheets", name) + "?cursor=" + strconv.Itoa(page.Versions[pageSize-1].Version)
		if version > 0 {
			page.Next += "&version=" + strconv.Itoa(version)
		}
	}
	page.Names, err = v.catalog()
	return page, err
}

// sheet handles GET /app/{account}/{mode}/rate-sheets/{id}.
func (s *Web) sheet(v *visit) error {
	page, err := v.sheetOf(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, sheetPage(v.frame(page.Name, "routing"), page))
}

// sheetVersionsCSV handles GET
// /app/{account}/{mode}/rate-sheets/{id}/versions.csv.
func (s *Web) sheetVersionsCSV(v *visit) error {
	name := v.r.PathValue("id")
	list, err := s.Rules.SheetVersions(v.ctx(), v.tenant(), name, 0, csvPart)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errNoPage
	}

	page := sheetView{Newest: list[0]}
	out := v.exportCSV("rate-sheet-"+name, "name", "version", "what", "carrier", "connection", "when")
	for n := 0; len(list) > 0 && n < csvLimit && out.err == nil; n += csvPart {
		for _, version := range list {
			word, _ := page.Word(version)
			out.row(
				version.Name,
				strconv.Itoa(version.Version),
				word,
				version.Carrier,
				string(version.Connection),
				machineTime(version.AddedAt),
			)
		}

		oldest := list[len(list)-1].Version
		if list, err = s.Rules.SheetVersions(v.ctx(), v.tenant(), name, oldest, csvPart); err != nil {
			return err
		}
	}
	return nil
}
