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
	Newest   store.RateSheet   // what was done last under the name
	Versions []store.RateSheet // a page of them, the newest first
	At       string            // where the page begins
	Next     string
	Names    catalog
	Form     sheetForm
}

// Target is what the sheet prices.
func (p sheetView) Target() routing.Target {
	return routing.Target{Carrier: p.Carrier, ConnectionID: p.Connection}
}

// Word is what became of a version of the sheet, and the class of its badge.
func (p sheetView) Word(old store.RateSheet) (word, class string) {
	switch {
	case old.CSV == "":
		return "Removed", "badge"
	case old.Version == p.Newest.Version:
		return "Active", "badge badge-ok"
	}
	return "Replaced", "badge"
}

// sheetOf reads a sheet and what was imported under its name before.
func (v *visit) sheetOf(name string) (p sheetView, err error) {
	version, _ := versionOf(v.query("version"))
	if p.Sheet, err = v.Rules.Sheet(v.ctx(), v.tenant(), name, version); err != nil {
		return p, err
	}
	p.At = v.query("cursor")
	before, _ := versionOf(p.At)
	if p.Versions, err = v.Rules.SheetVersions(v.ctx(), v.tenant(), name, before, pageSize+1); err != nil {
		return p, err
	}
	newest, err := v.Rules.SheetVersions(v.ctx(), v.tenant(), name, 0, 1)
	if err != nil {
		return p, err
	}
	p.Newest = newest[0] // the sheet itself is one
	if len(p.Versions) > pageSize {
		p.Versions = p.Versions[:pageSize]
		p.Next = v.to("rate-sheets", name) + "?cursor=" + strconv.Itoa(p.Versions[pageSize-1].Version)
		if version > 0 {
			p.Next += "&version=" + strconv.Itoa(version)
		}
	}
	p.Names, err = v.catalog()
	return p, err
}

// sheet handles GET /app/{mode}/rate-sheets/{id}.
func (s *Web) sheet(v *visit) error {
	p, err := v.sheetOf(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, sheetPage(v.frame(p.Name, "routing"), p))
}

// sheetVersionsCSV handles GET /app/{mode}/rate-sheets/{id}/versions.csv.
func (s *Web) sheetVersionsCSV(v *visit) error {
	name := v.r.PathValue("id")
	newest, err := s.Rules.SheetVersions(v.ctx(), v.tenant(), name, 0, csvPart)
	if err != nil {
		return err
	}
	if len(newest) == 0 {
		return errNoPage
	}
	p := sheetView{Newest: newest[0]}
	out := v.exportCSV("rate-sheet-"+name, "name", "version", "what", "carrier", "connection", "when")
	for list, n := newest, 0; len(list) > 0 && n < csvLimit && out.err == nil; n += csvPart {
		for _, old := range list {
			word, _ := p.Word(old)
			out.row(old.Name, strconv.Itoa(old.Version), word, old.Carrier, string(old.Connection), machineTime(old.AddedAt))
		}
		if list, err = s.Rules.SheetVersions(v.ctx(), v.tenant(), name, list[len(list)-1].Version, csvPart); err != nil {
			return err
		}
	}
	return nil
}
