package returnrequests

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// ruleForm is the rule as it was filled in.
type ruleForm struct {
	Enabled  bool
	Days     string
	Reasons  string // a line each
	PaidBy   string
	Approval string
	Amount   string
	Currency string
	Carrier  string
	Service  string
	Carriers []parts.Choice
	Mails    bool // labels are mailed
	Wrong    site.Problems
}

// The choices of the form.
var (
	payers = []parts.Choice{
		{Value: ship.PaidByAccount, Title: "Your account"},
		{Value: ship.PaidByRecipient, Title: "The recipient, deducted from the refund"},
	}
	approvals = []parts.Choice{
		{Value: ship.ApprovalManual, Title: "By a person, on the page Returns"},
		{Value: ship.ApprovalAutomatic, Title: "Automatically"},
	}
)

func payerWords(paidBy string) string {
	if paidBy == ship.PaidByRecipient {
		return "Recipient, deducted from the refund"
	}
	return "Your account"
}

// getRule handles GET /app/{account}/{mode}/settings/returns.
func getRule(v *site.Visit) error {
	rule, err := v.Returns.Rule(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	form := ruleForm{
		Enabled:  rule.Enabled,
		Days:     strconv.Itoa(rule.Days),
		Reasons:  strings.Join(rule.Reasons, "\n"),
		PaidBy:   rule.PaidBy,
		Approval: rule.Approval,
		Currency: v.Who.Account.Currency,
		Carrier:  rule.Carrier,
		Service:  rule.Service,
	}
	if !rule.MaxAmount.IsZero() {
		form.Amount = rule.MaxAmount.Amount()
		form.Currency = rule.MaxAmount.Currency
	}
	return showRule(v, http.StatusOK, form)
}

// showRule shows the form, with the carriers of the account.
func showRule(v *site.Visit, status int, form ruleForm) error {
	carriers, err := v.Shipping.Carriers(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	form.Mails = v.Returns.Mails()
	form.Carriers = []parts.Choice{{Title: "Chosen by the routing rules"}}
	isListed := form.Carrier == ""
	for _, carrier := range carriers {
		form.Carriers = append(form.Carriers, parts.Choice{Value: carrier.Name, Title: carrier.Title})
		isListed = isListed || carrier.Name == form.Carrier
	}

	// A carrier that is not connected any more stays chosen until somebody
	// changes it.
	if !isListed {
		form.Carriers = append(form.Carriers, parts.Choice{Value: form.Carrier, Title: parts.CarrierTitle(form.Carrier)})
	}
	return v.Show(status, rulePage(v.Frame("Returns", "settings"), form))
}

// saveRule handles POST /app/{account}/{mode}/settings/returns. Labels that are
// approved automatically count against the daily limit of the person.
func saveRule(v *site.Visit) error {
	form := ruleForm{
		Enabled:  v.Form("enabled") != "",
		Days:     v.Form("days"),
		Reasons:  v.Form("reasons"),
		PaidBy:   v.Form("paidBy"),
		Approval: v.Form("approval"),
		Amount:   v.Form("amount"),
		Currency: v.Form("currency"),
		Carrier:  v.Form("carrier"),
		Service:  v.Form("service"),
	}

	rule, err := form.rule()
	if err == nil {
		rule.SavedBy = ship.Spender{Person: v.Who.Actor.Person.ID}
		_, err = v.Returns.SaveRule(v.Audited("", "", nil), v.Tenant(), rule)
	}
	if wrong, fixable := site.ProblemsOf(err); fixable {
		form.Wrong = wrong
		return showRule(v, http.StatusUnprocessableEntity, form)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("settings", "returns"), "saved")
}

// rule reads the form.
func (f ruleForm) rule() (ship.ReturnRule, error) {
	rule := ship.ReturnRule{
		Enabled:  f.Enabled,
		PaidBy:   f.PaidBy,
		Approval: f.Approval,
		Carrier:  f.Carrier,
		Service:  f.Service,
	}
	rule.Days, _ = strconv.Atoi(f.Days) // zero is out of range
	for line := range strings.Lines(f.Reasons) {
		if reason := strings.TrimSpace(line); reason != "" {
			rule.Reasons = append(rule.Reasons, reason)
		}
	}

	if f.Amount == "" {
		return rule, nil
	}
	limit, ok := ship.ParseMoney(f.Amount, strings.ToUpper(f.Currency))
	if !ok {
		return rule, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/maxAmount",
			Code:    "invalid",
			Detail:  "must be an amount and a currency, such as 15.00 and USD",
		}})
	}
	rule.MaxAmount = limit
	return rule, nil
}

// wrongReasons returns the first problem of the list of reasons.
func (f ruleForm) wrongReasons() string {
	if text := f.Wrong.At("/reasons"); text != "" {
		return text
	}
	for i := range ship.MaxReturnReasons + 1 {
		if text := f.Wrong.At("/reasons/" + strconv.Itoa(i)); text != "" {
			return "Line " + strconv.Itoa(i+1) + ": " + text
		}
	}
	return ""
}
