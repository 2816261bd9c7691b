package cli

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/ship"
)

// eventsFlag chooses types of events.
func eventsFlag(cmd *cobra.Command, types *[]string) {
	cmd.Flags().StringSliceVar(types, "events", nil, "only events of these types, with commas between them (default: all)")
	_ = cmd.RegisterFlagCompletionFunc("events", completeWords(eventTypes()...))
}

func eventTypes() []string {
	types := make([]string, len(ship.EventKinds))
	for i, kind := range ship.EventKinds {
		types[i] = string(kind)
	}
	return types
}

func (s *service) eventsCommand() *cobra.Command {
	var types []string
	cmd := &cobra.Command{
		Use:     "tail",
		Short:   "Print events as they happen",
		Example: "  waybill events tail --since 1h --no-follow\n  waybill events tail --events shipment.exception --jq '.data.shipment.orderId'",
		Args:    cobra.NoArgs,
	}
	eventsFlag(cmd, &types)

	tail(s, cmd, "events", func(r *request, from time.Time, follow bool) iter.Seq2[client.Event, error] {
		return func(yield func(client.Event, error) bool) {
			cursor, err := eventsStart(r, r.Client, from)
			if err != nil {
				yield(client.Event{}, err)
				return
			}
			in := client.EventsRequest{After: cursor, Types: types, Limit: 100}
			read := r.Events(r, in)
			if follow {
				read = r.FollowEvents(r, in, pollEvery)
			}
			for event, err := range read {
				if err == nil && event.Timestamp.Before(from) {
					continue
				}
				if !yield(event, err) {
					return
				}
			}
		}
	}, func(event client.Event) ([]byte, string) {
		subject, detail := "", ""
		switch data := event.Data; {
		case data.Shipment != nil:
			subject = data.Shipment.ID
			detail = strings.TrimSpace(data.Shipment.OrderID + " " + data.Shipment.Carrier)
		case data.Tracker != nil:
			subject = data.Tracker.ID
		}
		return event.Body, fmt.Sprintf("%s  %-20s  %-30s  %s", event.Timestamp.Local().Format(time.DateTime), event.Type, subject, detail)
	})
	return group("events", "Follow the event log", cmd)
}

func (s *service) requestsCommand() *cobra.Command {
	var status string
	cmd := &cobra.Command{
		Use:     "tail",
		Short:   "Print requests to the API as they are made",
		Long:    "Print the requests that are made with the API keys of the account, without their bodies. The key needs the scope requests.",
		Example: "  waybill requests tail --status 4xx --since 1h --no-follow",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&status, "status", "", "only answers with such a status: 2xx, 4xx or 5xx")
	_ = cmd.RegisterFlagCompletionFunc("status", completeWords("2xx", "4xx", "5xx"))

	tail(s, cmd, "requests", func(r *request, from time.Time, follow bool) iter.Seq2[client.LoggedRequest, error] {
		if from.IsZero() {
			from = time.Now()
		}
		in := client.RequestsRequest{Since: from, Status: status, Limit: 100}
		if follow {
			return r.FollowRequests(r, in, pollEvery)
		}
		return r.Requests(r, in)
	}, func(logged client.LoggedRequest) ([]byte, string) {
		line, _ := json.Marshal(logged) // plain fields always encode
		text := fmt.Sprintf("%s  %s  %-6s  %s  %dms", logged.Timestamp.Local().Format(time.DateTime), s.paintStatus(logged.Status), logged.Method, logged.Path, logged.DurationMs)
		if logged.Code != "" {
			text += "  " + logged.Code
		}
		return line, text + "  " + logged.ID
	})
	return group("requests", "Follow the log of requests", cmd)
}

// paintStatus colours a status on a terminal.
func (s *service) paintStatus(status int) string {
	text := strconv.Itoa(status)
	if !isTerminal(s.Out) || !s.wantsColour() {
		return text
	}
	colour := "32"
	switch {
	case status >= http.StatusInternalServerError:
		colour = "31"
	case status >= http.StatusBadRequest:
		colour = "33"
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// tail makes cmd a command that prints a log line by line, until it is stopped. line
// returns an entry as JSON and as a line.
func tail[T any](s *service, cmd *cobra.Command, scope string, read func(r *request, from time.Time, follow bool) iter.Seq2[T, error], line func(T) ([]byte, string)) {
	var since string
	var noFollow bool
	cmd.Flags().StringVar(&since, "since", "", "start with the past: 10m, 2h, 3d or 2027-01-31T12:00:00Z (default: now)")
	cmd.Flags().BoolVar(&noFollow, "no-follow", false, "end at the end of the log, instead of waiting for more")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := parseSince(since, time.Now())
		if err != nil {
			return err
		}
		r, err := s.open(cmd.Context(), reads, args)
		if err != nil {
			return err
		}

		for entry, err := range read(r, from, !noFollow) {
			if cmd.Context().Err() != nil {
				return nil // stopped by the user
			}
			if err != nil {
				return explainLog(r, scope, err)
			}
			raw, text := line(entry)
			if !s.wantsJSON() {
				fmt.Fprintln(s.Out, text)
				continue
			}
			if err := s.showJSON(raw, false); err != nil {
				return err
			}
		}
		return nil
	}
}
