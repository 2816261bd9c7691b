package gls

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

const tokenPath = "/oauth2/v2/token"

// fetchToken requests a token with the credentials of the app.
func (d *driver) fetchToken(ctx context.Context) (string, time.Duration, error) {
	call := carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + tokenPath,
		Header: http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(d.id+":"+d.secret))},
			"Content-Type":  {"application/x-www-form-urlencoded"},
		},
	}
	var answer struct {
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if err := call.Do(ctx, formDoer{d.via, "grant_type=client_credentials"}, &answer); err != nil {
		return "", 0, err
	}
	return answer.AccessToken, time.Duration(answer.ExpiresIn * float64(time.Second)), nil
}

// formDoer gives a request the body of a form, as a Call sends only JSON.
type formDoer struct {
	via  carrier.Doer
	form string
}

// Do is carrier.Doer.
func (f formDoer) Do(r *http.Request) (*http.Response, error) {
	r.Body = io.NopCloser(strings.NewReader(f.form))
	r.ContentLength = int64(len(f.form))
	return f.via.Do(r)
}
