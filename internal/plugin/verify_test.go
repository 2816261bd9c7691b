package plugin

import (
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/carrier/conformance"
	"github.com/waybillhq/waybill/internal/carrier/remote"
)

// TestAGoodPluginGetsAnA is the conformance test of the driver of plug-ins too:
// the suite runs over it, with every ability and every fault.
func TestAGoodPluginGetsAnA(t *testing.T) {
	t.Parallel()
	target, _ := openPigeon(t, habits{})
	report, err := target.Verify(t.Context(), VerifyOptions{AtOnce: 16})
	if err != nil {
		t.Fatal(err)
	}
	for _, failed := range report.Failures() {
		t.Errorf("%s: %s", failed.Name, failed.Error)
	}
	if report.Grade != GradeA {
		t.Errorf("grade %s, want A", report.Grade)
	}

	faults := 0
	for _, finding := range report.Findings {
		if finding.Fault {
			faults++
		}
	}
	if faults < 300 {
		t.Errorf("only %d requirements under faults", faults)
	}
	t.Logf("%d requirements, %d of them under faults", len(report.Findings), faults)
}

func TestBadHabitsOfPluginsAreNoticed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		habits habits
		grade  Grade
		fails  string // a requirement that must not be met
	}{
		"cannot look up":          {habits{cannotFind: true}, GradeB, ""},
		"sells a reference twice": {habits{sellsTwice: true}, GradeF, "a purchase that arrives twice sells one label"},
		"finds nothing":           {habits{forgets: true}, GradeF, "purchases are found by reference"},
		"finds anything":          {habits{guesses: true}, GradeF, "finds what was bought and nothing else"},
		"checks no signature":     {habits{trusts: true}, GradeF, "a request with a wrong signature is refused"},
		"is found late":           {habits{late: true}, GradeF, "a purchase whose caller hangs up is found or never made"},
		"has codes of its own":    {habits{unmapped: true}, GradeC, "statuses cover the codes of tracking"},
		"sends what is no label":  {habits{forges: true}, GradeC, "labels have the format that they say"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target, _ := openPigeon(t, tc.habits)
			report := verifyWithoutFaults(t, target)
			if report.Grade != tc.grade {
				t.Errorf("grade %s, want %s: %+v", report.Grade, tc.grade, report.Failures())
			}
			isNoticed := slices.ContainsFunc(report.Failures(), func(f Finding) bool { return f.Name == tc.fails })
			if tc.fails != "" && !isNoticed {
				t.Errorf("%q passes; the failures are %+v", tc.fails, report.Failures())
			}
			if tc.fails == "" && len(report.Failures()) > 0 {
				t.Errorf("%+v", report.Failures())
			}
		})
	}
}

// verifyWithoutFaults verifies a plug-in without the suite's faults, which show
// how our own side bears them.
func verifyWithoutFaults(t *testing.T, target Target) Report {
	t.Helper()
	v, err := target.verification(t.Context(), VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checks := slices.DeleteFunc(v.suite(t.Context()), func(c check) bool { return c.Fault })
	return v.report(t.Context(), append(checks, v.checks()...), 8)
}

func TestAPluginThatDoesNotSignIsNotRegistered(t *testing.T) {
	t.Parallel()
	target, _ := openPigeon(t, habits{signsNothing: true})
	if _, err := target.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "signature") {
		t.Errorf("err = %v", err)
	}
}

// TestExchangesFollowTheContract compares what is sent and answered with
// api/carrier-plugin.yaml.
func TestExchangesFollowTheContract(t *testing.T) {
	t.Setenv("CARRIER_SPECS", "../../api")
	target, _ := openPigeon(t, habits{})
	contract := carriertest.NewContract(t, target.url, nil, "carrier-plugin.yaml")
	v, err := target.verification(t.Context(), VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}

	subject := v.subject(t.Context())
	subject.Service = func(conformance.T) carrier.Doer { return contract.Checked(target.via) }
	for _, demand := range subject.Cases() {
		if demand.HasFault {
			continue
		}
		if err := demand.Run(subject, t); err != nil {
			t.Errorf("%s: %v", demand.Name, err)
		}
	}
	if _, err := remote.Describe(t.Context(), contract.Checked(target.via), target.url, target.secret); err != nil {
		t.Error(err)
	}
}
