package all_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
)

var update = flag.Bool("update", false, "rewrite docs/carriers.md and each sources.md")

// TestTheDocumentTellsWhatTheSpecsTell checks that docs/carriers.md agrees with
// Specs.
func TestTheDocumentTellsWhatTheSpecsTell(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "carriers.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- specs -->\n", "<!-- /specs -->"
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the document has no place for the specs")
	}
	want := before + begin + document(t) + end + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Error("docs/carriers.md is not up to date: go test ./internal/carrier/all -run Document -update")
	}
}

// A described carrier is its Spec and what its driver can do.
type described struct {
	carrier.Spec
	abilities []string
	repeats   bool // a purchase without a response is sent again
}

func (d described) can(ability string) bool { return slices.Contains(d.abilities, ability) }

func describe(t *testing.T) []described {
	t.Helper()
	var list []described
	for _, s := range all.Specs {
		opened := openAny(t, s)
		list = append(list, described{
			Spec:      s,
			abilities: opened.Abilities(),
			repeats:   opened.Repeats(carrier.BuyOrder{}) != carrier.RepeatsNever,
		})
	}
	return list
}

// openAny opens a carrier with well-formed credentials, all of them if it can:
// some abilities need those that are optional.
func openAny(t *testing.T, s carrier.Spec) *carrier.Carrier {
	t.Helper()
	var err error
	for _, requiredOnly := range []bool{false, true} {
		for _, value := range []string{"123456789", "A1B2C3", "123456"} {
			c := carrier.Credentials{}
			for _, f := range s.Fields {
				if f.Required || !requiredOnly {
					c[f.Name] = value
				}
			}
			var opened *carrier.Carrier
			if opened, err = carrier.Open(s, carrier.Opening{Credentials: c, BaseURL: cmp.Or(s.TestURL, s.LiveURL)}); err == nil {
				return opened
			}
		}
	}
	t.Fatalf("%s: %v", s.Name, err)
	return nil
}

func document(t *testing.T) string {
	t.Helper()
	list := describe(t)
	var b strings.Builder
	b.WriteString("## Capabilities\n\n")
	table(&b, list, abilityRows)
	b.WriteString("\n## Purchases without a response\n\nWhat Waybill does when a carrier may have sold a label but its response was lost:\n\n| carrier | what happens |\n|---|---|\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| %s | %s |\n", c.Title, afterALostAnswer(c))
	}
	b.WriteString("\n## Options\n\nWhich services can do an [option](options.md) beyond a usual or adult signature, Saturday delivery and insurance:\n\n")
	table(&b, list, extraRows())
	describeTracking(t, &b, list)
	describeFacts(t, &b, list)
	b.WriteString("\n## Addresses\n\nMaximum lengths, in characters:\n\n")
	table(&b, list, addressRows)
	for _, c := range list {
		section(&b, c)
	}
	var simulated []string
	for _, s := range sandbox.Specs() {
		simulated = append(simulated, "`"+s.Name+"`")
	}
	fmt.Fprintf(&b, "\n## Simulated carriers\n\nA test key without a connection of its own uses the simulated carriers of the sandbox, named %s; [sandbox.md](sandbox.md) describes them.\n",
		strings.Join(simulated, ", "))
	return b.String()
}

// A row states one property of every carrier.
type row struct {
	title string
	of    func(described) string
}

func table(b *strings.Builder, list []described, rows []row) {
	b.WriteString("| |")
	for _, c := range list {
		b.WriteString(" " + c.Title + " |")
	}
	b.WriteString("\n|---" + strings.Repeat("|---", len(list)) + "|\n")
	for _, r := range rows {
		b.WriteString("| " + r.title + " |")
		for _, c := range list {
			b.WriteString(" " + r.of(c) + " |")
		}
		b.WriteString("\n")
	}
}

