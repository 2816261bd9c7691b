package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/ship"
)

// The exit codes of the program.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitNotSignedIn = 4
	exitRefused     = 5
	exitTryLater    = 6
	exitPending     = 7
	exitInterrupted = 130
)

// exitCodes are the exit codes and what they mean, for the help and the documents.
var exitCodes = []struct {
	Code    int
	Meaning string
}{
	{0, "done"},
	{exitFailed, "failed; the message says why"},
	{exitUsage, "wrong usage: an unknown flag, or a flag or an argument that is missing"},
	{exitNotFound, "not found"},
	{exitNotSignedIn, "not signed in, or the key may not do this"},
	{exitRefused, "the carrier refused"},
	{exitTryLater, "try again later: too many requests, or the service or a carrier is not available"},
	{exitPending, "not known yet: the carrier has not answered, the answer was lost, or a person must approve. Check again later; do not buy again"},
	{exitInterrupted, "interrupted"},
}

// A usageError is the error of a command that was not written as it must be.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// checkUsage makes the errors of flags and arguments of a command and its
// subcommands those of wrong usage.
func checkUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage("%v", err)
		}

		// Cobra checks these itself after the arguments, with an error that has no type
		// of its own.
		if err := cmd.ValidateRequiredFlags(); err != nil {
			return usage("%v", err)
		}
		if err := cmd.ValidateFlagGroups(); err != nil {
			return usage("%v", err)
		}
		return nil
	}
	for _, subcommand := range cmd.Commands() {
		checkUsage(subcommand)
	}
}

// A PendingError is the error of a command whose outcome is not known yet. A script
// must neither take it for a failure nor repeat it under another key.
type PendingError struct {
	ID, Status string
	Approval   string // id of the approval that a purchase waits for; empty if for the carrier
}

func (e *PendingError) Error() string {
	if e.Approval != "" {
		return e.ID + " waits for approval " + e.Approval + ": a person must approve it in the dashboard before it is bought; do not repeat it"
	}
	if e.Status == "needs_review" {
		return e.ID + " needs review: the carrier did not answer, and may have done it; see the dashboard, and do not repeat it"
	}
	return e.ID + " is " + e.Status + ": the carrier has not answered yet; look at it again in a minute, and do not repeat it"
}

// errNotSignedIn is the error of a command that has no key.
var errNotSignedIn = errors.New(`not signed in: run "waybill login", or set WAYBILL_KEY to an API key; "waybill dev" prints one`)

// ExitCode returns the program's exit code for an error.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	// Interrupting a command that waits to repeat a call is no answer of the service,
	// although the error has the last one.
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	if _, ok := errors.AsType[*PendingError](err); ok {
		return exitPending
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return exitCodeOf(refused)
	}
	if errors.Is(err, errNotSignedIn) {
		return exitNotSignedIn
	}

	if lost, ok := errors.AsType[*client.NetworkError](err); ok {
		// A call with an effect that may have arrived may have been carried out.
		if lost.Sent && lost.IdempotencyKey != "" {
			return exitPending
		}
		return exitTryLater
	}
	if _, unreachable := errors.AsType[*url.Error](err); unreachable {
		return exitTryLater
	}
	return exitFailed
}

// exitCodeOf returns the exit code for an answer of the service that is an error.
func exitCodeOf(refused *client.Error) int {
	switch {
	case refused.Code == "outcome_unknown" || refused.Code == "idempotency_in_progress" || refused.Code == "restore_pending":
		return exitPending
	case refused.Status == http.StatusNotFound:
		return exitNotFound
	case refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden:
		return exitNotSignedIn
	case refused.Status == http.StatusTooManyRequests || refused.Status >= http.StatusBadGateway:
		return exitTryLater
	case refused.Source == "carrier":
		return exitRefused
	}
	return exitFailed
}

// Explain returns err in a form for people, on one line or, for invalid fields,
// on several.
func Explain(err error) string { return printableLines(explain(err)) }

func explain(err error) string {
	var text strings.Builder
	text.WriteString("waybill: ")

	if refused, ok := errors.AsType[*client.Error](err); ok && err == error(refused) && len(refused.Errors) > 0 {
		fmt.Fprintf(&text, "%d %s: %s", refused.Status, refused.Code, refused.Detail)
		for _, field := range refused.Errors {
			explainField(&text, field.Pointer+field.Parameter, field.Detail, field.Suggestion)
		}
		fmt.Fprintf(&text, "\n  (%s)", refused.RequestID)
		return text.String()
	}

	message := strings.TrimPrefix(err.Error(), "waybill: ") // of the client
	text.WriteString(strings.ReplaceAll(message, "\n", "\n  "))
	if known, ok := errors.AsType[*ship.Error](err); ok {
		for _, field := range known.Fields {
			explainField(&text, field.Pointer, field.Detail, field.Suggestion)
		}
	}
	return text.String()
}

func explainField(text *strings.Builder, pointer, detail, suggestion string) {
	fmt.Fprintf(text, "\n  %s %s", strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."), detail)
	if suggestion != "" {
		fmt.Fprintf(text, " (did you mean %s?)", suggestion)
	}
}
