package cli

import (
	"cmp"
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
	*service
	forward, since, secret string
	types                  []string
	printSecret            bool

	api    *request
	to     *webhook.Forwarder
	board  *board
	cursor string          // of the log
	from   time.Time       // older events are skipped; zero for none
	seen   map[string]bool // events after the cursor that were forwarded
}

// How often the log is read, and how long to wait for a service that does not
// answer.
const (
	pollEvery      = 500 * time.Millisecond
	reconnectAfter = 2 * time.Second
)

// retryAfter is how long after each failed try the next one comes.
var retryAfter = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}

func (s *service) listenCommand() *cobra.Command {
	l := &listen{service: s, seen: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "listen --forward URL",
		Short: "Forward events to a program on this machine",
		Long: "Forward new events to a program on this machine, signed like webhooks. The program\n" +
			"needs no public URL: this command reads the event log and posts each event to it.\n\n" +
			"The secret that signs is kept with the profile, so the program needs it only once:\n" +
			"\"waybill listen --print-secret\" prints it. Without a profile each run has a new one.",
		Example: "  waybill listen --forward http://localhost:3000/hook --events shipment.delivered,shipment.exception\n" +
			"  waybill listen --print-secret",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}

	flags := cmd.Flags()
	flags.StringVar(&l.forward, "forward", "", "URL to post events to, such as http://localhost:3000/hook")
	flags.StringVar(&l.since, "since", "", "start with past events: 10m, 2h, 3d or 2027-01-31T12:00:00Z (default: now)")
	flags.StringVar(&l.secret, "secret", "", "secret to sign with, whsec_... (default: that of the profile, or a new one, printed)")
	flags.BoolVar(&l.printSecret, "print-secret", false, "print the secret that signs, and forward nothing")
	flags.BoolVar(&s.live, "live", false, "allow a live key, which sends real events to this machine")
	eventsFlag(cmd, &l.types)
	return cmd
}

func (l *listen) run(ctx context.Context) error {
	if err := l.prepare(ctx, time.Now()); err != nil {
		return err
	}
	if l.printSecret {
		fmt.Fprintln(l.Out, l.to.Secret())
		return nil
	}
	if err := l.findStart(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped by the user
		}
		return l.explain(err)
	}

	l.board.head(l.api.profile.URL, l.forward, l.to.Secret())
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
func (l *listen) prepare(ctx context.Context, now time.Time) (err error) {
	if l.forward == "" && !l.printSecret {
		return usage("--forward is required, such as --forward http://localhost:3000/hook")
	}
	if l.api, err = l.open(ctx, reads, nil); err != nil {
		return err
	}

	// Events of a live key hold names and addresses of real people. They leave
	// the service only if the user says so.
	if l.api.profile.isLive() && !l.live {
		return errors.New("this is a live key: real names and addresses would be sent to this machine. Use a test key, or add --live")
	}

	if l.from, err = parseSince(l.since, now); err != nil {
		return err
	}
	secret := cmp.Or(l.secret, l.api.profile.Secret)
	if l.to, err = webhook.NewForwarder(cmp.Or(l.forward, "http://localhost"), secret); err != nil {
		return err
	}
	l.board = newBoard(l.cli, l.wantsJSON())
	return l.keepSecret(secret)
}

// keepSecret stores a new secret with the profile.
func (l *listen) keepSecret(present string) error {
	if present != "" || l.api.profile.name == "" {
		return nil
	}
	known, err := l.readProfiles()
	if err != nil {
		return err
	}
	changed := known.Profiles[l.api.profile.name]
	changed.Secret = l.to.Secret()
	known.Profiles[l.api.profile.name] = changed
	return l.writeProfiles(known)
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
	return time.Time{}, usage("--since must be a duration such as 10m, 2h or 3d, or a past time such as 2027-01-31T12:00:00Z")
}

// rarestType is the type that most logs have the fewest events of: a reader that
// asks for it alone reaches the end of the log in few requests.
const rarestType = "shipment.exception"

// findStart sets the cursor to where reading starts: the end of the log, or its
// beginning if the past is asked for.
func (l *listen) findStart(ctx context.Context) (err error) {
	l.cursor, err = eventsStart(ctx, l.api.Client, l.from)
	return err
}

// eventsStart returns the cursor of the end of the log, or of its beginning if the past
// is asked for.
func eventsStart(ctx context.Context, api *client.Client, from time.Time) (cursor string, err error) {
	if !from.IsZero() {
		// Nothing needs to be read, but a key that is refused should be
		// reported at once.
		_, err := api.EventsPage(ctx, client.EventsRequest{Limit: 1})
		return "", err
	}

	for {
		page, err := api.EventsPage(ctx, client.EventsRequest{After: cursor, Types: []string{rarestType}, Limit: 100})
		if err != nil {
			return "", err
		}
		cursor = page.NextCursor
		if len(page.Data) == 0 {
			return cursor, nil
		}
	}
}

// follow forwards events until ctx ends or the log cannot be read.
func (l *listen) follow(ctx context.Context) error {
	for event, err := range l.api.FollowEvents(ctx, client.EventsRequest{After: l.cursor, Types: l.types, Limit: 100}, pollEvery) {
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
func (l *listen) explain(err error) error { return explainLog(l.api, "events", err) }

// explainLog says what to do about a log that cannot be read.
func explainLog(r *request, scope string, err error) error {
	refused, answered := errors.AsType[*client.Error](err)
	switch {
	case !answered:
		return fmt.Errorf("no service responds at %s: is \"waybill dev\" running? Use --url for another address: %w", r.profile.URL, err)
	case refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%s does not accept the key: %w", r.profile.URL, err)
	case refused.Status == http.StatusForbidden:
		return fmt.Errorf("the key cannot read %s; it needs the %s scope: %w", scope, scope, err)
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
