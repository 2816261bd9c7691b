package developers

import (
	"net/http"
	"net/url"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// deviceView is the page on which a person approves a terminal.
type deviceView struct {
	Code     string
	Device   account.Device
	Form     keyForm
	Accounts []member.Membership // others that the terminal can be signed in to
	Done     string              // "terminal-approved" or "terminal-denied"
}

// terminalScopes are what a terminal may do in live mode if the person does not
// choose: a day's work, but not the settings of the account.
var terminalScopes = []string{"rates", "shipments:read", "shipments:write", "labels", "tracking", "events", "carriers", "requests"}

// terminalLife is how many days the key of a terminal works if the person does not
// choose.
const terminalLife = "90"

// getDevice handles GET /app/{account}/{mode}/device: the form for a code, or the
// terminal that shows it.
func getDevice(v *site.Visit) error {
	page := deviceView{Code: v.Query("code"), Done: v.Query("done")}
	if page.Code == "" {
		return v.Show(http.StatusOK, devicePage(v.Frame("Sign in a terminal", "keys"), page))
	}

	page.Form = keyForm{Days: terminalLife, Scopes: []string{"*"}}
	if v.Live {
		page.Form.Scopes = terminalScopes
	}
	return showDevice(v, http.StatusOK, page)
}

// showDevice shows the terminal of the page's code, or that there is none.
func showDevice(v *site.Visit, status int, page deviceView) error {
	device, err := findDevice(v, page.Code)
	switch {
	case err != nil:
		return showNoDevice(v, page, err)
	case v.Live && !device.WantsLive:
		// A terminal that did not ask for live mode does not get it.
		return v.Redirect(deviceAddress(v.Who.Account.ID, false, page.Code), "")
	}

	page.Device = device
	if page.Form.Name == "" {
		page.Form.Name = terminalName(device.Name, v.Who.Name())
	}
	memberships, err := v.Member.Accounts(v.Context(), v.Who.Actor)
	if err != nil {
		return err
	}
	for _, membership := range memberships {
		if membership.Account != v.Who.Account.ID && membership.Role.Can(member.ManageKeys) {
			page.Accounts = append(page.Accounts, membership)
		}
	}
	return v.Show(status, devicePage(v.Frame("Sign in a terminal", "keys"), page))
}

// showNoDevice says that no terminal shows the page's code, if that is the error.
func showNoDevice(v *site.Visit, page deviceView, err error) error {
	if ship.KindOf(err) != ship.NotFound {
		return err
	}
	page.Form.Wrong, _ = site.ProblemsOf(err)
	return v.Show(http.StatusNotFound, devicePage(v.Frame("Sign in a terminal", "keys"), page))
}

// findDevice returns the terminal that shows the code. Who tries many codes has to
// wait.
func findDevice(v *site.Visit, code string) (device account.Device, err error) {
	err = v.Member.TryDeviceCode(v.Context(), v.Who.Actor, func() (err error) {
		device, err = v.Account.Device(v.Context(), code)
		return err
	})
	return device, err
}

// terminalName returns what the key of a person's terminal is called, no longer than
// a name may be.
func terminalName(device, person string) string {
	name := []rune(device + " (" + person + ")")
	return string(name[:min(len(name), ship.MaxName)])
}

// deviceAddress returns the address of the page for a code.
func deviceAddress(id ship.AccountID, live bool, code string) string {
	return site.ModePath(id, live, "device") + "?code=" + url.QueryEscape(code)
}

// decideDevice handles POST /app/{account}/{mode}/device: the person approves the
// terminal in this account and mode, or denies it.
func decideDevice(v *site.Visit) error {
	page := deviceView{Code: v.Form("code")}
	person := v.Who.Actor.Person.ID
	if _, err := findDevice(v, page.Code); err != nil {
		return showNoDevice(v, page, err)
	}
	if v.Form("do") == "deny" {
		if err := v.Account.DenyDevice(v.Audited("", "", nil), page.Code, v.Tenant(), person); err != nil {
			return showNoDevice(v, page, err)
		}
		return v.Redirect(v.To("device"), "terminal-denied")
	}

	page.Form = keyFormOf(v)
	in := account.NewKeyInput{
		Account:   v.Who.Account.ID,
		Livemode:  v.Live,
		Name:      page.Form.Name,
		Scopes:    page.Form.Scopes,
		KeyLimits: page.Form.limits(),
		Person:    person,
	}
	err := ship.InvalidFields(page.Form.parseInto(&in, v.Who.Account.Currency))
	if err == nil {
		err = v.Account.ApproveDevice(v.Audited("", "", nil), page.Code, in)
	}

	switch invalid, fixable := site.ProblemsOf(err); {
	case err == nil:
		return v.Redirect(v.To("device"), "terminal-approved")
	case ship.KindOf(err) == ship.Invalid && fixable:
		page.Form.Wrong = invalid
		return showDevice(v, http.StatusUnprocessableEntity, page)
	}
	return showNoDevice(v, page, err)
}
