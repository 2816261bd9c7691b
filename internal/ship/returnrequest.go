package ship

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A ReturnRequestID names a return that a recipient asked for.
type ReturnRequestID string // rrq_

const returnRequestPrefix = "rrq_"

// NewReturnRequestID makes the id of a new request.
func NewReturnRequestID(shard Shard, at time.Time) ReturnRequestID {
	return ReturnRequestID(newText(shard, at, returnRequestPrefix))
}

func (id ReturnRequestID) Raw() RawID { return raw(string(id), returnRequestPrefix) }

func ReturnRequestIDOf(id RawID) ReturnRequestID {
	return ReturnRequestID(id.text(returnRequestPrefix))
}

// ParseReturnRequestID reads the id of a request as an address carries it.
func ParseReturnRequestID(s string) (ReturnRequestID, bool) {
	id, ok := parseID(s, returnRequestPrefix)
	return ReturnRequestIDOf(id), ok
}

// A ReturnState is how far a recipient's request for a return is.
type ReturnState string

// The states of a request.
const (
	ReturnRequested ReturnState = "requested"  // waits for a person
	ReturnApproved  ReturnState = "approved"   // the label is being bought and sent
	ReturnDenied    ReturnState = "denied"     // by a person, with a reason for the recipient
	ReturnLabelSent ReturnState = "label_sent" // the recipient has the label
	ReturnFailed    ReturnState = "failed"     // the label was not bought
)

// ReturnStates lists the states in their order.
var ReturnStates = []ReturnState{ReturnRequested, ReturnApproved, ReturnDenied, ReturnLabelSent, ReturnFailed}

// nextReturnStates is the whole life of a request. A person may change their mind
// until a label is bought; each approval is a purchase of its own, and only one
// that is known to have bought nothing fails.
var nextReturnStates = map[ReturnState][]ReturnState{
	ReturnRequested: {ReturnApproved, ReturnDenied},
	ReturnApproved:  {ReturnLabelSent, ReturnFailed},
	ReturnDenied:    {ReturnApproved},
	ReturnFailed:    {ReturnApproved, ReturnDenied},
	ReturnLabelSent: {},
}

// CanBecome reports whether a request in state s may move to next.
func (s ReturnState) CanBecome(next ReturnState) bool {
	return slices.Contains(nextReturnStates[s], next)
}

// ComesFrom lists the states from which a request may move to s.
func (s ReturnState) ComesFrom() []ReturnState {
	var from []ReturnState
	for _, state := range ReturnStates {
		if state.CanBecome(s) {
			from = append(from, state)
		}
	}
	return from
}

// Who pays for a return, and how requests are approved.
const (
	PaidByAccount   = "account"
	PaidByRecipient = "recipient"

	ApprovalAutomatic = "automatic"
	ApprovalManual    = "manual"
)

// A Spender is whose daily limit a purchase counts against.
type Spender struct {
	Person PersonID // or
	Key    KeyID
}

// A ReturnRule is what an account allows recipients who want to send a parcel
// back.
type ReturnRule struct {
	Enabled   bool
	Days      int      // after the delivery
	Reasons   []string // that a recipient chooses from
	PaidBy    string
	Approval  string
	MaxAmount Money // of a label; zero for no limit
	Carrier   string
	Service   string

	SavedBy Spender
	SavedAt time.Time // zero if the account never saved one
}

// DefaultReturnRule is the rule of an account that never saved one.
func DefaultReturnRule() ReturnRule {
	return ReturnRule{
		Days:     30,
		Reasons:  []string{"Wrong size", "Damaged or defective", "Not as described", "Arrived too late", "No longer needed"},
		PaidBy:   PaidByAccount,
		Approval: ApprovalManual,
	}
}

// The limits of a rule, and of what a recipient writes. Lengths are in characters.
const (
	MaxReturnDays    = 365
	MaxReturnReasons = 20
	MaxReturnReason  = 80
	MaxReturnItems   = 300
	MaxReturnComment = 500
	MaxReturnDenial  = 300

	maxReturnCarrier = 50
)

// Normalize returns the rule as it is stored, or the fields that are invalid.
func (r ReturnRule) Normalize() (ReturnRule, error) {
	var invalid []FieldError
	add := func(pointer, code, detail string) {
		invalid = append(invalid, FieldError{Pointer: pointer, Code: code, Detail: detail})
	}

	if r.Days < 1 || r.Days > MaxReturnDays {
		add("/days", "out_of_range", "must be between 1 and "+strconv.Itoa(MaxReturnDays))
	}
	if r.PaidBy != PaidByAccount && r.PaidBy != PaidByRecipient {
		add("/paidBy", "invalid_value", "must be account or recipient")
	}
	if r.Approval != ApprovalAutomatic && r.Approval != ApprovalManual {
		add("/approval", "invalid_value", "must be automatic or manual")
	}
	if r.MaxAmount.Minor < 0 {
		add("/maxAmount", "out_of_range", "must not be negative")
	}

	r.Reasons = slices.Clone(r.Reasons)
	for i, reason := range r.Reasons {
		clean, code := cleanText(reason, MaxReturnReason)
		if code == "" && clean == "" {
			code = "required"
		}
		if code == "" && slices.Contains(r.Reasons[:i], clean) {
			code = "duplicate"
		}
		if code != "" {
			add("/reasons/"+strconv.Itoa(i), code, "must be a text of its own of at most "+strconv.Itoa(MaxReturnReason)+" characters")
		}
		r.Reasons[i] = clean
	}
	if len(r.Reasons) == 0 || len(r.Reasons) > MaxReturnReasons {
		add("/reasons", "out_of_range", "must have between 1 and "+strconv.Itoa(MaxReturnReasons)+" reasons")
	}

	for _, field := range []struct {
		pointer string
		value   *string
	}{{"/carrier", &r.Carrier}, {"/service", &r.Service}} {
		clean, code := cleanText(*field.value, maxReturnCarrier)
		if code != "" {
			add(field.pointer, code, "must have at most "+strconv.Itoa(maxReturnCarrier)+" characters")
		}
		*field.value = clean
	}
	if r.Service != "" && r.Carrier == "" {
		add("/carrier", "required", "is required with service, because services are a carrier's own")
	}
	return r, InvalidFields(invalid)
}

