package team

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/site"
)

// privacyView is the page about personal data: the form, and the requests so
// far.
type privacyView struct {
	Erasures []store.Erasure
	Exports  []store.Export
	Keep     store.AccountRetention
	Wrong    site.Problems
}

// shownRequests is how many requests of each kind the page lists.
const shownRequests = 50

// getPrivacy handles GET /app/{account}/{mode}/privacy.
func getPrivacy(v *site.Visit) error { return privacyWith(v, http.StatusOK, site.Problems{}) }

// privacyWith shows the requests so far, and the problems of a new one. What was
// typed is not shown again: it would be kept by the browser.
func privacyWith(v *site.Visit, status int, wrong site.Problems) error {
	page := ship.Page{Limit: shownRequests}
	erasures, err := v.Privacy.Erasures(v.Context(), v.Tenant(), page)
	if err != nil {
		return err
	}
	exports, err := v.Privacy.Exports(v.Context(), v.Tenant(), page)
	if err != nil {
		return err
	}

	keep, err := v.Privacy.Retention(v.Context(), v.Who.Account.ID)
	if err != nil {
		return err
	}

	view := privacyView{
		Erasures: erasures,
		Exports:  exports,
		Keep:     keep,
		Wrong:    wrong,
	}
	return v.Show(status, privacyPage(v.Frame("Privacy", "privacy"), view))
}

// requestPrivacy handles POST /app/{account}/{mode}/privacy: it erases or
// exports, depending on the button.
func requestPrivacy(v *site.Visit) error {
	person := ship.Person{Email: v.Form("email"), Phone: v.Form("phone")}
	if text := v.Form("shipment"); text != "" {
		id, ok := ship.ParseShipmentID(text)
		if !ok {
			return privacyWith(v, http.StatusUnprocessableEntity, site.Problems{All: "There is no such shipment."})
		}
		person.Shipment = id
	}

	var err error
	done := "erasing"
	switch v.Form("do") {
	case "erase":
		_, err = v.Privacy.RequestErasure(v.Audited("", "", nil), v.Tenant(), person)
	case "export":
		done = "exporting"
		_, err = v.Privacy.RequestExport(v.Audited("", "", nil), v.Tenant(), person)
	default:
		return ship.Errorf(ship.NotFound, "no such action")
	}

	if wrong, fixable := site.ProblemsOf(err); fixable {
		return privacyWith(v, http.StatusUnprocessableEntity, wrong)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("privacy"), done)
}

// saveRetention handles POST /app/{account}/{mode}/privacy/retention.
func saveRetention(v *site.Visit) error {
	chosen := store.AccountRetention{
		Account:  v.Who.Account.ID,
		Personal: daysOf(v.Form("personalDataDays")),
		Labels:   daysOf(v.Form("labelDays")),
	}
	err := v.Privacy.SetRetention(v.Audited("", "", nil), chosen)
	if wrong, fixable := site.ProblemsOf(err); fixable {
		return privacyWith(v, http.StatusUnprocessableEntity, wrong)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("privacy"), "saved")
}

// daysOf reads a number of days: zero for none, and one that is never allowed
// for what is no number.
func daysOf(text string) int {
	if text == "" {
		return 0
	}
	days, err := strconv.Atoi(text)
	if err != nil || days == 0 {
		return -1
	}
	return days
}

// daysText is a number of days as the form shows it.
func daysText(days int) string {
	if days == 0 {
		return ""
	}
	return strconv.Itoa(days)
}

// downloadExport handles GET /app/{account}/{mode}/privacy/exports/{id}.
func downloadExport(v *site.Visit) error {
	id, ok := ship.ParseExportID(v.Request.PathValue("id"))
	if !ok {
		return ship.Errorf(ship.NotFound, "no such export")
	}
	file, err := v.Privacy.ExportFile(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}

	// Who reads what is held about a person is recorded before they can.
	entry := member.Entry{Action: "export.downloaded", Target: string(id), Mode: v.Mode()}
	if err := v.Member.Record(v.Context(), v.Who.Actor, entry); err != nil {
		return err
	}
	v.Writer.Header().Set("Content-Type", "application/json")
	v.Writer.Header().Set("Content-Disposition", `attachment; filename="`+string(id)+`.json"`)
	_, err = v.Writer.Write(file)
	return err
}

// erasureWords are the states of erasures as people read them.
var erasureWords = map[string]string{
	store.ErasurePending: "Pending",
	store.ErasureRunning: "Running",
	store.ErasureWaiting: "Waiting for open purchases",
	store.ErasureDone:    "Done",
}

// exportWords are the states of exports as people read them.
var exportWords = map[string]string{
	store.ExportPending: "Pending",
	store.ExportDone:    "Ready",
	store.ExportExpired: "Expired",
}

// subjectWords say what was given.
var subjectWords = map[string]string{
	"email":    "E-mail address",
	"phone":    "Phone number",
	"shipment": "Shipment",
}
