package web

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// joinForm is somebody who comes in for the first time.
type joinForm struct {
	Token, Email, Name, AccountName string
	Invitation                      member.Invitation
	Wrong                           problems
}

// setup handles GET /app/setup: the first owner.
func (s *Web) setup(v *visit) error {
	return v.show(http.StatusOK, setupPage(v.frame("Set up", ""), joinForm{Token: v.query("token")}))
}

// makeOwner handles POST /app/setup.
func (s *Web) makeOwner(v *visit) error {
	p := joinForm{Token: v.form("token"), Email: v.form("email"), Name: v.form("name"), AccountName: v.form("accountName")}
	in, err := s.Member.Setup(v.ctx(), member.SetupInput{
		Token: p.Token, AccountName: p.AccountName, Email: p.Email, Name: p.Name, Password: v.r.FormValue("password"), From: v.from(),
	})
	if wrong, mendable := problemsOf(err); mendable {
		p.Wrong = wrong
		return v.show(http.StatusUnprocessableEntity, setupPage(v.frame("Set up", ""), p))
	}
	if err != nil {
		return err
	}
	return v.enter(in, "/app/test")
}

// invitation handles GET /app/invite/{token}.
func (s *Web) invitation(v *visit) error {
	p := joinForm{Token: v.r.PathValue("token")}
	var err error
	if p.Invitation, err = s.Member.InvitationOf(v.ctx(), p.Token); err != nil {
		return err
	}
	_ = v.signIn() // somebody who is signed in accepts with a click
	return v.show(http.StatusOK, invitationPage(v.frame("Join", ""), p))
}

// acceptInvitation handles POST /app/invite/{token}.
func (s *Web) acceptInvitation(v *visit) error {
	p := joinForm{Token: v.r.PathValue("token"), Name: v.form("name")}
	if v.form("as") == "me" {
		if err := v.signIn(); err != nil {
			return err
		}
		if _, err := s.Member.AcceptAs(v.ctx(), v.who.Actor, p.Token); err != nil {
			return err
		}
		return v.redirect("/app/test", "joined")
	}
	in, err := s.Member.Accept(v.ctx(), member.AcceptInput{Token: p.Token, Name: p.Name, Password: v.r.FormValue("password"), From: v.from()})
	if wrong, mendable := problemsOf(err); mendable && ship.KindOf(err) != ship.Gone {
		p.Wrong = wrong
		if p.Invitation, err = s.Member.InvitationOf(v.ctx(), p.Token); err != nil {
			return err
		}
		return v.show(http.StatusUnprocessableEntity, invitationPage(v.frame("Join", ""), p))
	}
	if err != nil {
		return err
	}
	return v.enter(in, "/app/test")
}

// reset handles GET /app/reset/{token}.
func (s *Web) reset(v *visit) error {
	person, err := s.Member.ResetOf(v.ctx(), v.r.PathValue("token"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, resetPage(v.frame("New password", ""), joinForm{Token: v.r.PathValue("token"), Email: person.Email}))
}

// setPasswordByLink handles POST /app/reset/{token}.
func (s *Web) setPasswordByLink(v *visit) error {
	p := joinForm{Token: v.r.PathValue("token"), Email: v.form("email")}
	err := s.Member.Reset(v.ctx(), member.ResetInput{Token: p.Token, Password: v.r.FormValue("password"), From: v.from()})
	if wrong, mendable := problemsOf(err); mendable && ship.KindOf(err) != ship.Gone {
		p.Wrong = wrong
		return v.show(http.StatusUnprocessableEntity, resetPage(v.frame("New password", ""), p))
	}
	if err != nil {
		return err
	}
	return v.redirect("/app/login", "saved")
}
