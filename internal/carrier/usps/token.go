package usps

import (
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

func (d *driver) fetchAccess(ctx context.Context) (string, time.Duration, error) {
	call := carrierkit.Call{
		Method:  http.MethodPost,
		URL:     d.base + "/oauth2/v3/token",
		Refusal: refusalOf,
		Body: accessRequest{
			GrantType:    "client_credentials",
			ClientID:     d.clientID,
			ClientSecret: d.clientSecret,
		},
	}

	var answer accessAnswer
	if err := call.Do(ctx, d.via, &answer); err != nil {
		return "", 0, err
	}

	d.scope.Store(&answer.Scope)
	seconds, _ := answer.ExpiresIn.Int64()
	return answer.AccessToken, time.Duration(seconds) * time.Second, nil
}

// paymentLife is how long a payment authorization is valid. The answer of USPS
// does not state it.
const paymentLife = 8 * time.Hour

// fetchPayment returns the request for a payment authorization.
func (d *driver) fetchPayment(access string) carrierkit.Fetch {
	return func(ctx context.Context) (string, time.Duration, error) {
		call := withTokens(carrierkit.Call{
			Method: http.MethodPost,
			URL:    d.base + "/payments/v3/payment-authorization",
			Body:   paymentRequest{Roles: d.roles()},
		}, access, "")

		var answer paymentAnswer
		if err := call.Do(ctx, d.via, &answer); err != nil {
			return "", 0, withAdvice(err)
		}

		// USPS answers an account that it has not enrolled with 200, an
		// explanation and no token.
		if answer.Token == "" && answer.Body != "" {
			return "", 0, &ship.Error{
				Kind:    ship.Forbidden,
				Message: notEnrolled,
				Refusal: ship.Refusal{Message: string(answer.Body)},
			}
		}
		return answer.Token, paymentLife, nil
	}
}

// roles returns who pays, who owns the label and, for prices by contract, whose
// prices they are.
func (d *driver) roles() []role {
	list := []role{
		{RoleName: "PAYER", CRID: d.crid, AccountType: "EPS", AccountNumber: d.account},
		{RoleName: "LABEL_OWNER", CRID: d.crid, MID: d.mid, ManifestMID: d.manifestMID},
	}
	if d.contract {
		list = append(list, role{RoleName: "RATE_HOLDER", CRID: d.crid, AccountType: "EPS", AccountNumber: d.account})
	}
	return list
}
