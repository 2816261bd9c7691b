package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

// settingsForm is the account as it was filled in.
type settingsForm struct {
	Name, Currency string
	Units          ship.Units
	Origin         ship.Address
	Countries      []choice
	Logo           account.Logo
	Wrong          problems
}

// settings handles GET /app/{mode}/settings.
func (s *Web) settings(v *visit) error { return v.settingsWith(http.StatusOK, problems{}) }

// settingsWith shows the settings as they are, and what was wrong with a try
// to change them.
func (v *visit) settingsWith(status int, wrong problems) error {
	a := v.who.Account
	logo, err := v.Account.Logo(v.ctx(), a.ID)
	if err != nil {
		return err
	}
	p := settingsForm{Logo: logo, Wrong: wrong, Name: a.Name, Currency: a.Currency, Units: a.Units, Countries: countryChoices(), Origin: ship.Address{Country: "US"}}
	if a.Origin != nil {
		p.Origin = *a.Origin
	}
	return v.show(status, settingsPage(v.frame("Settings", "settings"), p))
}

// saveSettings handles POST /app/{mode}/settings.
func (s *Web) saveSettings(v *visit) error {
	p := settingsForm{
		Name: v.form("name"), Currency: v.form("currency"), Countries: countryChoices(),
		Units: ship.Units{Weight: ship.WeightUnit(v.form("weightUnit")), Length: ship.LengthUnit(v.form("lengthUnit"))},
		Origin: ship.Address{
			Name: v.form("originName"), Company: v.form("company"), Address1: v.form("address1"), Address2: v.form("address2"), City: v.form("city"),
			State: v.form("state"), Zip: v.form("zip"), Country: v.form("country"), Phone: v.form("phone"), Email: v.form("email"),
		},
	}
	set := account.Settings{Name: &p.Name, Currency: &p.Currency, Units: &p.Units}
	if p.Origin != (ship.Address{Country: p.Origin.Country}) {
		set.Origin = &p.Origin
	}
	_, err := s.Account.Update(v.audited("settings.changed", "", nil), v.who.Account.ID, set)
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong = wrong
		if p.Logo, err = s.Account.Logo(v.ctx(), v.who.Account.ID); err != nil {
			return err
		}
		return v.show(http.StatusUnprocessableEntity, settingsPage(v.frame("Settings", "settings"), p))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("settings"), "saved")
}