// extraRows say which services can do an option.
func extraRows() []row {
	var rows []row
	for _, extra := range ship.AllExtras() {
		rows = append(rows, row{extra.String(), func(c described) string {
			able := c.Extras[extra]
			switch n := len(able); {
			case n == 0:
				return "-"
			case able[0] == carrier.EveryService[0] || n == len(c.Services):
				return "all services"
			case n > len(c.Services)/2:
				var others []string
				for _, service := range c.Services {
					if !slices.Contains(able, service.Code) {
						others = append(others, "`"+service.Code+"`")
					}
				}
				return "all but " + strings.Join(others, ", ")
			}
			return "`" + strings.Join(able, "`, `") + "`"
		}})
	}
	return rows
}

var abilityRows = []row{
	{"API name", func(c described) string { return "`" + c.Name + "`" }},
	{"quotes rates", able("rates")},
	{"sells labels", able("buy")},
	{"checks a purchase without making it", able("rehearse")},
	{"looks up purchases by reference", able("find")},
	{"voids labels", able("void")},
	{"tracks parcels", able("track")},
	{"books pickups", able("pickups")},
	{"looks up pickups by reference", able("find_pickups")},
	{"closes manifests", func(c described) string {
		if !c.can("manifests") || len(c.ManifestServices) == 0 {
			return able("manifests")(c)
		}
		return "of `" + strings.Join(c.ManifestServices, "`, `") + "`"
	}},
	{"takes documents after a purchase", func(c described) string {
		if len(c.Documents.Types) == 0 {
			return "no"
		}
		kinds := "all types"
		if len(c.Documents.Types) < len(ship.UploadTypes) {
			kinds = "`" + strings.Join(c.Documents.Types, "`, `") + "`"
		}
		if c.Documents.Announced {
			kinds += ", with `customs.documentsFollow`"
		}
		return kinds
	}},
	{"looks up documents", able("find_documents")},
	{"has proofs of delivery", able("proof")},
	{"finds service points", able("points")},
	{"estimates duties", able("duties")},
	{"checks streets of addresses in", func(c described) string {
		if len(c.AddressCoverage.Streets) == 0 {
			return "-"
		}
		return strings.Join(c.AddressCoverage.Streets, ", ")
	}},
	{"checks whether it serves a place", func(c described) string {
		switch {
		case !c.AddressCoverage.Places:
			return "no"
		case len(c.AddressCoverage.Streets) == 0:
			return "yes, in every country"
		}
		return "yes, in all other countries"
	}},
	{"native label formats", func(c described) string { return strings.ToUpper(strings.Join(c.Formats, ", ")) }},
	{"look-up returns the label", func(c described) string {
		if !c.can("find") {
			return "-"
		}
		if c.LookupMayHaveLabel {
			return "if the carrier still has it"
		}
		return yes(!c.LookupLacksLabel)
	}},
	{"delay until a purchase can be looked up", func(c described) string {
		if !c.can("find") {
			return "-"
		}
		return span(c.Delay())
	}},
	{"API calls per account", func(c described) string {
		if c.Quota.Calls == 0 {
			return "no limit set"
		}
		text := fmt.Sprintf("%d per %s", c.Quota.Calls, span(c.Quota.Per))
		if c.Quota.Burst > 0 {
			text += fmt.Sprintf(", bursts of %d", c.Quota.Burst)
		}
		return text
	}},
	{"services", func(c described) string { return strconv.Itoa(len(c.Services)) }},
	{"carrier packaging types", func(c described) string { return strconv.Itoa(len(c.Packagings)) }},
}

