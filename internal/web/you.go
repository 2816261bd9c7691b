package web

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"net/http"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// yourPage is what a person sees of themselves.
type yourPage struct {
	member.Profile
	Sessions []member.Session
	Accounts []member.Membership
	TOTP     *member.TOTPSetup // an authenticator that waits for its first code
	QR       string            // the same as a picture
	Codes    []string          // recovery codes, shown only once
	Wrong    problems
}

func (v *visit) yourPage() (page yourPage, err error) {
	if page.Profile, err = v.Member.Profile(v.ctx(), v.who.Actor); err != nil {
		return page, err
	}
	if page.Sessions, err = v.Member.Sessions(v.ctx(), v.who.Actor); err != nil {
		return page, err
	}
	page.Accounts, err = v.Member.Accounts(v.ctx(), v.who.Actor)
	return page, err
}

// showYou shows the page, with the error of an attempt to change something.
func (v *visit) showYou(page yourPage, failed error) error {
	status := http.StatusOK
	if failed != nil {
		var fixable bool
		if page.Wrong, fixable = problemsOf(failed); !fixable {
			return failed
		}
		status = http.StatusUnprocessableEntity
	}
	return v.show(status, youPage(v.frame("Your profile", "you"), page))
}

// you handles GET /app/{account}/{mode}/you.
func (s *Web) you(v *visit) error {
	page, err := v.yourPage()
	if err != nil {
		return err
	}
	return v.showYou(page, nil)
}

// changeYou handles POST /app/{account}/{mode}/you: the action of the button.
func (s *Web) changeYou(v *visit) error {
	var err error
	actor := v.who.Actor
	done := "saved"
	switch v.form("do") {
	case "rename":
		err = s.Member.Rename(v.ctx(), actor, v.form("name"))

	case "end-session":
		id, ok := ship.ParseSessionID(v.form("session"))
		if !ok {
			return errNoPage
		}
		err = s.Member.RevokeSession(v.ctx(), actor, id)
		done = "session-ended"

	case "end-others":
		_, err = s.Member.RevokeOtherSessions(v.ctx(), actor)
		done = "session-ended"

	default:
		return errNoPage
	}

	if found, fixable := problemsOf(err); fixable && len(found.Fields) > 0 {
		page, pageErr := v.yourPage()
		if pageErr != nil {
			return pageErr
		}
		return v.showYou(page, err)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("you"), done)
}

// changeSecrets handles POST /app/{account}/{mode}/you/secrets: password,
// authenticator, recovery codes and passkeys.
func (s *Web) changeSecrets(v *visit) error {
	page, err := v.yourPage()
	if err != nil {
		return err
	}

	actor := v.who.Actor
	switch v.form("do") {
	case "password":
		// The other sessions end, and this one continues under a new token.
		session, err := s.Member.SetPassword(v.ctx(), actor, v.r.FormValue("password"))
		if err != nil {
			return v.showYou(page, err)
		}
		v.remember(session)

	case "totp":
		setup, err := s.Member.BeginTOTP(v.ctx(), actor)
		if err != nil {
			return v.showYou(page, err)
		}
		page.TOTP = &setup
		page.QR = qrPicture(setup.URI)
		return v.showYou(page, nil)

	case "totp-confirm":
		codes, err := s.Member.ConfirmTOTP(v.ctx(), actor, v.form("token"), v.form("code"))
		if ship.CodeOf(err) == "wrong_code" {
			// The secret that was scanned is still valid: another code can be
			// tried without scanning again.
			page.TOTP = &member.TOTPSetup{Token: v.form("token"), Secret: v.form("secret"), URI: v.form("uri")}
			page.QR = qrPicture(v.form("uri"))
		}
		if err != nil {
			return v.showYou(page, err)
		}
		page.Codes = codes
		page.HasTOTP = true
		return v.showYou(page, nil)

	case "recovery":
		if page.Codes, err = s.Member.NewRecoveryCodes(v.ctx(), actor); err != nil {
			return v.showYou(page, err)
		}
		return v.showYou(page, nil)

	case "totp-remove":
		err = s.Member.RemoveTOTP(v.ctx(), actor)

	case "passkey":
		_, err = s.Member.AddPasskey(v.ctx(), actor, member.AddPasskeyInput{
			Token:    v.kept("ceremony"),
			Response: []byte(v.r.FormValue("credential")),
			Name:     v.form("name"),
		})
		v.keep("ceremony", "") // it is used once, whatever the result

	case "passkey-remove":
		err = s.Member.RemovePasskey(v.ctx(), actor, v.form("passkey"))

	default:
		return errNoPage
	}
	if err != nil {
		return v.showYou(page, err)
	}
	return v.redirect(v.to("you"), "saved")
}

// qrPicture returns text as a QR code in a data URL; "" if it does not fit.
func qrPicture(text string) string {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return ""
	}
	code, err = barcode.Scale(code, 220, 220)
	if err != nil {
		return ""
	}

	var picture bytes.Buffer
	if err := png.Encode(&picture, code); err != nil {
		return ""
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes())
}
