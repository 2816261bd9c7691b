package team

import (
	"errors"
	"net/http"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// getLogo handles GET /app/{account}/{mode}/settings/logo/{hash}.
func getLogo(v *site.Visit) error { return v.ShowLogo(v.Who.Account.ID) }

// changeLogo handles POST /app/{account}/{mode}/settings/logo.
func changeLogo(v *site.Visit) error {
	id := v.Who.Account.ID
	if v.Form("do") == "remove" {
		if err := v.Account.DropLogo(v.Audited("settings.logo_removed", "", nil), id); err != nil {
			return err
		}
		return v.Redirect(v.To("settings"), "removed")
	}

	file, err := logoFile(v, "logo")
	if err == nil {
		err = v.Account.SetLogo(v.Audited("settings.logo_changed", "", nil), id, file)
	}
	if invalid, fixable := site.ProblemsOf(err); fixable {
		return settingsWith(v, http.StatusUnprocessableEntity, invalid)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("settings"), "saved")
}

// logoFile reads an uploaded file. Without a file it returns nil.
func logoFile(v *site.Visit, name string) ([]byte, error) {
	file, header, err := v.Request.FormFile(name)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return make([]byte, tooLarge.Limit), nil // the service rejects it, with its own message
	}
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return nil, nil
	}
	if err != nil {
		return nil, ship.Errorf(ship.Invalid, "the file was not received completely; upload it again")
	}
	defer file.Close()

	return site.ReadFile(file, header)
}
