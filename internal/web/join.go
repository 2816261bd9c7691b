package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// joinForm is the form of a person who gets access: the first owner, somebody
// who is invited, or somebody who sets a new password.
type joinForm struct {
	Token, Email, Name, AccountName string
	Invitation                      member.Invitation
	Wrong                           problems
}

// setup handles GET /app/setup: the form that creates the first owner.
func (s *Web) setup(v *visit) error {
	return v.show(http.StatusOK, setupPage(v.frame("Set up", ""), joinForm{Token: v.query("token")}))
}

// makeOwner handles POST /app/setup.
func (s *Web) makeOwner(v *visit) error {
	page := joinForm{
		Token:       v.form("token"),
		Email:       v.form("email"),
		Name:        v.form("name"),
		AccountName: v.form("accountName"),
	}
	signedIn, err := s.Member.Setup(v.ctx(), member.SetupInput{
		Token:       page.Token,
		AccountName: page.AccountName,
		Email:       page.Email,
		Name:        page.Name,
		Password:    v.r.FormValue("password"), // spaces around a password are part of it
		From:        v.from(),
	})

	if invalid, fixable := problemsOf(err); fixable {
		page.Wrong = invalid
		return v.show(http.StatusUnprocessableEntity, setupPage(v.frame("Set up", ""), page))
	}
	if err != nil {
		return err
	}
	return v.enter(signedIn, "")
}

// invitation handles GET /app/invite/{token}.
func (s *Web) invitation(v *visit) error {
	token := v.r.PathValue("token")
	invitation, err := s.Member.InvitationOf(v.ctx(), token)
	if err != nil {
		return err
	}

	_ = v.signIn() // a person who is signed in accepts with a click
	page := joinForm{Token: token, Invitation: invitation}
	return v.show(http.StatusOK, invitationPage(v.frame("Join", ""), page))
}

// acceptInvitation handles POST /app/invite/{token}.
func (s *Web) acceptInvitation(v *visit) error {
	page := joinForm{Token: v.r.PathValue("token"), Name: v.form("name")}
	if v.form("as") == "me" {
		if err := v.signIn(); err != nil {
			return err
		}
		joined, err := s.Member.AcceptAs(v.ctx(), v.who.Actor, page.Token)
		if err != nil {
			return err
		}
		return v.redirect(modePath(joined, false), "joined")
	}

	signedIn, err := s.Member.Accept(v.ctx(), member.AcceptInput{
		Token:    page.Token,
		Name:     page.Name,
		Password: v.r.FormValue("password"),
		From:     v.from(),
	})

	// A used or expired invitation cannot be accepted by correcting the form.
	if invalid, fixable := problemsOf(err); fixable && ship.KindOf(err) != ship.Gone {
		page.Wrong = invalid
		if page.Invitation, err = s.Member.InvitationOf(v.ctx(), page.Token); err != nil {
			return err
		}
		return v.show(http.StatusUnprocessableEntity, invitationPage(v.frame("Join", ""), page))
	}
	if err != nil {
		return err
	}
	return v.enter(signedIn, "")
}

// reset handles GET /app/reset/{token}.
func (s *Web) reset(v *visit) error {
	token := v.r.PathValue("token")
	person, err := s.Member.ResetOf(v.ctx(), token)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, resetPage(v.frame("New password", ""), joinForm{Token: token, Email: person.Email}))
}

// setPasswordByLink handles POST /app/reset/{token}.
func (s *Web) setPasswordByLink(v *visit) error {
	page := joinForm{Token: v.r.PathValue("token"), Email: v.form("email")}
	err := s.Member.Reset(v.ctx(), member.ResetInput{
		Token:    page.Token,
		Password: v.r.FormValue("password"),
		From:     v.from(),
	})

	// A used or expired link cannot be used by correcting the form.
	if invalid, fixable := problemsOf(err); fixable && ship.KindOf(err) != ship.Gone {
		page.Wrong = invalid
		return v.show(http.StatusUnprocessableEntity, resetPage(v.frame("New password", ""), page))
	}
	if err != nil {
		return err
	}
	return v.redirect("/app/login", "saved")
}