func able(ability string) func(described) string {
	return func(c described) string { return yes(c.can(ability)) }
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// span returns a duration in words.
func span(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d >= u.of && d%u.of == 0 {
			n := int(d / u.of)
			if n == 1 {
				return "1 " + u.name
			}
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	if d == 0 {
		return "none"
	}
	return d.String()
}

// afterALostAnswer describes how a purchase whose response is lost is resolved,
// depending on the carrier's abilities.
func afterALostAnswer(c described) string {
	if !c.can("find") {
		return "The purchase cannot be looked up. After 24 hours the shipment needs review (`needs_review`); it is never bought again automatically."
	}
	absent := afterAConfirmedAbsence(c)
	switch {
	case !c.LookupLacksLabel:
		return "The purchase is looked up by its reference. If it is found, its label is used." + absent
	case c.LookupMayHaveLabel:
		return "The purchase is looked up by its reference. If it is found, its label is used; if the carrier does not send the label again, the purchase is voided and made again." + absent
	case c.can("void"):
		return "The purchase is looked up by its reference. If it is found, its label is lost: the purchase is voided and made again." + absent
	}
	return "The purchase is looked up by its reference. If it is found, its label is lost and cannot be voided: it is recorded as an orphaned label, left unused, and a new label is bought." + absent
}

// rebuyFor is the default of REBUY_FOR, and reviewAfter that of REVIEW_AFTER.
const (
	rebuyFor    = 10 * time.Minute
	reviewAfter = 24 * time.Hour
)

// afterAConfirmedAbsence describes what follows when the purchase is not found: it
// depends on how long it takes to confirm that.
func afterAConfirmedAbsence(c described) string {
	if c.repeats {
		return " If a look-up does not find it, the same request is sent again under the same key, for 10 minutes: " + c.Title +
			" answers it with the same purchase. After that, it fails once its absence is confirmed."
	}

	delay := c.Delay()
	confirmedAfter := 2 * delay
	switch {
	case delay >= reviewAfter:
		return " If it is not found, that is never confirmed in time: after 24 hours the shipment needs review (`needs_review`)."
	case c.DuplicateIsBilled:
		return fmt.Sprintf(" If it is not found, that is confirmed after about %s, and the purchase fails. It is never bought again automatically, because a duplicate is billed.", span(confirmedAfter))
	case confirmedAfter > rebuyFor-2*time.Minute: // the request itself takes up to two
		return fmt.Sprintf(" If it is not found, that is confirmed after about %s, and the purchase fails. It is not bought again automatically.", span(confirmedAfter))
	}
	return fmt.Sprintf(" If it is not found, that is confirmed after about %s, and it is bought again if the client is still waiting.", span(confirmedAfter))
}

var addressRows = []row{
	{"name", limit(func(l carrier.AddressLimits) int { return l.Name })},
	{"company", limit(func(l carrier.AddressLimits) int { return l.Company })},
	{"street", func(c described) string {
		lines := "lines"
		if c.Address.Lines > 0 {
			lines = strconv.Itoa(c.Address.Lines) + " lines"
		}
		if c.Address.Line > 0 {
			lines += " of " + strconv.Itoa(c.Address.Line)
		}
		return lines
	}},
	{"city", limit(func(l carrier.AddressLimits) int { return l.City })},
	{"state", limit(func(l carrier.AddressLimits) int { return l.State })},
	{"zip", limit(func(l carrier.AddressLimits) int { return l.Zip })},
	{"phone", limit(func(l carrier.AddressLimits) int { return l.Phone })},
	{"email", limit(func(l carrier.AddressLimits) int { return l.Email })},
	{"character set", func(c described) string {
		return map[string]string{"": "all", "latin1": "Western European (Latin-1)", "ascii": "English (ASCII)"}[c.Address.Charset]
	}},
}

func limit(of func(carrier.AddressLimits) int) func(described) string {
	return func(c described) string {
		if n := of(c.Address); n > 0 {
			return strconv.Itoa(n)
		}
		return "-"
	}
}

// section writes the section about one carrier.
func section(b *strings.Builder, c described) {
	fmt.Fprintf(b, "\n## %s\n\nLimits and behavior:\n\n", c.Title)
	for _, l := range c.Limits {
		fmt.Fprintf(b, "- %s\n", l)
	}
	b.WriteString("\n| credential | | where to find it |\n|---|---|---|\n")
	for _, f := range c.Fields {
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.Name, f.Title+map[bool]string{false: " (optional)"}[f.Required], f.Help)
	}
	b.WriteString("\n| service | |\n|---|---|\n")
	for _, s := range c.Services {
		fmt.Fprintf(b, "| `%s` | %s |\n", s.Code, s.Name)
	}
	if len(c.Packagings) == 0 {
		return
	}
	b.WriteString("\n| packaging | |\n|---|---|\n")
	for _, p := range c.Packagings {
		fmt.Fprintf(b, "| `%s` | %s |\n", p.Code, cmp.Or(p.Name, p.Code))
	}
}
