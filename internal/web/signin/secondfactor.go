package signin

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// secondFactorPath is the page of people who need a second factor.
const secondFactorPath = "/app/second-factor"

// factorForm is the page of a person who needs a second factor for an account:
// they set one up, or confirm with the one that they have.
type factorForm struct {
	loginForm
	Profile  member.Profile
	Accounts []member.Membership // that they can go to instead
	TOTP     *member.TOTPSetup   // an authenticator that waits for its first code
	QR       string              // the same as a picture
	Codes    []string            // recovery codes, shown only once
}

// HasFactor reports whether the person has something to confirm with.
func (f factorForm) HasFactor() bool { return f.Profile.HasTOTP || len(f.Profile.Passkeys) > 0 }

func readFactorForm(v *site.Visit) (page factorForm, err error) {
	page.loginForm = readLoginForm(v)
	if page.Profile, err = v.Member.Profile(v.Context(), v.Who.Actor); err != nil {
		return page, err
	}

	accounts, err := v.Member.Accounts(v.Context(), v.Who.Actor)
	for _, account := range accounts {
		if account.Account != v.Who.Account.ID {
			page.Accounts = append(page.Accounts, account)
		}
	}
	return page, err
}

// showFactor shows the page, with the error of an attempt.
func showFactor(v *site.Visit, page factorForm, failed error) error {
	status := http.StatusOK
	if failed != nil {
		var fixable bool
		if page.Wrong, fixable = site.ProblemsOf(failed); !fixable {
			return failed
		}
		status = v.FormStatus(failed)
	}
	return v.Show(status, secondFactorPage(v.Frame("Two-factor authentication", ""), page))
}

// getSecondFactor handles GET /app/second-factor.
func getSecondFactor(v *site.Visit) error {
	page, err := readFactorForm(v)
	if err != nil {
		return err
	}
	if v.Who.Actor.SecondFactor {
		return v.AfterStepUp("", page.To)
	}
	return showFactor(v, page, nil)
}

// addSecondFactor handles POST /app/second-factor: the first passkey or
// authenticator of a person who has neither.
func addSecondFactor(v *site.Visit) error {
	page, err := readFactorForm(v)
	if err != nil {
		return err
	}

	// Another factor is added on the profile page.
	if page.HasFactor() {
		return v.Redirect(secondFactorPath, "")
	}

	actor := v.Who.Actor
	switch v.Form("do") {
	case "passkey":
		_, err := v.Member.AddPasskey(v.Context(), actor, member.AddPasskeyInput{
			Token:    v.Kept("ceremony"),
			Response: []byte(v.Request.FormValue("credential")),
		})
		v.Keep("ceremony", "") // it is used once, whatever the result
		if err != nil {
			return showFactor(v, page, err)
		}
		return v.AfterStepUp("", page.To)

	case "totp":
		setup, err := v.Member.BeginTOTP(v.Context(), actor)
		if err != nil {
			return showFactor(v, page, err)
		}
		page.TOTP = &setup
		page.QR = parts.QRPicture(setup.URI)
		return showFactor(v, page, nil)

	case "totp-confirm":
		codes, err := v.Member.ConfirmTOTP(v.Context(), actor, v.Form("token"), v.Form("code"))
		if ship.CodeOf(err) == "wrong_code" {
			// The secret that was scanned is still valid: another code can be
			// tried without scanning again.
			page.TOTP = &member.TOTPSetup{Token: v.Form("token"), Secret: v.Form("secret"), URI: v.Form("uri")}
			page.QR = parts.QRPicture(v.Form("uri"))
		}
		if err != nil {
			return showFactor(v, page, err)
		}
		page.Codes = codes
		return showFactor(v, page, nil)
	}
	return site.ErrNoPage
}
