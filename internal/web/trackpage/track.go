// Package trackpage is the public tracking page, for recipients of parcels. It
// shows no more than they already know, in their language.
package trackpage

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// How often one address may ask for tracking pages, a second and at once. A
// page asks again by itself every minute; a family or an office shares one
// address.
const (
	trackRate  = 5
	trackBurst = 100
)

// trackPages are the public pages; one limiter counts for all of them, and a
// further one for forms.
type trackPages struct {
	limiter *httpkit.Limiter // by client address
	forms   *httpkit.Limiter // likewise
}

// trackView is the public page of one parcel. It holds nothing that the page
// may not show: no name, no street, no postal code, no order, no price.
type trackView struct {
	locale
	Path     string
	Sender   string
	Logo     account.Logo
	Test     bool
	Status   string // name of a text
	Bad      bool
	Reason   string
	Estimate string
	Done     string // when it was delivered
	To       string
	Carrier  string
	Numbers  []string
	Steps    []parts.Milestone
	Scans    []trackScan
	Checked  trackMoment
	Return   returnOffer
}

// A trackScan is one line of the timeline.
type trackScan struct {
	Class                 string // of the dot
	Status, Reason, Place string
	At                    trackMoment
	Parcel                string // "Parcel 2" where there are several
}

// T returns a text in the page's language.
func (l locale) T(name string) string { return cmp.Or(l.Texts[name], l.returnText(name)) }

// why explains a reason to the recipient; "" if the reason does not concern
// them.
func (l locale) why(reason string) string { return l.Texts[reasonTexts[reason]] }

// localeOf returns the language that the address names, else the first
// available one that the browser accepts, else English.
func localeOf(r *http.Request) locale {
	type preference struct {
		tag  string
		rank float64
	}
	var accepted []preference
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		rank := 1.0
		if n, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(quality), "q="), 64); err == nil {
			rank = n
		}
		if len(accepted) < 20 && rank > 0 { // anybody can send a header of any length
			accepted = append(accepted, preference{tag, rank})
		}
	}
	slices.SortStableFunc(accepted, func(a, b preference) int { return cmp.Compare(b.rank, a.rank) })

	tags := []string{r.URL.Query().Get("lang")}
	for _, language := range accepted {
		tags = append(tags, language.tag)
	}
	for _, tag := range tags {
		if found, ok := localeFor(tag); ok {
			return found
		}
	}
	return locales[0]
}

// localeFor returns the language of a tag. English is American in the United
// States and Canada and where no region is given, and British elsewhere.
func localeFor(tag string) (locale, bool) {
	base, region, _ := strings.Cut(strings.ToLower(tag), "-")
	if base == "en" && region != "" && region != "us" && region != "ca" {
		base = "en-gb"
	}

	for _, known := range locales {
		if strings.ToLower(known.Code) == base {
			return known, true
		}
	}
	return locale{}, false
}

// recipientHeaders sets the headers of pages that strangers see.
func recipientHeaders(v *site.Visit) {
	header := v.Writer.Header()
	header.Set("Referrer-Policy", "no-referrer") // the address is the secret
	header.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	header.Set("Vary", "Accept-Language")
}

// parcelOf reads the parcel that the address names, and the account that sent
// it.
func (p trackPages) parcelOf(v *site.Visit) (page parts.TrackedShipment, sender ship.Account, err error) {
	recipientHeaders(v)

	// The limit comes before the token is looked at, so it also slows down
	// somebody who tries tokens.
	if err := p.limiter.Admit(v.Writer.Header(), httpkit.ClientNetwork(v.Request, v.TrustedProxies)); err != nil {
		return page, sender, err
	}
	opened, tracked, err := v.Tracking.OpenPage(v.Context(), v.Request.PathValue("token"))
	if err != nil {
		return page, sender, err
	}

	page.Tracked = tracked
	if page.Shipment, err = v.Shipping.Shipment(v.Context(), opened.Tenant, opened.Shipment); err != nil {
		return page, sender, err
	}
	sender, err = v.Account.Account(v.Context(), opened.Tenant.Account)
	return page, sender, err
}

// show handles GET /track/{token}.
func (p trackPages) show(v *site.Visit) error {
	shipment, sender, err := p.parcelOf(v)
	if err != nil {
		return noParcelFor(v, err)
	}
	logo, err := v.Account.Logo(v.Context(), sender.ID)
	if err != nil {
		return noParcelFor(v, err)
	}
	view := trackViewOf(localeOf(v.Request), v.Request.URL.Path, shipment, sender.Name, logo)
	if view.Return, err = offerOf(v, view.locale, shipment); err != nil {
		return noParcelFor(v, err)
	}
	return showTagged(v, trackPage(view))
}

// showTagged answers with a page and its ETag, or with 304 if the reader has it
// already.
func showTagged(v *site.Visit, page templ.Component) error {
	var body strings.Builder
	if err := page.Render(v.Context(), &body); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(body.String()))
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`

	// An open page asks again every minute, and most times nothing has changed.
	header := v.Writer.Header()
	header.Set("ETag", tag)
	if v.Request.Header.Get("If-None-Match") == tag {
		v.Writer.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	v.Writer.Write([]byte(body.String())) // the client may have disconnected
	return nil
}

// noParcelFor explains in the reader's language why there is nothing to see. A
// parcel that is gone and one that never existed look the same.
func noParcelFor(v *site.Visit, err error) error {
	switch ship.KindOf(err) {
	case ship.NotFound:
		return NoParcel(v, http.StatusNotFound, "missing")
	case ship.Limited:
		v.Writer.Header().Set("Retry-After", "60")
		return NoParcel(v, http.StatusTooManyRequests, "busy")
	}

	// The dashboard's error page would show what failed, which is not for
	// recipients.
	v.Log.ErrorContext(v.Context(), "tracking page", "error", err)
	v.Writer.Header().Set("Retry-After", "60")
	return NoParcel(v, http.StatusServiceUnavailable, "later")
}

// NoParcel answers with a page that shows no parcel, and says why.
func NoParcel(v *site.Visit, status int, text string) error {
	recipientHeaders(v)
	return v.Show(status, noParcelPage(localeOf(v.Request), text))
}

// logo handles GET /track/{token}/logo/{hash}.
func (p trackPages) logo(v *site.Visit) error {
	_, sender, err := p.parcelOf(v)
	if err != nil {
		return noParcelFor(v, err)
	}
	if err := v.ShowLogo(sender.ID); err != nil {
		return noParcelFor(v, err)
	}
	return nil
}
