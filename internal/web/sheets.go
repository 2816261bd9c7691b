package web

import (
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// sheetRoutes are about rate sheets: the price lists of carrier contracts.
func (s *Web) sheetRoutes() []route {
	upload := post("/app/{account}/{mode}/rate-sheets", member.ManageRouting, s.importSheet)
	upload.most = sheet.MaxBytes + 1<<16 // the file and the other fields

	return []route{
		get("/app/{account}/{mode}/rate-sheets", member.ViewRouting, s.sheets),
		get("/app/{account}/{mode}/rate-sheets.csv", member.ViewRouting, s.sheetsCSV),
		upload,
		get("/app/{account}/{mode}/rate-sheets/{id}", member.ViewRouting, s.sheet),
		get("/app/{account}/{mode}/rate-sheets/{id}/sheet.csv", member.ViewRouting, s.sheetFile),
		get("/app/{account}/{mode}/rate-sheets/{id}/versions.csv", member.ViewRouting, s.sheetVersionsCSV),
		post("/app/{account}/{mode}/rate-sheets/{id}", member.ManageRouting, s.removeSheet),
		get("/app/{account}/{mode}/rate-sheet-template.csv", member.ViewRouting, s.sheetTemplate),
	}
}

// sheetList is the page of rate sheets.
type sheetList struct {
	List  []rulebook.Sheet
	Tools shortList
	Names catalog
	Form  sheetForm
}

var sheetLine = line[store.RateSheet]{
	id:    func(sh store.RateSheet) string { return sh.Name },
	text:  func(sh store.RateSheet) string { return sh.Name + " " + carrierTitle(sh.Carrier) },
	state: func(sh store.RateSheet) string { return sh.Carrier },
}

// sheetForm is an import as it was filled in.
type sheetForm struct {
	Name, For string
	CSV       string // to show the lines that have errors
	Fixed     bool   // it replaces the sheet of the name
	Wrong     problems
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

// sheets handles GET /app/{account}/{mode}/rate-sheets.
func (s *Web) sheets(v *visit) error { return v.showSheets(http.StatusOK, sheetForm{}) }

func (v *visit) showSheets(status int, form sheetForm) (err error) {
	page := sheetList{Form: form}
	if page.Names, err = v.catalog(); err != nil {
		return err
	}
	states := []choice{{"", "All carriers"}}
	for _, carrier := range page.Names {
		states = append(states, choice{carrier.Name, carrier.Title})
	}

	// Sheets are large: only those that the page shows are parsed.
	rows, err := v.Rules.SheetRows(v.ctx(), v.tenant())
	if err != nil {
		return err
	}
	rows, page.Tools = shorten(v, "rate-sheets", rows, states, sheetLine)
	if page.List, err = v.Rules.Read(v.ctx(), v.tenant(), rows); err != nil {
		return err
	}
	return v.show(status, sheetsPage(v.frame("Rate sheets", "routing"), page))
}

// sheetsCSV handles GET /app/{account}/{mode}/rate-sheets.csv.
func (s *Web) sheetsCSV(v *visit) error {
	rows, err := s.Rules.SheetRows(v.ctx(), v.tenant())
	if err != nil {
		return err
	}

	out := v.exportCSV("rate-sheets", "name", "version", "carrier", "connection", "title", "currency", "valid from", "valid until", "services", "zones", "prices", "imported")
	for part := range slices.Chunk(matching(v, rows, sheetLine), pageSize) {
		list, err := s.Rules.Read(v.ctx(), v.tenant(), part)
		if err != nil {
			return err
		}

		for _, row := range list {
			parsed := row.Parsed
			counts := parsed.Counts()
			out.row(
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
				machineTime(row.AddedAt),
			)
		}
	}
	return nil
}

// importSheet handles POST /app/{account}/{mode}/rate-sheets: a file, under a
// name of its own or in place of the sheet that it replaces.
func (s *Web) importSheet(v *visit) error {
	form, err := v.sheetForm()
	if err == nil {
		target := targetOf(form.For)
		ctx := v.audited("rate_sheet.imported", "", map[string]string{"carrier": target.Carrier})
		var imported rulebook.Sheet
		imported, err = s.Rules.ImportSheet(ctx, v.tenant(), rulebook.SheetInput{
			Name:       form.Name,
			Carrier:    target.Carrier,
			Connection: target.ConnectionID,
			CSV:        form.CSV,
		})
		if err == nil {
			return v.redirect(v.to("rate-sheets", imported.Name), "imported")
		}
	}

	found, fixable := problemsOf(err)
	if !fixable {
		return err
	}
	form.Wrong = found
	form.Errors = sheet.ProblemsOf(err)
	if len(form.Errors) > 0 {
		form.Wrong = problems{All: "Nothing was imported: " + countOf(len(form.Errors), "error") + " in the file."}
	}

	// The errors appear on the page that the form was on.
	if !form.Fixed {
		return v.showSheets(http.StatusUnprocessableEntity, form)
	}
	page, err := v.sheetOf(form.Name)
	if err != nil {
		return err
	}
	page.Form = form
	return v.show(http.StatusUnprocessableEntity, sheetPage(v.frame(page.Name, "routing"), page))
}

// sheetForm reads the form and the file.
func (v *visit) sheetForm() (sheetForm, error) {
	refuse := func(detail string) error {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/csv", Code: "invalid", Detail: detail}})
	}

	err := v.r.ParseMultipartForm(sheet.MaxBytes)
	form := sheetForm{Name: v.form("name"), For: v.form("for"), Fixed: v.form("fixed") != ""}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return form, refuse("is larger than 10 MB")
	}

	// Any other error of the form means that there is no file in it.
	file, head, err := v.r.FormFile("csv")
	if err != nil {
		return form, refuse("choose a file")
	}
	defer file.Close()
	data, err := io.ReadAll(file)
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

// sheetFile handles GET /app/{account}/{mode}/rate-sheets/{id}/sheet.csv: the
// file as it was imported.
func (s *Web) sheetFile(v *visit) error {
	version, _ := versionOf(v.query("version"))
	imported, err := s.Rules.Sheet(v.ctx(), v.tenant(), v.r.PathValue("id"), version)
	if err != nil {
		return err
	}
	return v.download(imported.Name+"-"+strconv.Itoa(imported.Version)+".csv", imported.CSV)
}

func (v *visit) download(name, text string) error {
	v.w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	v.w.Write([]byte(text)) // the reader may have left
	return nil
}

// removeSheet handles POST /app/{account}/{mode}/rate-sheets/{id}.
func (s *Web) removeSheet(v *visit) error {
	name := v.r.PathValue("id")
	if err := s.Rules.RemoveSheet(v.audited("rate_sheet.removed", "", nil), v.tenant(), name); err != nil {
		return err
	}
	return v.redirect(v.to("rate-sheets"), "removed")
}

// sheetTemplate handles GET /app/{account}/{mode}/rate-sheet-template.csv: a
// small sheet with the services of a carrier, to fill in.
func (s *Web) sheetTemplate(v *visit) error {
	names, err := v.catalog()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errNoPage
	}

	chosen := names[0]
	if i := slices.IndexFunc(names, func(c catalogCarrier) bool { return c.Name == v.query("carrier") }); i >= 0 {
		chosen = names[i]
	}
	return v.download("rate-sheet-"+chosen.Name+".csv", templateFor(chosen, v.who.Account.Currency))
}

// templateFor writes the template for a carrier.
func templateFor(carrier catalogCarrier, currency string) string {
	var text strings.Builder
	text.WriteString("# Lines that begin with # are comments\n[sheet]\n" +
		"name,\"" + carrier.Title + " contract\"\n" +
		"currency," + or(currency, "USD") + "\n" +
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
