package ups

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// fetchToken requests a token with the client's credentials.
func (d *driver) fetchToken(ctx context.Context) (string, time.Duration, error) {
	call := carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.tokens,
		Header: http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(d.id+":"+d.secret))},
			"Content-Type":  {"application/x-www-form-urlencoded"},
		},
		Refusal: func(body []byte) ship.Refusal { return first(refusalsOf(body)) },
	}

	var answer tokenAnswer
	if err := call.Do(ctx, formDoer{d.via, "grant_type=client_credentials"}, &answer); err != nil {
		return "", 0, err
	}
	seconds, err := strconv.Atoi(string(answer.ExpiresIn))
	if err != nil {
		return "", 0, ship.Errorf(ship.Unavailable, "UPS sent a token without an expiry time")
	}
	return answer.AccessToken, time.Duration(seconds) * time.Second, nil
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
