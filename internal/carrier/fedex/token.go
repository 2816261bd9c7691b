package fedex

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const tokenPath = "/oauth/token"

// tokenLimit bounds the answer to a request for a token.
const tokenLimit = 64 << 10

// banned is how long FedEx locks out an address that asks for too many tokens.
const banned = 10 * time.Minute

// A project is a pair of keys of the developer portal and the token that they
// give.
type project struct {
	id, secret string
	token      *carrierkit.Token
}

func newProject(id, secret string) *project {
	return &project{strings.TrimSpace(id), strings.TrimSpace(secret), carrierkit.NewToken()}
}

// fetch asks for a token of the project. FedEx takes a form there, and JSON
// everywhere else.
func (d *driver) fetch(p *project) carrierkit.Fetch {
	return func(ctx context.Context) (string, time.Duration, error) {
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {p.id}, "client_secret": {p.secret}}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+tokenPath, strings.NewReader(form.Encode()))
		if err != nil {
			return "", 0, ship.Errorf(ship.Internal, "the address of FedEx is not one")
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Accept", "application/json")
		resp, err := d.via.Do(req)
		if err != nil {
			return "", 0, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, tokenLimit))
		if resp.StatusCode != http.StatusOK {
			return "", 0, tokenRefused(resp, body)
		}
		var answer struct {
			AccessToken string `json:"access_token"`
			ExpiresIn   int64  `json:"expires_in"`
		}
		if err == nil {
			err = json.Unmarshal(body, &answer)
		}
		if err != nil {
			return "", 0, ship.Errorf(ship.Unavailable, "the answer of FedEx to the request for a token could not be read")
		}
		return answer.AccessToken, time.Duration(answer.ExpiresIn) * time.Second, nil
	}
}

// errToken marks the errors of requests for tokens.
var errToken = errors.New("no token")

// tokenRefused judges an answer that is no token. Of what FedEx says only the
// code is kept: the text may repeat the keys.
func tokenRefused(resp *http.Response, body []byte) error {
	code := resp.StatusCode
	e := &ship.Error{
		Err: errors.Join(errToken, carrierkit.Status(code)), RetryAfter: carrierkit.RetryAfter(resp.Header, time.Now()),
		Refusal: ship.Refusal{Code: refusal(body).Code},
	}
	switch {
	case code == http.StatusForbidden:
		e.Kind, e.Message = ship.Forbidden, "FedEx gives no token: the keys are barred, or too many tokens were asked for"
		e.RetryAfter = max(e.RetryAfter, banned)
	case code == http.StatusTooManyRequests:
		e.Kind, e.Message = ship.Limited, "FedEx gives no more tokens for now"
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
		e.Kind, e.Message = ship.Forbidden, "FedEx does not accept the keys"
	default:
		e.Kind, e.Message = ship.Unavailable, "FedEx gives no tokens for now"
	}
	return e
}
