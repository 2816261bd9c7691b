package team

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// yourPage is the profile page of the person who is signed in.
type yourPage struct {
	member.Profile
	CanVerify bool // there is a mail server to send a link
	OIDC      bool // there is an identity provider
	Sessions  []member.Session
	Accounts  []member.Membership
	TOTP      *member.TOTPSetup // an authenticator that waits for its first code
	QR        string            // the same as a picture
	Codes     []string          // recovery codes, shown only once
	Wrong     site.Problems
}

func readProfile(v *site.Visit) (page yourPage, err error) {
	if page.Profile, err = v.Member.Profile(v.Context(), v.Who.Actor); err != nil {
		return page, err
	}
	if page.Sessions, err = v.Member.Sessions(v.Context(), v.Who.Actor); err != nil {
		return page, err
	}
	page.CanVerify = v.Member.MailPossible()
	page.OIDC = v.Member.OIDCPossible()
	page.Accounts, err = v.Member.Accounts(v.Context(), v.Who.Actor)
	return page, err
}

// showYou shows the page, with the error of an attempt to change something.
func showYou(v *site.Visit, page yourPage, failed error) error {
	status := http.StatusOK
	if failed != nil {
		var fixable bool
		if page.Wrong, fixable = site.ProblemsOf(failed); !fixable {
			return failed
		}
		status = v.FormStatus(failed)
	}
	return v.Show(status, youPage(v.Frame("Your profile", "you"), page))
}

// getProfile handles GET /app/{account}/{mode}/you.
func getProfile(v *site.Visit) error {
	page, err := readProfile(v)
	if err != nil {
		return err
	}
	return showYou(v, page, nil)
}

// changeYou handles POST /app/{account}/{mode}/you: the action of the button.
func changeYou(v *site.Visit) error {
	var err error
	actor := v.Who.Actor
	done := "saved"
	switch v.Form("do") {
	case "rename":
		err = v.Member.Rename(v.Context(), actor, v.Form("name"))

	case "verify":
		err = v.Member.SendVerification(v.Context(), actor)
		done = "mail-sent"

	case "end-session":
		id, ok := ship.ParseSessionID(v.Form("session"))
		if !ok {
			return site.ErrNoPage
		}
		err = v.Member.RevokeSession(v.Context(), actor, id)
		done = "session-ended"

	case "end-others":
		_, err = v.Member.RevokeOtherSessions(v.Context(), actor)
		done = "session-ended"

	default:
		return site.ErrNoPage
	}

	if found, fixable := site.ProblemsOf(err); fixable && len(found.Fields) > 0 {
		page, pageErr := readProfile(v)
		if pageErr != nil {
			return pageErr
		}
		return showYou(v, page, err)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("you"), done)
}

// changeSecrets handles POST /app/{account}/{mode}/you/secrets: password,
// authenticator, recovery codes and passkeys.
func changeSecrets(v *site.Visit) error {
	page, err := readProfile(v)
	if err != nil {
		return err
	}

	actor := v.Who.Actor
	switch v.Form("do") {
	case "password":
		// The other sessions end, and this one continues under a new token.
		session, err := v.Member.SetPassword(v.Context(), actor, v.Request.FormValue("password"))
		if err != nil {
			return showYou(v, page, err)
		}
		v.Remember(session)

	case "totp":
		setup, err := v.Member.BeginTOTP(v.Context(), actor)
		if err != nil {
			return showYou(v, page, err)
		}
		page.TOTP = &setup
		page.QR = parts.QRPicture(setup.URI)
		return showYou(v, page, nil)

	case "totp-confirm":
		codes, err := v.Member.ConfirmTOTP(v.Context(), actor, v.Form("token"), v.Form("code"))
		if ship.CodeOf(err) == "wrong_code" {
			// The secret that was scanned is still valid: another code can be
			// tried without scanning again.
			page.TOTP = &member.TOTPSetup{Token: v.Form("token"), Secret: v.Form("secret"), URI: v.Form("uri")}
			page.QR = parts.QRPicture(v.Form("uri"))
		}
		if err != nil {
			return showYou(v, page, err)
		}
		page.Codes = codes
		page.HasTOTP = true
		return showYou(v, page, nil)

	case "recovery":
		if page.Codes, err = v.Member.NewRecoveryCodes(v.Context(), actor); err != nil {
			return showYou(v, page, err)
		}
		return showYou(v, page, nil)

	case "totp-remove":
		err = v.Member.RemoveTOTP(v.Context(), actor)

	case "passkey":
		_, err = v.Member.AddPasskey(v.Context(), actor, member.AddPasskeyInput{
			Token:    v.Kept("ceremony"),
			Response: []byte(v.Request.FormValue("credential")),
			Name:     v.Form("name"),
		})
		v.Keep("ceremony", "") // it is used once, whatever the result

	case "passkey-remove":
		err = v.Member.RemovePasskey(v.Context(), actor, v.Form("passkey"))

	default:
		return site.ErrNoPage
	}
	if err != nil {
		return showYou(v, page, err)
	}
	return v.Redirect(v.To("you"), "saved")
}
