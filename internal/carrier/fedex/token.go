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

// banned is how long FedEx locks out an IP address that requests too many
// tokens.
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

// fetchToken returns the request for a token of the project.
func (d *driver) fetchToken(keys *project) carrierkit.Fetch {
	return func(ctx context.Context) (string, time.Duration, error) {
		// FedEx takes a form here, and JSON everywhere else.
		form := url.Values{
			"grant_type":    {"client_credentials"},
			"client_id":     {keys.id},
			"client_secret": {keys.secret},
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.base+tokenPath, strings.NewReader(form.Encode()))
		if err != nil {
			return "", 0, ship.Errorf(ship.Internal, "the FedEx URL is not valid")
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
			return "", 0, ship.Errorf(ship.Unavailable, "FedEx's response to the token request could not be read")
		}
		return answer.AccessToken, time.Duration(answer.ExpiresIn) * time.Second, nil
	}
}

// errToken marks the errors of requests for tokens.
var errToken = errors.New("no token")

// tokenRefused is the error of an answer that is not a token.
func tokenRefused(response *http.Response, body []byte) error {
	// Of FedEx's refusal only the code is kept: the text may repeat the keys.
	code := response.StatusCode
	refused := &ship.Error{
		Err:        errors.Join(errToken, carrierkit.Status(code)),
		RetryAfter: carrierkit.RetryAfter(response.Header, time.Now()),
		Refusal:    ship.Refusal{Code: refusalOf(body).Code},
	}

	switch {
	case code == http.StatusForbidden:
		refused.Kind = ship.Forbidden
		refused.Message = "FedEx refused to issue a token: the keys are blocked, or too many tokens were requested"
		refused.RetryAfter = max(refused.RetryAfter, banned)
	case code == http.StatusTooManyRequests:
		refused.Kind = ship.Limited
		refused.Message = "FedEx is rate-limiting token requests; try again later"
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
		refused.Kind = ship.Forbidden
		refused.Message = "FedEx does not accept the keys"
	default:
		refused.Kind = ship.Unavailable
		refused.Message = "FedEx cannot issue tokens right now"
	}
	return refused
}
