package web

import (
	"errors"
	"io"
	"net/http"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// logoRoutes are the routes of the account's logo.
func (s *Web) logoRoutes() []route {
	return []route{
		get("/app/{account}/{mode}/settings/logo/{hash}", member.ViewSettings, s.logo),
		post("/app/{account}/{mode}/settings/logo", member.ManageSettings, s.changeLogo),
	}
}

// logo handles GET /app/{account}/{mode}/settings/logo/{hash}.
func (s *Web) logo(v *visit) error { return v.showLogo(v.who.Account.ID) }

// changeLogo handles POST /app/{account}/{mode}/settings/logo.
func (s *Web) changeLogo(v *visit) error {
	id := v.who.Account.ID
	if v.form("do") == "remove" {
		if err := s.Account.DropLogo(v.audited("settings.logo_removed", "", nil), id); err != nil {
			return err
		}
		return v.redirect(v.to("settings"), "removed")
	}

	file, err := v.logoFile("logo", account.MaxLogoBytes)
	if err == nil {
		err = s.Account.SetLogo(v.audited("settings.logo_changed", "", nil), id, file)
	}
	if invalid, fixable := problemsOf(err); fixable {
		return v.settingsWith(http.StatusUnprocessableEntity, invalid)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("settings"), "saved")
}

// logoFile reads an uploaded file, at most one byte over the limit of it. That
// byte is enough for the service to reject the file. Without a file it returns
// nil.
func (v *visit) logoFile(name string, limit int64) ([]byte, error) {
	file, _, err := v.r.FormFile(name)
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

	return io.ReadAll(io.LimitReader(file, limit+1))
}
