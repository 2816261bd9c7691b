package plugin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/remote"
	"github.com/waybillhq/waybill/internal/ship"
)

// What a plug-in must do besides passing the suite, whose faults show mostly how
// our own side bears them: check signatures, sell once, find what was sold, and
// keep what it claims.

func (v *verification) checks() []check {
	var list []check
	add := func(needed string, finding Finding, run func(context.Context) error) {
		if needed == "" || v.description.Can(needed) {
			finding.Operation = cmp.Or(finding.Operation, needed)
			list = append(list, check{finding, run})
		}
	}
	money := func(name string) Finding { return Finding{Name: name, Money: true} }
	fault := func(name string) Finding { return Finding{Name: name, Money: true, Fault: true} }
	claim := func(name string) Finding { return Finding{Name: name, Claim: true} }
	claimed := func(name string) Finding { return Finding{Name: name, Claim: true, Money: true} }

	add("", money("a request without a signature is refused"), v.unsigned)
	add("", money("a request with a wrong signature is refused"), v.wronglySigned)
	add("", money("a request that was changed on the way is refused"), v.changed)
	add("", money("a request that is ten minutes old is refused"), v.old)
	add("", Finding{Name: "a body that cannot be read is answered with an error"}, v.unreadable)
	add("", Finding{Name: "a path that does not exist is refused"}, v.unknownPath)

	add("buy", fault("a purchase that arrives twice sells one label"), v.repeated)
	add("buy", fault("two purchases with one reference at once sell one label"), v.repeatedAtOnce)
	add("buy", claim("labels have the format that they say"), v.labelFormat)
	add("find", fault("a purchase whose answer is lost is found"), v.answerLost)
	add("find", fault("a purchase whose caller hangs up is found or never made"), v.hungUp)
	add("find", claimed("purchases are found by reference"), v.findsByReference)
	add("void", money("a label that is voided twice is voided once"), v.voidedTwice)
	add("track", claim("statuses cover the codes of tracking"), v.codesAreMapped)
	if len(v.description.TrackingNumbers) > 0 {
		add("buy", claim("trackingNumbers recognize the numbers that are sold"), v.numbersAreRecognized)
	}
	if i := slices.IndexFunc(v.description.Fields, func(f remote.Field) bool { return f.Secret && f.Required }); i >= 0 {
		add("", Finding{Name: "wrong credentials are refused", Operation: "check"}, func(ctx context.Context) error {
			return v.wrongCredentials(ctx, v.description.Fields[i].Name)
		})
	}
	return list
}

// body returns a request as the driver would send it.
func (v *verification) body(members map[string]any) []byte {
	whole := map[string]any{"livemode": false, "credentials": v.credentials, "timeoutMs": 15000}
	for name, value := range members {
		whole[name] = value
	}
	text, err := json.Marshal(whole)
	if err != nil {
		panic(err) // maps of texts
	}
	return text
}

// send posts a body with the header, whatever it says, and returns the status and
// the answer.
func (v *verification) send(ctx context.Context, path string, header http.Header, body []byte) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, v.target.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	response, err := v.target.via.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return response.StatusCode, answer, err
}

func (v *verification) signedHeader(at time.Time, body []byte) http.Header {
	header := http.Header{}
	v.target.secret.Sign(header, "req_"+v.reference(), at, body)
	return header
}

// wantRefused sends a request that must not be accepted.
func (v *verification) wantRefused(ctx context.Context, header http.Header, body []byte) error {
	status, _, err := v.send(ctx, "/check", header, body)
	if err != nil {
		return err
	}
	if status != http.StatusUnauthorized {
		return fmt.Errorf("the answer has status %d, want 401: anybody could buy labels", status)
	}
	return nil
}

func (v *verification) unsigned(ctx context.Context) error {
	return v.wantRefused(ctx, http.Header{}, v.body(nil))
}

func (v *verification) wronglySigned(ctx context.Context) error {
	body := v.body(nil)
	header := v.signedHeader(time.Now(), body)
	header.Set(remote.HeaderSignature, "v1,"+strings.Repeat("A", 43)+"=")
	return v.wantRefused(ctx, header, body)
}

func (v *verification) changed(ctx context.Context) error {
	body := v.body(nil)
	return v.wantRefused(ctx, v.signedHeader(time.Now(), body), append(body, ' '))
}

func (v *verification) old(ctx context.Context) error {
	body := v.body(nil)
	return v.wantRefused(ctx, v.signedHeader(time.Now().Add(-10*time.Minute), body), body)
}

func (v *verification) unreadable(ctx context.Context) error {
	body := []byte(`{"livemode":`)
	status, _, err := v.send(ctx, "/check", v.signedHeader(time.Now(), body), body)
	if err == nil && (status < 400 || status > 499) {
		err = fmt.Errorf("the answer has status %d, want 422 or another of 4xx", status)
	}
	return err
}

