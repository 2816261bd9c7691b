package routing

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// sheetList is the page of rate sheets.
type sheetList struct {
	List  []rulebook.Sheet
	Tools site.ShortList
	Names offers.Catalog
	Form  sheetForm
}

var sheetLine = site.Line[store.RateSheet]{
	ID:    func(sh store.RateSheet) string { return sh.Name },
	Text:  func(sh store.RateSheet) string { return sh.Name + " " + parts.CarrierTitle(sh.Carrier) },
	State: func(sh store.RateSheet) string { return sh.Carrier },
}

// sheetForm is an import as it was filled in.
type sheetForm struct {
	Name, For string
	CSV       string // to show the lines that have errors
	Fixed     bool   // it replaces the sheet of the name
	Wrong     site.Problems
	Errors    []sheet.Problem
}

// lineOf returns the n-th line of the sheet that was sent.
func (f sheetForm) lineOf(n int) string {
	for line := range strings.Lines(f.CSV) {
		if n--; n == 0 {
			return strings.TrimSpace(line[:min(len(line), 160)])
		}
	}
	return ""
}

// listSheets handles GET /app/{account}/{mode}/rate-sheets.
func listSheets(v *site.Visit) error { return showSheets(v, http.StatusOK, sheetForm{}) }

func showSheets(v *site.Visit, status int, form sheetForm) (err error) {
	page := sheetList{Form: form}
	if page.Names, err = offers.CatalogOf(v); err != nil {
		return err
	}
	states := []parts.Choice{{Value: "", Title: "All carriers"}}
	for _, carrier := range page.Names {
		states = append(states, parts.Choice{Value: carrier.Name, Title: carrier.Title})
	}

	// Sheets are large: only those that the page shows are parsed.
	rows, err := v.Rules.SheetRows(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	rows, page.Tools = site.Shorten(v, "rate-sheets", rows, states, sheetLine)
	if page.List, err = v.Rules.Read(v.Context(), v.Tenant(), rows); err != nil {
		return err
	}
	return v.Show(status, sheetsPage(v.Frame("Rate sheets", "routing"), page))
}

// exportSheets handles GET /app/{account}/{mode}/rate-sheets.csv.
func exportSheets(v *site.Visit) error {
	rows, err := v.Rules.SheetRows(v.Context(), v.Tenant())
	if err != nil {
		return err
	}

	out := v.ExportCSV("rate-sheets", "name", "version", "carrier", "connection", "title", "currency", "valid from", "valid until", "services", "zones", "prices", "imported")
	for part := range slices.Chunk(site.Matching(v, rows, sheetLine), site.PageSize) {
		list, err := v.Rules.Read(v.Context(), v.Tenant(), part)
		if err != nil {
			return err
		}

		for _, row := range list {
			parsed := row.Parsed
			counts := parsed.Counts()
			out.Row(
				row.Name,
				strconv.Itoa(row.Version),
				row.Carrier,
				string(row.Connection),
				parsed.Name,
				parsed.Currency,
				string(parsed.ValidFrom),
				string(parsed.ValidUntil),
				strconv.Itoa(counts.Services),
				strconv.Itoa(counts.Zones),
				strconv.Itoa(counts.Prices),
				parts.MachineTime(row.AddedAt),
			)
		}
	}
	return nil
}

// importSheet handles POST /app/{account}/{mode}/rate-sheets: a file, under a
// name of its own or in place of the sheet that it replaces.
func importSheet(v *site.Visit) error {
	form, err := readSheetForm(v)
	if err == nil {
		target := offers.ParseTarget(form.For)
		ctx := v.Audited("rate_sheet.imported", "", map[string]string{"carrier": target.Carrier})
		var imported rulebook.Sheet
		imported, err = v.Rules.ImportSheet(ctx, v.Tenant(), rulebook.SheetInput{
			Name:       form.Name,
			Carrier:    target.Carrier,
			Connection: target.ConnectionID,
			CSV:        form.CSV,
		})
		if err == nil {
			return v.Redirect(v.To("rate-sheets", imported.Name), "imported")
		}
	}

	// Release the file: the page with the errors parses the sheets that it lists,
	// which takes as much memory again.
	v.Request.MultipartForm = nil

	found, fixable := site.ProblemsOf(err)
	if !fixable {
		return err
	}
	form.Wrong = found
	form.Errors = sheet.ProblemsOf(err)
	if len(form.Errors) > 0 {
		form.Wrong = site.Problems{All: "Nothing was imported: " + countOf(len(form.Errors), "error") + " in the file."}
	}

	// The errors appear on the page that the form was on.
	if !form.Fixed {
		return showSheets(v, http.StatusUnprocessableEntity, form)
	}
	page, err := sheetOf(v, form.Name)
	if err != nil {
		return err
	}
	page.Form = form
	return v.Show(http.StatusUnprocessableEntity, sheetPage(v.Frame(page.Name, "routing"), page))
}

// readSheetForm reads the form and the file.
func readSheetForm(v *site.Visit) (sheetForm, error) {
	refuse := func(detail string) error {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/csv", Code: "invalid", Detail: detail}})
	}

	err := v.Request.ParseMultipartForm(sheet.MaxBytes)
	form := sheetForm{Name: v.Form("name"), For: v.Form("for"), Fixed: v.Form("fixed") != ""}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return form, refuse(fmt.Sprintf("is larger than %d MB: remove services and areas that you do not ship to", sheet.MaxBytes/1_000_000))
	}

	// Any other error of the form means that there is no file in it.
	file, head, err := v.Request.FormFile("csv")
	if err != nil {
		return form, refuse("choose a file")
	}
	defer file.Close()
	data, err := site.ReadFile(file, head)
	if err != nil {
		return form, err
	}

	if form.Name == "" {
		form.Name = nameOfFile(head.Filename)
	}
	form.CSV = strings.ToValidUTF8(string(data), "\uFFFD")
	return form, nil
}

