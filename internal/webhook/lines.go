package webhook

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// lineTimeout is the most time that a receiver of lines has to answer.
const lineTimeout = 30 * time.Second

// LineSender returns a function that posts JSON lines to a URL of the operator,
// who may choose any address: unlike the endpoints of clients, it is not checked.
// An answer other than 2xx is an error.
func LineSender(target string) func(ctx context.Context, lines []byte) error {
	sender := &http.Client{
		Timeout: lineTimeout,

		// A redirect would repeat the request as a GET, without the lines.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}

	return func(ctx context.Context, lines []byte) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(lines))
		if err != nil {
			return ship.Errorf(ship.Invalid, "the receiver must be an http or https URL: %w", err)
		}
		request.Header.Set("Content-Type", "application/x-ndjson")

		response, err := sender.Do(request)
		if err != nil {
			return ship.Errorf(ship.Unavailable, "the receiver cannot be reached: %w", err)
		}
		defer func() { _ = response.Body.Close() }()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))

		if response.StatusCode/100 != 2 {
			return ship.Errorf(ship.Unavailable, "the receiver answered %s; run the command again to send the same entries", response.Status)
		}
		return nil
	}
}