// Until returns the last moment at which a parcel that was delivered then can be
// returned: the end of a day.
func (r ReturnRule) Until(delivered time.Time) time.Time {
	year, month, day := delivered.UTC().Date()
	return time.Date(year, month, day+r.Days+1, 0, 0, 0, 0, time.UTC).Add(-time.Second)
}

// A ReturnRequest is a return that a recipient asked for.
type ReturnRequest struct {
	ID       ReturnRequestID
	Tenant   Tenant
	Shipment ShipmentID // that is to come back
	State    ReturnState

	// What the recipient chose and wrote. An erasure removes all but the reason.
	Reason   string
	Items    string
	Comment  string
	Email    string // where the label goes
	Language string // of the mail

	PaidBy    string
	Approvals int    // how often it was approved
	Approval  string // how, the last time; empty if it never was
	Spender   Spender
	DecidedAt time.Time
	Denial    string // why it was denied, for the recipient

	Return   ShipmentID // that was bought
	BoughtAt time.Time
	MailedAt time.Time // zero if the label was not mailed

	ErrorCode    string // why the label was not bought
	ErrorMessage string
}

// NormalizeByRecipient returns the request with the texts of the recipient as they
// are stored, or the fields that are invalid.
func (r ReturnRequest) NormalizeByRecipient(rule ReturnRule) (ReturnRequest, error) {
	var invalid []FieldError
	add := func(pointer, code, detail string) {
		invalid = append(invalid, FieldError{Pointer: pointer, Code: code, Detail: detail})
	}

	if !slices.Contains(rule.Reasons, r.Reason) {
		add("/reason", "invalid_value", "must be one of the reasons that the account accepts")
	}
	for _, field := range []struct {
		pointer string
		value   *string
		limit   int
	}{
		{"/items", &r.Items, MaxReturnItems},
		{"/comment", &r.Comment, MaxReturnComment},
	} {
		clean, code := cleanText(oneLine(*field.value), field.limit)
		if code != "" {
			add(field.pointer, code, "must have at most "+strconv.Itoa(field.limit)+" characters, and no control characters")
		}
		*field.value = clean
	}

	email, code := cleanText(r.Email, maxEmail)
	if code != "" || !isPlainEmail(email) {
		add("/email", "invalid_email", "must be a valid e-mail address, such as name@example.com")
	}
	r.Email = email
	return r, InvalidFields(invalid)
}

// NormalizeDenial returns the reason of a denial as it is stored.
func NormalizeDenial(reason string) (string, error) {
	clean, code := cleanText(oneLine(reason), MaxReturnDenial)
	if code == "" && clean == "" {
		code = "required"
	}
	if code != "" {
		return "", InvalidFields([]FieldError{{
			Pointer: "/reason",
			Code:    code,
			Detail:  "must be a text of at most " + strconv.Itoa(MaxReturnDenial) + " characters; the recipient reads it",
		}})
	}
	return clean, nil
}

// oneLine returns the text with spaces in place of line breaks and tabs.
func oneLine(text string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text)
}

// isPlainEmail reports whether mail can be sent to the address. It has one
// recipient, and nothing that a mail server could read as something else.
func isPlainEmail(email string) bool {
	local, domain, ok := strings.Cut(email, "@")
	return ok && local != "" && strings.Contains(domain, ".") &&
		!strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".") &&
		!strings.ContainsAny(email, " ,;:<>()[]\\\"") && !strings.Contains(domain, "@") &&
		!strings.ContainsFunc(email, func(r rune) bool { return r > unicode.MaxASCII })
}

// SamePostalCode reports whether the text is the postal code of the address. Spaces,
// hyphens and case do not matter; of an American code, five digits are enough.
func (a Address) SamePostalCode(text string) bool {
	own := plainPostalCode(a.Zip)
	given := plainPostalCode(text)
	if a.Country == "US" && len(own) > 5 {
		own = own[:5]
	}
	if a.Country == "US" && len(given) > 5 {
		given = given[:5]
	}
	return own == given
}

// HasPostalCode reports whether the address has a postal code that can be compared.
// Some orders to countries without them have zeros or hyphens.
func (a Address) HasPostalCode() bool {
	return strings.Trim(plainPostalCode(a.Zip), "0") != ""
}

func plainPostalCode(text string) string {
	return upperASCII(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text))
}
