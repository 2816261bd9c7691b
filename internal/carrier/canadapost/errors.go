package canadapost

import (
	"encoding/xml"
	"errors"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads Canada Post's messages. The code is that of the first; the
// texts of the others follow its own.
func refusalOf(body []byte) ship.Refusal {
	var answer messages
	if xml.Unmarshal(body, &answer) != nil || len(answer.Messages) == 0 {
		return ship.Refusal{} // gateways answer web pages
	}

	var texts []string
	for _, m := range answer.Messages {
		if text := strings.Join(strings.Fields(m.Text), " "); text != "" {
			texts = append(texts, text)
		}
	}
	return ship.Refusal{Code: strings.TrimSpace(answer.Messages[0].Code), Message: strings.Join(texts, "; ")}
}

// accountCodes are the codes for an account that cannot be used at all: no change
// of the order resolves them. AA001 is a key that was deactivated, AA002 a key of
// the other environment, AA003 a key of another customer, and AA004 a customer that
// may not be mailed for.
//
// fact: account-codes
var accountCodes = []string{"AA001", "AA002", "AA003", "AA004", "E002"}

// explain says that a refusal is about the connection, or that Canada Post limits
// its calls.
func explain(err error) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid {
		return err
	}

	refused := *declined
	switch {
	case slices.Contains(accountCodes, declined.Refusal.Code):
		refused.Kind = ship.Forbidden
		refused.Message = "Canada Post does not let the API key use these numbers; check the customer and contract numbers of this connection under Carriers"
	case strings.Contains(declined.Refusal.Message, "SLM Monitor"): // fact: throttle-words
		refused.Kind = ship.Limited
		refused.Message = "the carrier is rate-limiting requests; try again later"
	}
	return &refused
}
