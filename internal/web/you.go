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
	Codes    []string          // recovery codes, shown this once
	Wrong    problems
}

func (v *visit) yourPage() (p yourPage, err error) {
	if p.Profile, err = v.Member.Profile(v.ctx(), v.who.Actor); err != nil {
		return p, err
	}
	if p.Sessions, err = v.Member.Sessions(v.ctx(), v.who.Actor); err != nil {
		return p, err
	}
	p.Accounts, err = v.Member.Accounts(v.ctx(), v.who.Actor)
	return p, err
}

func (v *visit) showYou(p yourPage, wrong error) error {
	status := http.StatusOK
	if wrong != nil {
		var mendable bool
		if p.Wrong, mendable = problemsOf(wrong); !mendable {
			return wrong
		}
		status = http.StatusUnprocessableEntity
	}
	return v.show(status, youPage(v.frame("You", "you"), p))
}

// you handles GET /app/{mode}/you.
func (s *Web) you(v *visit) error {
	p, err := v.yourPage()
	if err != nil {
		return err
	}
	return v.showYou(p, nil)
}

// changeYou handles POST /app/{mode}/you: what the button says.
func (s *Web) changeYou(v *visit) error {
	var err error
	done := "saved"
	switch v.form("do") {
	case "rename":
		err = s.Member.Rename(v.ctx(), v.who.Actor, v.form("name"))
	case "end-session":
		id, ok := ship.ParseSessionID(v.form("session"))
		if !ok {
			return errNoPage
		}
		err, done = s.Member.RevokeSession(v.ctx(), v.who.Actor, id), "session-ended"
	case "end-others":
		_, err = s.Member.RevokeOtherSessions(v.ctx(), v.who.Actor)
		done = "session-ended"
	case "switch":
		id, ok := ship.ParseAccountID(v.form("account"))
		if !ok {
			return errNoPage
		}
		if err := s.Member.SwitchAccount(v.ctx(), v.who.Actor, id); err != nil {
			return err
		}
		return v.redirect("/app", "")
	default:
		return errNoPage
	}
	if wrong, mendable := problemsOf(err); mendable && len(wrong.Fields) > 0 {
		p, broken := v.yourPage()
		if broken != nil {
			return broken
		}
		return v.showYou(p, err)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("you"), done)
}

// changeSecrets handles POST /app/{mode}/you/secrets: what proves a person.
func (s *Web) changeSecrets(v *visit) error {
	p, err := v.yourPage()
	if err != nil {
		return err
	}
	actor := v.who.Actor
	switch v.form("do") {
	case "password":
		in, err := s.Member.SetPassword(v.ctx(), actor, v.r.FormValue("password"))
		if err != nil {
			return v.showYou(p, err)
		}
		v.remember(in)
	case "totp":
		setup, err := s.Member.BeginTOTP(v.ctx(), actor)
		if err != nil {
			return v.showYou(p, err)
		}
		p.TOTP, p.QR = &setup, qrPicture(setup.URI)
		return v.showYou(p, nil)
	case "totp-confirm":
		codes, err := s.Member.ConfirmTOTP(v.ctx(), actor, v.form("token"), v.form("code"))
		if ship.CodeOf(err) == "wrong_code" { // what was scanned still counts
			p.TOTP, p.QR = &member.TOTPSetup{Token: v.form("token"), Secret: v.form("secret"), URI: v.form("uri")}, qrPicture(v.form("uri"))
		}
		if err != nil {
			return v.showYou(p, err)
		}
		p.Codes, p.HasTOTP = codes, true
		return v.showYou(p, nil)
	case "recovery":
		if p.Codes, err = s.Member.NewRecoveryCodes(v.ctx(), actor); err != nil {
			return v.showYou(p, err)
		}
		return v.showYou(p, nil)
	case "totp-remove":
		err = s.Member.RemoveTOTP(v.ctx(), actor)
	case "passkey":
		_, err = s.Member.AddPasskey(v.ctx(), actor, member.AddPasskeyInput{Token: v.kept("ceremony"), Response: []byte(v.r.FormValue("credential")), Name: v.form("name")})
		v.keep("ceremony", "")
	case "passkey-remove":
		err = s.Member.RemovePasskey(v.ctx(), actor, v.form("passkey"))
	default:
		return errNoPage
	}
	if err != nil {
		return v.showYou(p, err)
	}
	return v.redirect(v.to("you"), "saved")
}

// qrPicture is text as a picture that a phone reads, "" if it does not fit.
func qrPicture(text string) string {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err == nil {
		code, err = barcode.Scale(code, 220, 220)
	}
	var b bytes.Buffer
	if err == nil {
		err = png.Encode(&b, code)
	}
	if err != nil {
		return ""
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}