func (v *verification) unknownPath(ctx context.Context) error {
	body := v.body(nil)
	status, _, err := v.send(ctx, "/no-such-operation", v.signedHeader(time.Now(), body), body)
	if err == nil && status < 400 {
		err = fmt.Errorf("the answer has status %d, want 404", status)
	}
	return err
}

// capture is a Doer that keeps the last request to a path.
type capture struct {
	via    carrier.Doer
	path   string
	header http.Header
	body   []byte
}

// Do is carrier.Doer.
func (c *capture) Do(request *http.Request) (*http.Response, error) {
	if strings.HasSuffix(request.URL.Path, c.path) && request.Body != nil {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		c.header = request.Header.Clone()
		c.body = body
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	return c.via.Do(request)
}

// repeated sends a purchase once more, byte for byte, as a proxy does that lost
// the answer.
func (v *verification) repeated(ctx context.Context) error {
	seen := &capture{via: v.target.via, path: "/buy"}
	opened, err := v.open(seen)
	if err != nil {
		return err
	}
	bought, err := opened.Buy(ctx, v.buyOrder())
	if err != nil {
		return err
	}

	status, answer, err := v.send(ctx, "/buy", seen.header, seen.body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return nil // it refuses to do it twice
	}
	var again struct {
		TrackingNumber string `json:"trackingNumber"`
	}
	if err := json.Unmarshal(answer, &again); err != nil {
		return err
	}
	if again.TrackingNumber != bought.TrackingNumber {
		return fmt.Errorf("sold %s and then %s: a purchase that arrives twice costs twice", bought.TrackingNumber, again.TrackingNumber)
	}
	return nil
}

func (v *verification) repeatedAtOnce(ctx context.Context) error {
	opened, err := v.open(v.target.via)
	if err != nil {
		return err
	}
	order := v.buyOrder()

	var (
		mu      sync.Mutex
		numbers []string
		group   sync.WaitGroup
	)
	for range 3 {
		group.Go(func() {
			// All but one may be refused.
			bought, err := opened.Buy(ctx, order)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && !slices.Contains(numbers, bought.TrackingNumber) {
				numbers = append(numbers, bought.TrackingNumber)
			}
		})
	}
	group.Wait()

	switch len(numbers) {
	case 0:
		return errors.New("none of three purchases with one reference was made")
	case 1:
		return nil
	}
	return fmt.Errorf("sold %s under one reference: keep the reference with the purchase, and look it up before you sell", strings.Join(numbers, " and "))
}

func (v *verification) labelFormat(ctx context.Context) error {
	opened, err := v.open(v.target.via)
	if err != nil {
		return err
	}
	bought, err := opened.Buy(ctx, v.buyOrder())
	if err != nil {
		return err
	}

	beginnings := map[string]string{"pdf": "%PDF-", "png": "\x89PNG\r\n", "gif": "GIF8", "zpl": "^XA"}
	if format := bought.Label.Format; !bytes.HasPrefix(bytes.TrimSpace(bought.Label.Data), []byte(beginnings[format])) {
		return fmt.Errorf("the label says %s, and its bytes do not begin like one", format)
	}
	if !slices.Contains(v.description.LabelFormats, bought.Label.Format) {
		return fmt.Errorf("the label is %s, and labelFormats has only %s", bought.Label.Format, strings.Join(v.description.LabelFormats, ", "))
	}
	return nil
}

// lossy is a Doer whose answers to a path are lost after the plug-in answered.
type lossy struct {
	via  carrier.Doer
	path string
}

// Do is carrier.Doer.
func (l lossy) Do(request *http.Request) (*http.Response, error) {
	response, err := l.via.Do(request)
	if err != nil || !strings.HasSuffix(request.URL.Path, l.path) {
		return response, err
	}
	_ = response.Body.Close()
	return nil, io.ErrUnexpectedEOF
}

func (v *verification) answerLost(ctx context.Context) error {
	return v.buyAndFind(ctx, lossy{v.target.via, "/buy"}, false)
}

// impatient is a Doer that closes the connection as soon as a request to a path
// is written.
type impatient struct {
	via  carrier.Doer
	path string
}

// Do is carrier.Doer.
func (i impatient) Do(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, i.path) {
		return i.via.Do(request)
	}
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { cancel() },
	})
	response, err := i.via.Do(request.WithContext(ctx))
	if err == nil {
		_ = response.Body.Close()
	}
	return nil, io.ErrUnexpectedEOF
}

func (v *verification) hungUp(ctx context.Context) error {
	return v.buyAndFind(ctx, impatient{v.target.via, "/buy"}, true)
}

