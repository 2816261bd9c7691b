// Package security runs the tests that attack the service as one, and counts
// them. The walks over all routes and the made-up requests are in test/e2e and
// internal/web, the statements without conditions on the tenant in internal/store.
package security

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/test/proving"
)

// attacks are the tests that perform an attack, by what is attacked and by
// package.
var attacks = map[string]map[string][]string{
	"accounts taken over before their owner comes": {
		"internal/member": {"TestAnUnverifiedPersonJoinsNothingElse", "TestAnUnverifiedPersonGoesWithTheirMembership", "TestWhoeverProvesAnAddressDropsWhatWasSetBefore", "TestAResetRemovesEveryOtherWayIn"},
		"internal/web":    {"TestAnInviterGainsNoAccountThatTheInvitedIsAddedTo", "TestAnInviterGainsNoAccountThatTheInvitedIsInvitedTo", "TestAnInvitationByMailReplacesWhoeverUsedTheAddress", "TestSingleSignOnReplacesWhoeverUsedTheAddress", "TestAnInvitationOfAPersonIsAcceptedByThatPersonAlone", "TestAMailedInvitationProvesTheAddressAndAShownOneDoesNot"},
	},
	"sign-in and sessions": {
		"internal/member": {"TestASignInEndsTheSessionThatTheBrowserHad", "TestANewPasswordEndsTheOtherSessions", "TestSessionsEndWhenIdleAndInAnyCase", "TestATokenHas256BitsAndIsStoredHashed", "TestNoHashCostsAsMuchAsAWrongPassword", "TestNoPasswordIsTooMuchForItsCheck", "TestTheProvidersAnswerIsChecked", "TestNobodyWithAPasswordIsConnectedUnasked", "TestAnAnswerOfTheProviderBelongsToOneBrowserAndOneSignIn"},
		"internal/web":    {"TestASignInEndsTheSessionThatTheBrowserHad", "TestAStreamEndsWithItsSession", "TestAnOpenStreamDoesNotKeepASessionAlive", "TestAHeldFormIsOfItsSessionAndNobodyElses"},
	},
	"passwords": {
		"internal/member": {"TestPasswordsThatAreGuessedFirstAreRefused"},
		"internal/web":    {"TestNobodyGetsAPasswordThatIsGuessedFirst"},
	},
	"floods": {
		"internal/web":      {"TestSessionsAndAddressesHaveALimit", "TestThrottledSignInSaysHowLongToWait", "TestOneAddressCannotTryManyTokens"},
		"internal/member":   {"TestAnAccountSendsAFewMailsOnly"},
		"internal/tracking": {"TestForgedPushesTakeNoRoom", "TestAPushWithoutASignatureIsSmallAndSoonGone"},
	},
	"other accounts": {
		"internal/store": {"TestATenantSeesAndTouchesItsOwnRowsAlone", "TestATenantSeesItsOwnJobsAlone", "TestTheGroupsRoleSeesTheGroupAlone", "TestGroupedWritesStayWithTheirTenants", "TestRowSecurityAloneKeepsTenantsApart"},
		"internal/web":   {"TestTheAccountOfAnotherIsAnAccountThatDoesNotExist", "TestTheRoleInTheAccountOfTheAddressDecides"},
	},
	"pages": {
		"internal/web": {"TestPostsOfOtherSitesAreRefused", "TestTextOfClientsNeverRuns", "TestEveryAnswerHasAStrictPolicy", "TestEveryPageSetsTheSecurityHeaders", "TestNoNameOfAnAccountRunsOnItsPublicPages"},
		"internal/api": {"TestEveryRouteSetsTheSecurityHeaders", "TestOnlyAnswersOverTLSAskForTLS"},
	},
	"links of recipients": {
		"internal/web": {"TestTheLinkOfARecipientEndsAndIsRenewed", "TestNoOtherAddressShowsAParcel", "TestARecipientSeesTheParcelAndNothingOfThePerson", "TestARecipientSeesNoInternalsInAnyState"},
	},
	"webhooks and the addresses that they reach": {
		"internal/api":     {"TestANewAddressDoesNotReceiveTheStoredHeaders"},
		"internal/webhook": {"TestHostileAddressesReachNothing", "TestRebindingRacesAreLost", "TestReservedNetworksAreRefused", "TestTheOperatorOpensNetworksButNotTheHardCore", "TestHostileEndpointsCostLittle", "TestHeadersThatBelongToTheServiceAreRefused", "TestNoMutationVerifies", "TestASecretOpensForItsEndpointAlone"},
		"internal/web":     {"TestTheFormOfAWebhookSendsNoStoredHeadersToANewAddress"},
	},
	"pushes of carriers": {
		"internal/tracking": {"TestThePushSecretIsNotInTheDatabase", "TestTheMarkOfTheSecretProvesNothing", "TestPushesSurviveTheRotationOfTheKey"},
	},
	"settings": {
		"internal/config": {"TestTheServiceIsPublicOverTLSAlone"},
	},
	"the database and its logins": {
		"internal/store": {"TestTheServingLoginOwnsNothing", "TestATamperedAuditLogIsFound", "TestAPrunedAuditLogIsStillVerified"},
		"internal/app":   {"TestALoginThatOwnsNothingServes"},
	},
	"keys and stored secrets": {
		"internal/cli":  {"TestADumpOfTheDatabaseOpensNoLiveCredentials", "TestAKeyFileIsCreatedOnceAndForOneUser", "TestLiveConnectionsNeedAKeyFromOutsideTheDatabase"},
		"internal/seal": {"TestTheSpoolIsBroughtUnderANewKey", "TestTheRecoveryLogIsBroughtUnderANewKey", "TestARotationBringsNobodyBack"},
		"test/e2e":      {"TestTheKeyIsRotatedWhileTheServiceRuns", "TestLinksSurviveTheRotationOfTheSigningKey"},
	},
	"the audit log": {
		"internal/app":    {"TestReadsAndRefusalsOfKeysAreInTheAuditLog"},
		"internal/member": {"TestFailedSignInsAreInTheAuditLog", "TestNotesDoNotFillTheDisk"},
	},
	"bodies and files": {
		"internal/httpkit": {"TestParseJSONRefusesWhatReadersUnderstandDifferently", "TestReadJSONChecksSizeTypeAndText", "TestClientAddrBelievesOnlyTrustedProxies"},
		"internal/web":     {"TestALogoCannotBeABombOfScans"},
	},
}

