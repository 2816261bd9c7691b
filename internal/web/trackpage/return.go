package trackpage

import (
	"errors"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/returns"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// How often one address may send forms, and how often the postal code of a shipment
// may be given: the code proves that somebody is the recipient.
const (
	formEvery  = 10 * time.Second
	formBurst  = 20
	guessEvery = 10 * time.Minute
	guessBurst = 10
)

// A returnOffer is what the page says about sending the parcel back.
type returnOffer struct {
	Open     bool   // the recipient can ask
	Until    string // the last day
	State    ship.ReturnState
	Denial   string
	HasLabel bool
	Mailed   bool
	Pays     bool // the recipient pays
}

// IsShown reports whether the page has a word about returns.
func (o returnOffer) IsShown() bool { return o.Open || o.State != "" }

// Text returns the name of the text about a request. A purchase that failed is
// between the account and its carriers: a person looks at it.
func (o returnOffer) Text() string {
	if o.State == ship.ReturnFailed {
		return "return.requested"
	}
	return "return." + string(o.State)
}

// offerOf reads whether the parcel can be returned.
func offerOf(v *site.Visit, language locale, shipment parts.TrackedShipment) (returnOffer, error) {
	found, err := v.Returns.Returnable(v.Context(), parcelToReturn(shipment))
	if err != nil {
		return returnOffer{}, err
	}
	return returnOfferOf(language, found), nil
}

func returnOfferOf(language locale, found returns.Returnable) returnOffer {
	request := found.Request
	if request == nil {
		if found.Reason != "" {
			return returnOffer{}
		}
		return returnOffer{Open: true, Until: language.day(found.Until), Pays: found.Rule.PaidBy == ship.PaidByRecipient}
	}
	return returnOffer{
		State:    request.State,
		Denial:   request.Denial,
		HasLabel: request.Return != "",
		Mailed:   !request.MailedAt.IsZero(),
		Pays:     request.PaidBy == ship.PaidByRecipient,
	}
}

func parcelToReturn(shipment parts.TrackedShipment) returns.Parcel {
	// The tracking state is newer than the shipment's own.
	parcel := returns.Parcel{Shipment: shipment.Shipment, Scans: shipment.Tracked.Scans}
	parcel.Shipment.Progress = shipment.Tracked.Progress
	return parcel
}

// A returnForm is the page on which a recipient asks for a return, as it was filled
// in.
type returnForm struct {
	locale
	Path       string // of the tracking page
	Sender     string
	Offer      returnOffer
	Reasons    []parts.Choice
	AsksCode   bool // for the postal code
	PostalCode string
	Reason     string
	Items      string
	Comment    string
	Email      string
	Wrong      map[string]string // texts by field
}

// optional returns a label of a field that may be left empty.
func (f returnForm) optional(name string) string {
	return f.T(name) + " (" + f.T("return.optional") + ")"
}

// returnVisit reads what a page about a return needs.
func (p trackPages) returnVisit(v *site.Visit) (form returnForm, parcel returns.Parcel, found returns.Returnable, err error) {
	shipment, sender, err := p.parcelOf(v)
	if err != nil {
		return form, parcel, found, err
	}

	// Without a referrer, browsers send forms with an unknown origin, which are
	// refused. Other sites still learn nothing.
	v.Writer.Header().Set("Referrer-Policy", "same-origin")

	parcel = parcelToReturn(shipment)
	if found, err = v.Returns.Returnable(v.Context(), parcel); err != nil {
		return form, parcel, found, err
	}
	language := localeOf(v.Request)
	form = returnForm{
		locale:   language,
		Path:     "/track/" + v.Request.PathValue("token"),
		Sender:   sender.Name,
		Offer:    returnOfferOf(language, found),
		Reasons:  []parts.Choice{{Title: language.T("return.choose")}},
		AsksCode: parcel.Shipment.Order.Destination.Zip != "",
	}
	for _, reason := range found.Rule.Reasons {
		form.Reasons = append(form.Reasons, parts.Choice{Value: reason, Title: reason})
	}
	return form, parcel, found, nil
}

// showReturn handles GET /track/{token}/return.
func (p trackPages) showReturn(v *site.Visit) error {
	form, _, _, err := p.returnVisit(v)
	if err != nil {
		return noParcelFor(v, err)
	}
	return v.Show(http.StatusOK, returnPage(form))
}

// askForReturn handles POST /track/{token}/return.
func (p trackPages) askForReturn(v *site.Visit) error {
	form, parcel, _, err := p.returnVisit(v)
	if err == nil {
		err = p.admitForm(v, form, parcel)
	}
	if err != nil {
		return noParcelFor(v, err)
	}

	form.PostalCode = v.Form("postalCode")
	form.Reason = v.Form("reason")
	form.Items = v.Form("items")
	form.Comment = v.Form("comment")
	form.Email = v.Form("email")
	_, err = v.Returns.Ask(v.Context(), returns.Ask{
		Parcel:     parcel,
		PostalCode: form.PostalCode,
		Reason:     form.Reason,
		Items:      form.Items,
		Comment:    form.Comment,
		Email:      form.Email,
		Language:   form.Code,
	})
	return p.answerForm(v, form, err, form.Path+"/return?lang="+form.Code)
}

// returnLabel handles POST /track/{token}/return/label. The label shows where the
// recipient lives, so the address of the page is not enough to get it.
func (p trackPages) returnLabel(v *site.Visit) error {
	form, parcel, found, err := p.returnVisit(v)
	if err == nil {
		err = p.admitForm(v, form, parcel)
	}
	if err == nil && found.Request == nil {
		err = ship.Errorf(ship.NotFound, "there is no request")
	}
	if err != nil {
		return noParcelFor(v, err)
	}

	form.PostalCode = v.Form("postalCode")
	if err := returns.Prove(parcel.Shipment, form.PostalCode); err != nil {
		return p.answerForm(v, form, err, "")
	}
	link, err := v.Returns.Label(v.Context(), *found.Request)
	return p.answerForm(v, form, err, link)
}

// admitForm counts a form of the client's address, and the postal code in it. The code
// is counted before it is compared: if only wrong ones were, whoever guesses would go
// on until one is right.
func (p trackPages) admitForm(v *site.Visit, form returnForm, parcel returns.Parcel) error {
	err := p.forms.Admit(v.Writer.Header(), httpkit.ClientNetwork(v.Request, v.TrustedProxies))
	if err != nil || !form.AsksCode {
		return err
	}
	return p.guesses.Admit(v.Writer.Header(), string(parcel.Shipment.ID))
}

// answerForm goes on to the next page, or shows the form again with what is wrong.
func (p trackPages) answerForm(v *site.Visit, form returnForm, err error, next string) error {
	if err == nil {
		http.Redirect(v.Writer, v.Request, next, http.StatusSeeOther)
		return nil
	}

	coded, ok := errors.AsType[*ship.Error](err)
	switch {
	case ok && coded.Code == "not_returnable":
		form.Offer = returnOffer{}
		return v.Show(http.StatusConflict, returnPage(form))
	case !ok || coded.Code != "validation_failed":
		return noParcelFor(v, err)
	}

	form.Wrong = map[string]string{}
	for _, field := range coded.Fields {
		form.Wrong[field.Pointer] = form.T(wrongTexts[field.Pointer])
	}
	return v.Show(http.StatusUnprocessableEntity, returnPage(form))
}

// wrongTexts are the texts about fields that are invalid.
var wrongTexts = map[string]string{
	"/postalCode": "return.wrong_code",
	"/reason":     "return.choose",
	"/items":      "return.wrong_text",
	"/comment":    "return.wrong_text",
	"/email":      "return.wrong_email",
}