// buyAndFind loses the answer to a purchase and looks it up. A purchase that may
// not have been made must be found always or never.
func (v *verification) buyAndFind(ctx context.Context, via carrier.Doer, mayBeAbsent bool) error {
	broken, err := v.open(via)
	if err != nil {
		return err
	}
	order := v.buyOrder()
	if _, err := broken.Buy(ctx, order); ship.KindOf(err) != ship.Uncertain {
		return fmt.Errorf("the purchase ended with %v, want an uncertain one", err)
	}

	// The plug-in may still be at work when its caller has left.
	opened, err := v.open(v.target.via)
	if err != nil {
		return err
	}
	if mayBeAbsent {
		if err := wait(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	first, err := opened.Find(ctx, order)
	if ship.KindOf(err) == ship.NotFound && mayBeAbsent {
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
		if late, err := opened.Find(ctx, order); ship.KindOf(err) != ship.NotFound {
			return fmt.Errorf("it was not found, and a second later it was (%s): it would have been bought again", late.TrackingNumber)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("it was sold and not found: %w", err)
	}
	again, err := opened.Find(ctx, order)
	if err != nil || again.TrackingNumber != first.TrackingNumber {
		return fmt.Errorf("it was found as %s, and then as %q (%v)", first.TrackingNumber, again.TrackingNumber, err)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// findsByReference buys two labels and looks each up: the numbers must not be
// mixed up, and the rest of the order must not matter.
func (v *verification) findsByReference(ctx context.Context) error {
	opened, err := v.open(v.target.via)
	if err != nil {
		return err
	}
	for range 2 {
		order := v.buyOrder()
		bought, err := opened.Buy(ctx, order)
		if err != nil {
			return err
		}
		found, err := opened.Find(ctx, order)
		if err != nil {
			return fmt.Errorf("the claim is untrue: %w", err)
		}
		if found.TrackingNumber != bought.TrackingNumber {
			return fmt.Errorf("the claim is untrue: bought %s, found %s", bought.TrackingNumber, found.TrackingNumber)
		}
	}
	if found, err := opened.Find(ctx, v.buyOrder()); ship.KindOf(err) != ship.NotFound {
		return fmt.Errorf("the claim is untrue: a reference that was never used finds %q (%v), want not_found", found.TrackingNumber, err)
	}
	return nil
}

func (v *verification) voidedTwice(ctx context.Context) error {
	opened, err := v.open(v.target.via)
	if err != nil {
		return err
	}
	bought, err := opened.Buy(ctx, v.buyOrder())
	if err != nil {
		return err
	}
	purchase := purchaseOf(bought)
	if _, err := opened.Void(ctx, purchase); err != nil {
		return err
	}
	if _, err := opened.Void(ctx, purchase); err != nil && ship.KindOf(err) != ship.Invalid {
		return fmt.Errorf("the second void ended with %w, want voided or a refusal: a void whose answer is lost is asked again", err)
	}
	return nil
}

func purchaseOf(s ship.Sale) ship.Purchase {
	return ship.Purchase{
		Carrier:        s.Carrier,
		Service:        s.Service,
		CarrierRef:     s.CarrierRef,
		TrackingNumber: s.TrackingNumber,
		Pieces:         s.Pieces,
	}
}

func (v *verification) codesAreMapped(ctx context.Context) error {
	opened, err := v.open(v.target.via)
	if err != nil {
		return err
	}
	number := v.description.Examples.TrackingNumber
	if v.description.Can("buy") {
		bought, err := opened.Buy(ctx, v.buyOrder())
		if err != nil {
			return err
		}
		number = bought.TrackingNumber
	}
	updates, err := opened.Track(ctx, []string{number})
	if err != nil {
		return err
	}
	for _, update := range updates {
		if _, _, known := v.spec.MeaningOf(update.Scan.Code); !known {
			return fmt.Errorf("the claim is untrue: the code %q is not in statuses", update.Scan.Code)
		}
	}
	return nil
}

func (v *verification) numbersAreRecognized(ctx context.Context) error {
	opened, err := v.open(v.target.via)
	if err != nil {
		return err
	}
	bought, err := opened.Buy(ctx, v.buyOrder())
	if err != nil {
		return err
	}
	if v.spec.Recognize(ship.NormalizeTrackingNumber(bought.TrackingNumber)) == carrier.NotRecognized {
		return fmt.Errorf("the claim is untrue: %s matches none of trackingNumbers", bought.TrackingNumber)
	}
	return nil
}

func (v *verification) wrongCredentials(ctx context.Context, field string) error {
	wrong := carrier.Credentials{}
	for name, value := range v.credentials {
		wrong[name] = value
	}
	wrong[field] = "wrong-" + v.run
	opened, err := carrier.Open(v.spec, carrier.Opening{Credentials: wrong, BaseURL: v.target.url, Via: v.target.via})
	if err != nil {
		return err
	}
	if err := opened.Check(ctx); ship.KindOf(err) != ship.Forbidden {
		return fmt.Errorf("check with a wrong %s ended with %v, want an error of kind forbidden", field, err)
	}
	return nil
}
