package team

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// settingsForm is the account's settings as they were filled in.
type settingsForm struct {
	Name, Currency string
	Units          ship.Units
	Origin         ship.Address
	Countries      []parts.Choice
	Logo           account.Logo
	Storage        []store.StorageUse // today, live and test
	Wrong          site.Problems
}

// getSettings handles GET /app/{account}/{mode}/settings.
func getSettings(v *site.Visit) error { return settingsWith(v, http.StatusOK, site.Problems{}) }

// settingsWith shows the current settings, and the problems of an attempt to
// change them.
func settingsWith(v *site.Visit, status int, wrong site.Problems) error {
	current := v.Who.Account
	logo, err := v.Account.Logo(v.Context(), current.ID)
	if err != nil {
		return err
	}

	storage, err := v.Account.StorageToday(v.Context(), current.ID)
	if err != nil {
		return err
	}

	form := settingsForm{
		Name:      current.Name,
		Currency:  current.Currency,
		Units:     current.Units,
		Origin:    ship.Address{Country: "US"},
		Countries: parts.CountryChoices(),
		Logo:      logo,
		Storage:   storage,
		Wrong:     wrong,
	}
	if current.Origin != nil {
		form.Origin = *current.Origin
	}
	return v.Show(status, settingsPage(v.Frame("Settings", "settings"), form))
}

// saveSettings handles POST /app/{account}/{mode}/settings.
func saveSettings(v *site.Visit) error {
	form := settingsForm{
		Name:      v.Form("name"),
		Currency:  v.Form("currency"),
		Countries: parts.CountryChoices(),
		Units: ship.Units{
			Weight: ship.WeightUnit(v.Form("weightUnit")),
			Length: ship.LengthUnit(v.Form("lengthUnit")),
		},
		Origin: ship.Address{
			Name:     v.Form("originName"),
			Company:  v.Form("company"),
			Address1: v.Form("address1"),
			Address2: v.Form("address2"),
			City:     v.Form("city"),
			State:    v.Form("state"),
			Zip:      v.Form("zip"),
			Country:  v.Form("country"),
			Phone:    v.Form("phone"),
			Email:    v.Form("email"),
		},
	}

	// The country is preselected, so on its own it does not mean that an origin
	// was given.
	update := account.Settings{Name: &form.Name, Currency: &form.Currency, Units: &form.Units}
	if form.Origin != (ship.Address{Country: form.Origin.Country}) {
		update.Origin = &form.Origin
	}

	_, err := v.Account.Update(v.Audited("settings.changed", "", nil), v.Who.Account.ID, update)
	if found, fixable := site.ProblemsOf(err); fixable {
		form.Wrong = found
		if form.Logo, err = v.Account.Logo(v.Context(), v.Who.Account.ID); err != nil {
			return err
		}
		if form.Storage, err = v.Account.StorageToday(v.Context(), v.Who.Account.ID); err != nil {
			return err
		}
		return v.Show(http.StatusUnprocessableEntity, settingsPage(v.Frame("Settings", "settings"), form))
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("settings"), "saved")
}

// storageMode names the mode of a line of the storage card.
func storageMode(use store.StorageUse) string {
	if use.Livemode {
		return "Live"
	}
	return "Test"
}

// storageText says how much of the quota of a day is used.
func storageText(use store.StorageUse) string {
	text := megabytes(use.Bytes)
	if use.Quota > 0 {
		text += " of " + megabytes(use.Quota)
	}
	return text
}

func megabytes(bytes int64) string {
	return strconv.FormatFloat(float64(bytes)/1e6, 'f', 1, 64) + " MB"
}