// byPackage returns the names of the attacks in each package.
func byPackage() map[string][]string {
	names := map[string][]string{}
	for _, packages := range attacks {
		for folder, tests := range packages {
			names[folder] = append(names[folder], tests...)
		}
	}
	return names
}

const root = "../.."

// TestEveryAttackIsATest finds attacks that were renamed or removed: "go test"
// says nothing of them.
func TestEveryAttackIsATest(t *testing.T) {
	t.Parallel()
	for folder, names := range byPackage() {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, declared := range file.Decls {
				if function, ok := declared.(*ast.FuncDecl); ok && function.Recv == nil {
					found[function.Name.Name] = true
				}
			}
		}
		for _, name := range names {
			if !found[name] {
				t.Errorf("%s has no %s", folder, name)
			}
		}
	}
}

// TestProveAttacks runs the attacks and counts them, with the cases that each
// tries by name.
func TestProveAttacks(t *testing.T) {
	if isShort := proving.Pick(t, true, false); isShort {
		t.Skip(`the short run leaves the attacks to "make test"`)
	}

	tests, cases := 0, 0
	var failed []string
	packages := byPackage()
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-json", "-run", "^("+strings.Join(packages[folder], "|")+")$", "./"+folder)
		cmd.Dir = root
		out, err := cmd.Output()
		passed := map[string]bool{}
		for line := range bytes.Lines(out) {
			var event struct{ Action, Test string }
			if json.Unmarshal(line, &event) != nil || event.Test == "" {
				continue
			}
			switch event.Action {
			case "pass":
				passed[event.Test] = true
			case "fail", "skip":
				failed = append(failed, folder+" "+event.Test)
				t.Errorf("%s: %s: %s", folder, event.Test, event.Action)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", folder, err)
		}

		for _, name := range packages[folder] {
			if !passed[name] {
				t.Errorf("%s: %s did not pass", folder, name)
			}
		}
		for name := range passed {
			if strings.Contains(name, "/") {
				cases++
			} else {
				tests++
			}
		}
	}
	proving.Report(t, "security.json", nil, map[string]any{
		"subjects":  len(attacks),
		"tests":     tests,
		"cases":     cases,
		"succeeded": len(failed),
	})
}
