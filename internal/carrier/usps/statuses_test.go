package usps

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// notified are the codes that are stored without words, which must never change.
const notified = "01 02 03 04 05 06 07 08 09 10 11 14 15 16 17 19 21 22 23 24 25 26 27 28 29 30 31 41 42 43 44 51 52 53 54 55 56 59 60 71 80 81 82 83 89 " +
	"A1 AD DX EF GC GX L1 MA NT OA OF PA PC SF T1 TL TM U1 UA"

func TestCodesThatStandAloneStayThoseTheyAre(t *testing.T) {
	var alone []string
	for _, r := range statuses.Rows() {
		if !strings.Contains(r.Code, "/") {
			alone = append(alone, r.Code)
		}
	}
	slices.Sort(alone)
	if got := strings.Join(alone, " "); got != notified {
		t.Errorf("they are %s: a scan that is told again would have another code; write a further code with a slash behind it", got)
	}
}

// TestEveryPublishedCodeHasARow compares the table with the carrier's list.
func TestEveryPublishedCodeHasARow(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	data, err := os.ReadFile(filepath.Join(dir, "usps/tracking-codes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Codes []struct {
			Code   string       `json:"event_code"`
			Status *ship.Status `json:"normalized"`
		} `json:"event_codes"`
		Categories []struct {
			Name   string       `json:"status_category"`
			Status *ship.Status `json:"normalized"`
		} `json:"status_categories"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	check := func(code string, want *ship.Status) {
		status, reason, known := meaning(code)
		if !known || want != nil && status != *want || want == nil && status != "" {
			t.Errorf("%s is %q %q (%v), want %v", code, status, reason, known, want)
		}
	}
	for _, c := range list.Codes {
		check(codeOf(c.Code, "whatever it says"), c.Status)
	}
	for _, c := range list.Categories {
		check(codeOf("", c.Name), c.Status)
	}
	t.Logf("%d codes and %d categories, %d rows", len(list.Codes), len(list.Categories), len(statuses.Rows()))
}

func TestWordsDecideWhereTheCodeDoesNot(t *testing.T) {
	for _, tc := range []struct{ code, words, want string }{
		{"01", "Delivered, Left with Individual", "01 delivered"},
		{"01", "Delivered, To Original Sender", "01/delivered_to_original_sender exception return_to_sender"},
		{"43", "Picked Up by Original Sender", "43/picked_up_by_original_sender exception return_to_sender"},
		{"09", "Return to Original Sender", "09 exception return_to_sender"},
		{"XX", "Delivered, PO Box", "XX/delivered_po_box delivered"},
		{"XX", "Delivered to Agent for Final Delivery", "XX/delivered_to_agent_for_final_delivery delivered to_agent"},
		{"XX", "Delivery Attempt: Action Needed", "XX/delivery_attempt_action_needed exception delivery_attempted"},
		{"XX", "Alert: Not Delivered", "XX/alert_not_delivered exception alert"},
		{"XX", "Held at Post Office, At Customer Request", "XX/held_at_post_office_at_customer_request in_transit available_for_pickup"},
		{"XX", "Undeliverable, Insufficient Address", "XX/undeliverable_insufficient_address exception address_not_found"},
		{"XX", "Parcel damaged", "XX/parcel_damaged exception damaged"},
		{"XX", "Held in Customs", "XX/held_in_customs exception customs_hold"},
		{"XX", "Processed Through Facility", "XX/processed_through_facility in_transit"},
		{"XX", "Label Cancelled", "XX/label_cancelled exception voided"},
		{"XX", "A Facility", "XX/a_facility  unmapped"},
		{"XX", "", "XX  unmapped"},
		{"", "", "  unmapped"},
		{"o f", "Out for Delivery", "OF out_for_delivery"},
		{"1", "Delivered", "01 delivered"},
		{".created", "Delivered", "CREATED/delivered delivered"},
		{"", "Priority Mail<SUP>&reg;</SUP> &amp; more: seized", "/priority_mail_more_seized exception seized"},
		{"ABCDEFGHIJKLMN", strings.Repeat("very long words ", 20), "ABCDEFGH/very_long_words_very_long_words_very_long_words_very_long_wo  unmapped"},
	} {
		code := codeOf(tc.code, tc.words)
		status, reason, _ := meaning(code)
		if got := strings.TrimRight(code+" "+string(status)+" "+reason, " "); got != tc.want {
			t.Errorf("%q %q is %q, want %q", tc.code, tc.words, got, tc.want)
		}
	}
}

// TestEveryRuleLeadsToARow checks that the rules and the table agree.
func TestEveryRuleLeadsToARow(t *testing.T) {
	for _, rule := range wordRules {
		if _, _, known := statuses.Meaning(rule.row); !known {
			t.Errorf("%s has no row", rule.row)
		}
	}
}
