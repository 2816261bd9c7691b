package amazonshipping

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

const tokenPath = "/auth/o2/token"

// tokenLimit bounds the answer to a request for a token.
const tokenLimit = 64 << 10

// fetchToken exchanges the refresh token of the merchant's authorization.
func (d *driver) fetchToken(ctx context.Context) (string, time.Duration, error) {
	form := url.Values{
		"grant_type":    {"refresh_token"},
		"refresh_token": {d.refresh},
		"client_id":     {d.client},
		"client_secret": {d.secret},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, ship.Errorf(ship.Internal, "the Amazon Shipping URL is not valid")
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", userAgent)

	response, err := d.via.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()

	body, err := io.ReadAll(io.LimitReader(response.Body, tokenLimit))
	if response.StatusCode != http.StatusOK {
		return "", 0, tokenRefused(response, body)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	if err != nil {
		return "", 0, ship.Errorf(ship.Unavailable, "Amazon's response to the token request could not be read")
	}
	return answer.AccessToken, time.Duration(answer.ExpiresIn) * time.Second, nil
}

// tokenRefused is the error of an answer that is not a token. Of Amazon's refusal
// only the code is kept: the text may repeat the credentials.
func tokenRefused(response *http.Response, body []byte) error {
	var answer struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(body, &answer) // gateways answer web pages

	code := response.StatusCode
	refused := &ship.Error{
		Err:        carrierkit.Status(code),
		RetryAfter: carrierkit.RetryAfter(response.Header, time.Now()),
		Refusal:    ship.Refusal{Code: cleanError(answer.Error)},
	}
	switch {
	case code == http.StatusTooManyRequests:
		refused.Kind = ship.Limited
		refused.Message = "Amazon is rate-limiting token requests; try again later"
	case answer.Error == "invalid_grant":
		refused.Kind = ship.Forbidden
		refused.Message = "the authorization of the app was withdrawn or has ended; authorize it again in Seller Central, and replace the refresh token of this connection"
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
		refused.Kind = ship.Forbidden
		refused.Message = "Amazon does not accept the LWA client ID and secret"
	default:
		refused.Kind = ship.Unavailable
		refused.Message = "Amazon cannot issue tokens right now"
	}
	return refused
}

// cleanError returns an error code, which is a word; nothing else is kept.
func cleanError(code string) string {
	if len(code) > 40 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return code
}
