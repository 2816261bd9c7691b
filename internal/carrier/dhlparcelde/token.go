package dhlparcelde

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const tokenPath = "/parcel/de/account/auth/ropc/v1/token"

// tokenLimit bounds the answer to a request for a token.
const tokenLimit = 64 << 10

// fetchToken requests a token with the keys of the app and the user of the
// portal. There is no refresh token: an expired one is requested again.
func (d *driver) fetchToken(ctx context.Context) (string, time.Duration, error) {
	// DHL takes a form here, and JSON everywhere else.
	form := url.Values{
		"grant_type":    {"password"},
		"client_id":     {d.key},
		"client_secret": {d.secret},
		"username":      {d.user},
		"password":      {d.password},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+tokenPath, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, ship.Errorf(ship.Internal, "the DHL Parcel DE URL is not valid")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")

	response, err := d.via.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(io.LimitReader(response.Body, tokenLimit))
	if response.StatusCode != http.StatusOK {
		return "", 0, tokenRefused(response)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   text   `json:"expires_in"`
	}
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return "", 0, ship.Errorf(ship.Unavailable, "DHL's response to the token request could not be read")
	}
	return answer.AccessToken, seconds(answer.ExpiresIn), nil
}

// tokenRefused is the error of an answer that is not a token. Nothing of its body
// is kept: it may repeat the credentials.
func tokenRefused(response *http.Response) error {
	code := response.StatusCode
	refused := &ship.Error{
		Err:        carrierkit.Status(code),
		RetryAfter: carrierkit.RetryAfter(response.Header, time.Now()),
	}

	switch {
	case code == http.StatusTooManyRequests:
		refused.Kind = ship.Limited
		refused.Message = "DHL is rate-limiting token requests; try again later"
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
		refused.Kind = ship.Forbidden
		refused.Message = "DHL does not accept the API key, or the portal user and its password; a person's password expires, that of a system user does not"
	default:
		refused.Kind = ship.Unavailable
		refused.Message = "DHL cannot issue tokens right now"
	}
	return refused
}
