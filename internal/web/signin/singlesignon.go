package signin

import (
	"net/http"

	"github.com/waybillhq/waybill/internal/web/site"
)

// singleSignOnPath is the page of people who must sign in with the identity
// provider.
const singleSignOnPath = "/app/single-sign-on"

// getSingleSignOn handles GET /app/single-sign-on.
func getSingleSignOn(v *site.Visit) error {
	page, err := readFactorForm(v)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, singleSignOnPage(v.Frame("Single sign-on", ""), page))
}

// connectSingleSignOn handles POST /app/single-sign-on: it connects a person who
// has signed in with a password so far. The profile page is of an account, which
// they may not reach before.
func connectSingleSignOn(v *site.Visit) error {
	start, err := v.Member.BeginOIDCLink(v.Context(), v.Who.Actor, singleSignOnPath)
	if err != nil {
		return err
	}
	v.Keep("oidc", start.Token)
	return v.Show(http.StatusOK, leadOnPage(v.Frame("Single sign-on", ""), start.URL))
}
