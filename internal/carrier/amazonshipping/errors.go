package amazonshipping

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads an error of Amazon's: the code of the first, and the texts of
// all.
func refusalOf(body []byte) ship.Refusal {
	var answer errorAnswer
	if json.Unmarshal(body, &answer) != nil || len(answer.Errors) == 0 {
		return ship.Refusal{}
	}

	var texts []string
	for _, problem := range answer.Errors {
		text := problem.Message
		if problem.Details != "" && problem.Details != problem.Message {
			text = strings.TrimSpace(text + ": " + problem.Details)
		}
		texts = append(texts, text)
	}
	return ship.Refusal{Code: answer.Errors[0].Code, Message: strings.Join(texts, "; ")}
}

// codeExpired is the code of a quote that has ended.
const codeExpired = "TOKEN_EXPIRED"

// explain says what can be done about a refusal that is not about the order.
func explain(err error) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return err
	}

	refused := *declined
	switch {
	case declined.Refusal.Code == codeExpired && declined.Kind == ship.Invalid:
		// The quote was made a moment ago, and a quote that has ended sells
		// nothing.
		refused.Kind = ship.Unavailable
		refused.Message = "the quote of Amazon Shipping expired before it was bought; try again"
	case errors.Is(err, carrierkit.Status(http.StatusForbidden)):
		refused.Message = "Amazon does not allow this: the app needs a shipping role and the account must have accepted the terms of Amazon Shipping; check both in Seller Central"
	default:
		return err
	}
	return &refused
}
