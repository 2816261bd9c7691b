package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
)

// settingsForm is the account's settings as they were filled in.
type settingsForm struct {
	Name, Currency string
	Units          ship.Units
	Origin         ship.Address
	Countries      []choice
	Logo           account.Logo
	Wrong          problems
}

// settings handles GET /app/{account}/{mode}/settings.
func (s *Web) settings(v *visit) error { return v.settingsWith(http.StatusOK, problems{}) }

// settingsWith shows the current settings, and the problems of an attempt to
// change them.
func (v *visit) settingsWith(status int, wrong problems) error {
	current := v.who.Account
	logo, err := v.Account.Logo(v.ctx(), current.ID)
	if err != nil {
		return err
	}

	form := settingsForm{
		Name:      current.Name,
		Currency:  current.Currency,
		Units:     current.Units,
		Origin:    ship.Address{Country: "US"},
		Countries: countryChoices(),
		Logo:      logo,
		Wrong:     wrong,
	}
	if current.Origin != nil {
		form.Origin = *current.Origin
	}
	return v.show(status, settingsPage(v.frame("Settings", "settings"), form))
}

// saveSettings handles POST /app/{account}/{mode}/settings.
func (s *Web) saveSettings(v *visit) error {
	form := settingsForm{
		Name:      v.form("name"),
		Currency:  v.form("currency"),
		Countries: countryChoices(),
		Units: ship.Units{
			Weight: ship.WeightUnit(v.form("weightUnit")),
			Length: ship.LengthUnit(v.form("lengthUnit")),
		},
		Origin: ship.Address{
			Name:     v.form("originName"),
			Company:  v.form("company"),
			Address1: v.form("address1"),
			Address2: v.form("address2"),
			City:     v.form("city"),
			State:    v.form("state"),
			Zip:      v.form("zip"),
			Country:  v.form("country"),
			Phone:    v.form("phone"),
			Email:    v.form("email"),
		},
	}

	// The country is preselected, so on its own it does not mean that an origin
	// was given.
	update := account.Settings{Name: &form.Name, Currency: &form.Currency, Units: &form.Units}
	if form.Origin != (ship.Address{Country: form.Origin.Country}) {
		update.Origin = &form.Origin
	}

	_, err := s.Account.Update(v.audited("settings.changed", "", nil), v.who.Account.ID, update)
	if found, fixable := problemsOf(err); fixable {
		form.Wrong = found
		if form.Logo, err = s.Account.Logo(v.ctx(), v.who.Account.ID); err != nil {
			return err
		}
		return v.show(http.StatusUnprocessableEntity, settingsPage(v.frame("Settings", "settings"), form))
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("settings"), "saved")
}
