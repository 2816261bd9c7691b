package signin

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// joinForm is the form of a person who gets access: the first owner, somebody
// who is invited, or somebody who sets a new password.
type joinForm struct {
	Token, Email, Name, AccountName string
	Invitation                      member.Invitation
	Wrong                           site.Problems
}

// getSetup handles GET /app/setup: the form that creates the first owner.
func getSetup(v *site.Visit) error {
	return v.Show(http.StatusOK, setupPage(v.Frame("Set up", ""), joinForm{Token: v.Query("token")}))
}

// makeOwner handles POST /app/setup.
func makeOwner(v *site.Visit) error {
	page := joinForm{
		Token:       v.Form("token"),
		Email:       v.Form("email"),
		Name:        v.Form("name"),
		AccountName: v.Form("accountName"),
	}
	signedIn, err := v.Member.Setup(v.Context(), member.SetupInput{
		Token:       page.Token,
		AccountName: page.AccountName,
		Email:       page.Email,
		Name:        page.Name,
		Password:    v.Request.FormValue("password"), // spaces around a password are part of it
		From:        v.From(),
	})

	if invalid, fixable := site.ProblemsOf(err); fixable {
		page.Wrong = invalid
		return v.Show(v.FormStatus(err), setupPage(v.Frame("Set up", ""), page))
	}
	if err != nil {
		return err
	}
	return enter(v, signedIn, "")
}

// getInvitation handles GET /app/invite/{token}.
func getInvitation(v *site.Visit) error {
	token := v.Request.PathValue("token")
	invitation, err := v.Member.InvitationOf(v.Context(), token)
	if err != nil {
		return err
	}

	_ = v.SignIn() // a person who is signed in accepts with a click
	page := joinForm{Token: token, Invitation: invitation}
	return v.Show(http.StatusOK, invitationPage(v.Frame("Join", ""), page))
}

// acceptInvitation handles POST /app/invite/{token}.
func acceptInvitation(v *site.Visit) error {
	page := joinForm{Token: v.Request.PathValue("token"), Name: v.Form("name")}
	if v.Form("as") == "me" {
		if err := v.SignIn(); err != nil {
			return err
		}
		joined, err := v.Member.AcceptAs(v.Context(), v.Who.Actor, page.Token)
		if err != nil {
			return err
		}
		return v.Redirect(site.ModePath(joined, false), "joined")
	}

	signedIn, err := v.Member.Accept(v.Context(), member.AcceptInput{
		Token:    page.Token,
		Name:     page.Name,
		Password: v.Request.FormValue("password"),
		From:     v.From(),
	})

	// A used or expired invitation cannot be accepted by correcting the form.
	if invalid, fixable := site.ProblemsOf(err); fixable && ship.KindOf(err) != ship.Gone {
		page.Wrong = invalid
		status := v.FormStatus(err)
		if page.Invitation, err = v.Member.InvitationOf(v.Context(), page.Token); err != nil {
			return err
		}
		return v.Show(status, invitationPage(v.Frame("Join", ""), page))
	}
	if err != nil {
		return err
	}
	return enter(v, signedIn, "")
}

// getReset handles GET /app/reset/{token}.
func getReset(v *site.Visit) error {
	token := v.Request.PathValue("token")
	person, err := v.Member.ResetOf(v.Context(), token)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, resetPage(v.Frame("New password", ""), joinForm{Token: token, Email: person.Email}))
}

// setPasswordByLink handles POST /app/reset/{token}.
func setPasswordByLink(v *site.Visit) error {
	page := joinForm{Token: v.Request.PathValue("token"), Email: v.Form("email")}
	err := v.Member.Reset(v.Context(), member.ResetInput{
		Token:    page.Token,
		Password: v.Request.FormValue("password"),
		From:     v.From(),
	})

	// A used or expired link cannot be used by correcting the form.
	if invalid, fixable := site.ProblemsOf(err); fixable && ship.KindOf(err) != ship.Gone {
		page.Wrong = invalid
		return v.Show(v.FormStatus(err), resetPage(v.Frame("New password", ""), page))
	}
	if err != nil {
		return err
	}
	return v.Redirect("/app/login", "saved")
}