// nameOfFile returns the default name of a sheet, after its file.
func nameOfFile(file string) string {
	base := path.Base(strings.ReplaceAll(file, `\`, "/"))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSuffix(base, path.Ext(base))))
	return strings.Trim(name[:min(len(name), 60)], "-_")
}

// downloadSheet handles GET /app/{account}/{mode}/rate-sheets/{id}/sheet.csv: the
// file as it was imported.
func downloadSheet(v *site.Visit) error {
	version, _ := versionOf(v.Query("version"))
	imported, err := v.Rules.Sheet(v.Context(), v.Tenant(), v.Request.PathValue("id"), version)
	if err != nil {
		return err
	}
	return download(v, imported.Name+"-"+strconv.Itoa(imported.Version)+".csv", imported.CSV)
}

func download(v *site.Visit, name, text string) error {
	v.Writer.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.Writer.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	v.Writer.Write([]byte(text)) // the client may have disconnected
	return nil
}

// removeSheet handles POST /app/{account}/{mode}/rate-sheets/{id}.
func removeSheet(v *site.Visit) error {
	name := v.Request.PathValue("id")
	if err := v.Rules.RemoveSheet(v.Audited("rate_sheet.removed", "", nil), v.Tenant(), name); err != nil {
		return err
	}
	return v.Redirect(v.To("rate-sheets"), "removed")
}

// downloadSheetTemplate handles GET
// /app/{account}/{mode}/rate-sheet-template.csv: a small sheet with the
// services of a carrier, to fill in.
func downloadSheetTemplate(v *site.Visit) error {
	names, err := offers.CatalogOf(v)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return site.ErrNoPage
	}

	chosen := names[0]
	if i := slices.IndexFunc(names, func(c offers.Carrier) bool { return c.Name == v.Query("carrier") }); i >= 0 {
		chosen = names[i]
	}
	return download(v, "rate-sheet-"+chosen.Name+".csv", templateFor(chosen, v.Who.Account.Currency))
}

// templateFor writes the template for a carrier.
func templateFor(carrier offers.Carrier, currency string) string {
	var text strings.Builder
	text.WriteString("# Lines that begin with # are comments\n[sheet]\n" +
		"name,\"" + carrier.Title + " contract\"\n" +
		"currency," + cmp.Or(currency, "USD") + "\n" +
		"weight unit,lb\nlength unit,in\n")

	text.WriteString("\n[services]\nservice,name\n")
	for _, service := range carrier.Services {
		text.WriteString(service.Code + ",\"" + service.Name + "\"\n")
	}

	text.WriteString("\n[zones]\nzone,country,zip\n1,US,0\n2,US,1..9\n")

	text.WriteString("\n[rates]\nservice,up to,zone 1,zone 2\n")
	for i, service := range carrier.Services {
		for _, weight := range []int{1, 5, 20} {
			text.WriteString(service.Code + "," + strconv.Itoa(weight) + "," + strconv.Itoa(6+i+weight) + ".00," + strconv.Itoa(8+i+weight) + ".00\n")
		}
	}

	text.WriteString("\n[transit]\nservice,zone 1,zone 2\n")
	for _, service := range carrier.Services {
		text.WriteString(service.Code + ",2,4\n")
	}
	return text.String()
}
