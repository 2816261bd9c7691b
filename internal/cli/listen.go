package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/webhook"
)

// listen is the command "waybill listen".
type listen struct {
	*cli
	forward, url, key, since, secret string
	live                             bool

	service *client.Client
	to      *webhook.Forwarder
	board   *board
	cursor  string          // of the log
	from    time.Time       // older events are skipped; zero for none
	seen    map[string]bool // events after the cursor that were forwarded
}

// How often the log is read, and how long to wait for a service that does not
// answer.
const (
	pollEvery      = 500 * time.Millisecond
	reconnectAfter = 2 * time.Second
)

// retryAfter is how long after each failed try the next one comes.
var retryAfter = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}

func (c *cli) listenCommand() *cobra.Command {
	l := &listen{cli: c, seen: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "listen --forward URL",
		Short: "Forward events to a program on this machine",
		Long: "Forward new events to a program on this machine, signed like webhooks. The program\n" +
			"needs no public URL: this command reads the event log and posts each event to it.\n\n" +
			"The URL of the service and the key default to WAYBILL_URL and WAYBILL_KEY.",
		Example: "  waybill listen --forward http://localhost:3000/hook --key sk_test_...",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}

	flags := cmd.Flags()
	flags.StringVar(&l.forward, "forward", "", "URL to post events to, such as http://localhost:3000/hook")
	flags.StringVar(&l.url, "url", "", "URL of the service (default: WAYBILL_URL, or "+client.DefaultBaseURL+")")
	flags.StringVar(&l.key, "key", "", "API key with the scope events (default: WAYBILL_KEY)")
	flags.StringVar(&l.since, "since", "", "start with past events: 10m, 2h, 3d or 2027-01-31T12:00:00Z (default: now)")
	flags.StringVar(&l.secret, "secret", "", "secret to sign with, whsec_... (default: a new one, printed)")
	flags.BoolVar(&l.live, "live", false, "allow a live key, which sends real events to this machine")
	return cmd
}

func (l *listen) run(ctx context.Context) error {
	if err := l.prepare(time.Now()); err != nil {
		return err
	}
	if err := l.findStart(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped by the user
		}
		return l.explain(err)
	}

	l.board.head(l.url, l.forward, l.to.Secret())
	defer l.board.close()
	for {
		err := l.follow(ctx)
		if ctx.Err() != nil {
			return nil // stopped by the user
		}

		// A request that the service rejects would be rejected again. All other
		// failures are waited out: the service may just be restarting.
		if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status < http.StatusInternalServerError {
			return l.explain(err)
		}
		l.board.printLine("the service is unavailable; retrying")
		sleep(ctx, reconnectAfter)
	}
}

// prepare validates the flags, and opens what the command needs.
func (l *listen) prepare(now time.Time) (err error) {
	for _, setting := range []struct {
		value *string
		name  string
	}{
		{&l.url, "WAYBILL_URL"},
		{&l.key, "WAYBILL_KEY"},
	} {
		if *setting.value == "" {
			*setting.value, _ = l.Env(setting.name)
		}
	}
	if l.url == "" {
		l.url = client.DefaultBaseURL
	}

	// Events of a live key hold names and addresses of real people. They leave
	// the service only if the user says so.
	switch {
	case l.forward == "":
		return errors.New("--forward is required, such as --forward http://localhost:3000/hook")
	case l.key == "":
		return errors.New(`an API key is required: --key sk_test_... or WAYBILL_KEY; "waybill dev" prints one`)
	case strings.HasPrefix(l.key, "sk_live_") && !l.live:
		return errors.New("this is a live key: real names and addresses would be sent to this machine. Use a test key, or add --live")
	}

	if l.from, err = parseSince(l.since, now); err != nil {
		return err
	}
	if l.to, err = webhook.NewForwarder(l.forward, l.secret); err != nil {
		return err
	}
	l.service = client.New(l.key, client.Options{BaseURL: l.url, UserAgent: "waybill-listen"})
	l.board = newBoard(l.Out)
	return nil
}

// parseSince reads a moment of the past: a duration ago, or a time. Empty is
// none.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}

	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.Before(now) {
		return at, nil
	}
	return time.Time{}, errors.New("--since must be a duration such as 10m, 2h or 3d, or a past time such as 2027-01-31T12:00:00Z")
}

// rarestType is the type that most logs have the fewest events of: a reader that
// asks for it alone reaches the end of the log in few requests.
const rarestType = "shipment.exception"

// findStart sets the cursor to where reading starts: the end of the log, or its
// beginning if the past is asked for.
func (l *listen) findStart(ctx context.Context) error {
	if !l.from.IsZero() {
		// Nothing needs to be read, but a key that is refused should be
		// reported at once.
		_, err := l.service.EventsPage(ctx, client.EventsRequest{Limit: 1})
		return err
	}

	for {
		page, err := l.service.EventsPage(ctx, client.EventsRequest{After: l.cursor, Types: []string{rarestType}, Limit: 100})
		if err != nil {
			return err
		}
		l.cursor = page.NextCursor
		if len(page.Data) == 0 {
			return nil
		}
	}
}

// follow forwards events until ctx ends or the log cannot be read.
func (l *listen) follow(ctx context.Context) error {
	for event, err := range l.service.FollowEvents(ctx, client.EventsRequest{After: l.cursor, Limit: 100}, pollEvery) {
		if err != nil {
			return err
		}

		if !l.seen[event.ID] && !event.Timestamp.Before(l.from) {
			l.post(ctx, event)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}

		// Several events can share a cursor. After a reconnect they are read
		// again, and those that were forwarded are skipped.
		if event.Cursor != l.cursor {
			l.cursor = event.Cursor
			clear(l.seen)
		}
		l.seen[event.ID] = true
	}
	return ctx.Err()
}

// post forwards one event, and tries again a few times.
func (l *listen) post(ctx context.Context, event client.Event) {
	row := forwarded{event: event, at: time.Now()}
	for {
		row.tries++
		l.board.showSending(row)

		start := time.Now()
		row.status, row.err = l.to.Post(ctx, event.ID, event.Body)
		row.took = time.Since(start)

		// A request that the user has cut off did not fail.
		if ctx.Err() != nil {
			return
		}

		if row.delivered() || row.tries > len(retryAfter) {
			l.board.row(row)
			return
		}
		l.board.showRetry(row)
		sleep(ctx, retryAfter[row.tries-1])
	}
}

// explain says what to do about a service that refuses or does not answer.
func (l *listen) explain(err error) error {
	refused, answered := errors.AsType[*client.Error](err)
	switch {
	case !answered:
		return fmt.Errorf("no service responds at %s: is \"waybill dev\" running? Use --url for another address: %w", l.url, err)
	case refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%s does not accept the key: %w", l.url, err)
	case refused.Status == http.StatusForbidden:
		return fmt.Errorf("the key cannot read events; it needs the events scope: %w", err)
	}
	return err
}

// sleep waits for the duration, or until ctx ends.
func sleep(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
