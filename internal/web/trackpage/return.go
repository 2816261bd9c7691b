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

// How often one address may send forms. How often the proof of a shipment may be
// wrong is counted in the database.
const (
	formEvery = 10 * time.Second
	formBurst = 20
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
	Path    string // of the tracking page
	Sender  string
	Offer   returnOffer
	Reasons []parts.Choice
	AsksFor returns.Proof
	Proof   string // what was given for it
	Reason  string
	Items   string
	Comment string
	Email   string
	Wrong   map[string]string // texts by field
}

// optional returns a label of a field that may be left empty.
func (f returnForm) optional(name string) string {
	return f.T(name) + " (" + f.T("return.optional") + ")"
}

// DownloadsLabel reports whether the page has the label. Where the only proof is an
// e-mail address, the label is sent there instead.
func (f returnForm) DownloadsLabel() bool {
	return f.Offer.HasLabel && (f.AsksFor == returns.ProofPostalCode || f.AsksFor == returns.ProofPhone)
}

// emailLabel returns the label of the e-mail address.
func (f returnForm) emailLabel() string {
	if f.AsksFor == returns.ProofEmail {
		return f.T("return.order_email")
	}
	return f.T("return.email")
}

// proofField returns the name of the field of a proof.
func proofField(proof returns.Proof) string {
	if proof == returns.ProofPhone {
		return "phone"
	}
	return "postalCode"
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
		locale:  language,
		Path:    "/track/" + v.Request.PathValue("token"),
		Sender:  sender.Name,
		Offer:   returnOfferOf(language, found),
		Reasons: []parts.Choice{{Title: language.T("return.choose")}},
		AsksFor: returns.ProofOf(parcel.Shipment),
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
		err = p.admitForm(v)
	}
	if err != nil {
		return noParcelFor(v, err)
	}

	form.Proof = v.Form(proofField(form.AsksFor))
	form.Reason = v.Form("reason")
	form.Items = v.Form("items")
	form.Comment = v.Form("comment")
	form.Email = v.Form("email")
	_, err = v.Returns.Ask(v.Context(), returns.Ask{
		Parcel:   parcel,
		Proof:    form.Proof,
		Reason:   form.Reason,
		Items:    form.Items,
		Comment:  form.Comment,
		Email:    form.Email,
		Language: form.Code,
	})
	return p.answerForm(v, form, err, form.Path+"/return?lang="+form.Code)
}

// returnLabel handles POST /track/{token}/return/label. The label shows where the
// recipient lives, so the address of the page is not enough to get it.
func (p trackPages) returnLabel(v *site.Visit) error {
	form, parcel, found, err := p.returnVisit(v)
	if err == nil {
		err = p.admitForm(v)
	}
	if err == nil && (found.Request == nil || !form.DownloadsLabel()) {
		err = ship.Errorf(ship.NotFound, "there is no label to download")
	}
	if err != nil {
		return noParcelFor(v, err)
	}

	form.Proof = v.Form(proofField(form.AsksFor))
	if err := v.Returns.Prove(v.Context(), parcel.Shipment, form.Proof); err != nil {
		return p.answerForm(v, form, err, "")
	}
	link, err := v.Returns.Label(v.Context(), *found.Request)
	return p.answerForm(v, form, err, link)
}

// admitForm counts a form of the client's address.
func (p trackPages) admitForm(v *site.Visit) error {
	return p.forms.Admit(v.Writer.Header(), httpkit.ClientNetwork(v.Request, v.TrustedProxies))
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
		if field.Pointer == "/email" && field.Code == "invalid_value" {
			form.Wrong[field.Pointer] = form.T("return.other_email")
		}
	}
	return v.Show(http.StatusUnprocessableEntity, returnPage(form))
}

// wrongTexts are the texts about fields that are invalid.
var wrongTexts = map[string]string{
	"/postalCode": "return.wrong_code",
	"/phone":      "return.wrong_phone",
	"/reason":     "return.choose",
	"/items":      "return.wrong_text",
	"/comment":    "return.wrong_text",
	"/email":      "return.wrong_email",
}
