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
	from    time.Time       // older events are passed over; zero for none
	seen    map[string]bool // events behind the cursor that were forwarded
}

// How often the log is looked at, how long to wait for a service that is away,
// and how long after a failed try comes the next.
const (
	lookEvery = 500 * time.Millisecond
	awayEvery = 2 * time.Second
)

var forwardAgain = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}

func (c *cli) listenCommand() *cobra.Command {
	l := &listen{cli: c, seen: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "listen --forward URL",
		Short: "Forward events to a program on this machine",
		Long: "Forward events to a program on this machine, from now on, signed as webhooks are. The program\n" +
			"needs no public address: this command reads the event log and posts each event to it.\n\n" +
			"The address of the service and the key are taken from WAYBILL_URL and WAYBILL_KEY, if they\n" +
			"are not given.",
		Example: "  waybill listen --forward http://localhost:3000/hook --key sk_test_...",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&l.forward, "forward", "", "address to post events to, such as http://localhost:3000/hook")
	flags.StringVar(&l.url, "url", "", "address of the service (default: WAYBILL_URL, or "+client.DefaultBaseURL+")")
	flags.StringVar(&l.key, "key", "", "API key with the scope events (default: WAYBILL_KEY)")
	flags.StringVar(&l.since, "since", "", "begin with events of the past: 10m, 2h, 3d or 2027-01-31T12:00:00Z (default: now)")
	flags.StringVar(&l.secret, "secret", "", "secret to sign with, whsec_... (default: a new one, printed)")
	flags.BoolVar(&l.live, "live", false, "allow a live key: real events leave the service for this machine")
	return cmd
}

func (l *listen) run(ctx context.Context) error {
	if err := l.prepare(time.Now()); err != nil {
		return err
	}
	if err := l.begin(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
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
		if e, ok := errors.AsType[*client.Error](err); ok && e.Status < http.StatusInternalServerError {
			return l.explain(err)
		}
		l.board.say("the service is away; trying again")
		sleep(ctx, awayEvery)
	}
}

// prepare checks what was asked for.
func (l *listen) prepare(now time.Time) (err error) {
	for _, s := range []struct {
		value *string
		name  string
	}{{&l.url, "WAYBILL_URL"}, {&l.key, "WAYBILL_KEY"}} {
		if *s.value == "" {
			*s.value, _ = l.Env(s.name)
		}
	}
	if l.url == "" {
		l.url = client.DefaultBaseURL
	}
	switch {
	case l.forward == "":
		return errors.New("say where to: --forward http://localhost:3000/hook")
	case l.key == "":
		return errors.New(`say with which key: --key sk_test_..., or WAYBILL_KEY; "waybill dev" prints one`)
	case strings.HasPrefix(l.key, "sk_live_") && !l.live:
		return errors.New("this is a live key: real names and addresses would leave the service for this machine. Use a test key, or add --live")
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

// parseSince reads a time of the past: so long ago, or a time. Empty is none.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.Before(now) {
		return at, nil
	}
	return time.Time{}, errors.New("--since is not understood: write 10m, 2h, 3d or a time such as 2027-01-31T12:00:00Z that is past")
}

// rarest is the kind that most logs have the fewest of: a reader that asks for
// it alone is at the end of the log in few steps.
const rarest = "shipment.exception"

// begin finds the place to read from: the end of the log, or its beginning if
// the past is asked for.
func (l *listen) begin(ctx context.Context) error {
	if !l.from.IsZero() {
		_, err := l.service.EventsPage(ctx, client.EventsRequest{Limit: 1}) // is the key good?
		return err
	}
	for {
		p, err := l.service.EventsPage(ctx, client.EventsRequest{After: l.cursor, Types: []string{rarest}, Limit: 100})
		if err != nil {
			return err
		}
		l.cursor = p.NextCursor
		if len(p.Data) == 0 {
			return nil
		}
	}
}

// follow forwards events until ctx ends or the log cannot be read.
func (l *listen) follow(ctx context.Context) error {
	for e, err := range l.service.FollowEvents(ctx, client.EventsRequest{After: l.cursor, Limit: 100}, lookEvery) {
		if err != nil {
			return err
		}
		if !l.seen[e.ID] && !e.Timestamp.Before(l.from) {
			l.pass(ctx, e)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e.Cursor != l.cursor {
			l.cursor = e.Cursor
			clear(l.seen)
		}
		l.seen[e.ID] = true
	}
	return ctx.Err()
}

// pass forwards one event, and tries again a few times.
func (l *listen) pass(ctx context.Context, e client.Event) {
	row := passed{event: e, at: time.Now()}
	for {
		row.tries++
		l.board.sending(row)
		start := time.Now()
		row.status, row.err = l.to.Post(ctx, e.ID, e.Body)
		row.took = time.Since(start)
		if ctx.Err() != nil {
			return
		}
		if row.ok() || row.tries > len(forwardAgain) {
			l.board.row(row)
			return
		}
		l.board.failing(row)
		sleep(ctx, forwardAgain[row.tries-1])
	}
}

// explain says what to do about a service that refuses or does not answer.
func (l *listen) explain(err error) error {
	e, answered := errors.AsType[*client.Error](err)
	switch {
	case !answered:
		return fmt.Errorf("no service answers at %s: is \"waybill dev\" running? --url names another address: %w", l.url, err)
	case e.Status == http.StatusUnauthorized:
		return fmt.Errorf("%s does not know the key: %w", l.url, err)
	case e.Status == http.StatusForbidden:
		return fmt.Errorf("the key may not read events; it needs the scope events: %w", err)
	}
	return err
}

// sleep waits, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
