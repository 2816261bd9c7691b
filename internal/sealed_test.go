package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// sealers are the functions that encrypt with the keys of the installation, and
// where the result is until it is decrypted. What is stored must be brought
// under a new key by "waybill secret-key rotate".
var sealers = map[string]string{
	"account/carriers.go seal":         "connections.wrapped_key; account.RotateConnections",
	"addresscheck/cache.go keep":       "address_checks.encrypted_check, under a key that follows from the address",
	"api/serve.go onceFunc":            "idempotency_keys.response_body; account.ResealAnswers",
	"mcp/token.go seal":                "a token of 15 minutes that a model keeps, not stored",
	"member/factor.go BeginTOTP":       "auth_flows.data, then people.encrypted_totp_seed; member.ResealSeeds",
	"member/factor.go takeCode":        "people.encrypted_totp_seed; member.ResealSeeds",
	"member/token.go sealCeremony":     "a cookie of minutes, not stored",
	"web/site/heldform.go seal":        "a page of a browser, not stored",
	"webhook/settings.go sealSecret":   "webhook_endpoints.encrypted_secret and encrypted_previous_secret; webhook.ResealSecrets",
	"webhook/settings.go sealHeaders":  "webhook_endpoints.encrypted_headers; webhook.ResealSecrets",
	"seal/spool.go write":              "SPOOL_DIR; Spool.Reseal",
	"seal/recoverylog.go entry":        "SPOOL_DIR; RecoveryLog.Reseal",
	"restore/watch.go sealEntry":       "missing_purchases.encrypted_entry; restore.ResealEntries",
	"plugin/plugin.go Add":             "carrier_plugins.encrypted_secret; plugin.ResealSecrets",
	"privacy/privacy.go seal":          "erasures.encrypted_subject; privacy.ResealErasures",
	"store/erasures.go save":           "the same: calls seal of package privacy",
	"privacy/export.go RequestExport":  "exports.encrypted_subject; privacy.ResealExports",
	"privacy/export.go WorkExport":     "exports.encrypted_file; privacy.ResealExports",
	"app/signingkey.go sealSigningKey": "instance.sealed_signing_key; app.resealSigningKey",
	"seal/envelope.go SealEnvelope":    "the secret of an envelope, under a data key",
	"seal/envelope.go Wrap":            "the data key of an envelope",
	"seal/seal.go Reseal":              "where the old one is",
	"seal/seal.go Seal":                "the box itself",
}

// TestEverythingThatIsSealedCanBeRotated finds each call that seals. A new one
// fails here until it is listed with what brings it under a new key.
func TestEverythingThatIsSealedCanBeRotated(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(function, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok {
					if callee, ok := call.Fun.(*ast.SelectorExpr); ok && (callee.Sel.Name == "Seal" || callee.Sel.Name == "SealEnvelope") {
						found[filepath.ToSlash(path)+" "+function.Name.Name] = true
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range slices.Sorted(maps.Keys(found)) {
		if sealers[name] == "" {
			t.Errorf("%s seals, and nothing says what rotates it", name)
		}
	}
	for name := range sealers {
		if !found[name] {
			t.Errorf("%s does not seal any more", name)
		}
	}
}

// byteColumns are all columns of bytes, and what they hold. Those that are sealed
// say what brings them under a new key.
var byteColumns = map[string]string{
	"connections.wrapped_key":                     "sealed: account.RotateConnections",
	"connections.encrypted_credentials":           "under the data key in wrapped_key",
	"webhook_endpoints.encrypted_headers":         "sealed: webhook.ResealSecrets",
	"webhook_endpoints.encrypted_secret":          "sealed: webhook.ResealSecrets",
	"webhook_endpoints.encrypted_previous_secret": "sealed: webhook.ResealSecrets",
	"people.encrypted_totp_seed":                  "sealed: member.ResealSeeds",
	"auth_flows.data":                             "sealed if its kind is totp: member.ResealSeeds",
	"idempotency_keys.response_body":              "sealed if the answer holds a secret: account.ResealAnswers",
	"carrier_plugins.encrypted_secret":            "sealed: plugin.ResealSecrets",
	"missing_purchases.encrypted_entry":           "sealed: restore.ResealEntries",
	"erasures.encrypted_subject":                  "sealed: privacy.ResealErasures",
	"exports.encrypted_subject":                   "sealed: privacy.ResealExports",
	"exports.encrypted_file":                      "sealed: privacy.ResealExports",

	"address_checks.encrypted_check":     "under the data key that follows from the address itself",
	"address_checks.address_hash":        "a keyed hash",
	"erasures.subject_hash":              "a keyed hash",
	"exports.subject_hash":               "a keyed hash",
	"account_logos.image":                "a picture",
	"pickups.place_hash":                 "a hash",
	"column_mappings.header_hash":        "a hash",
	"manifest_documents.data":            "a form of the carrier",
	"api_keys.key_hash":                  "a hash",
	"audit_anchors.hash":                 "a hash",
	"audit_chain.hash":                   "a hash",
	"auth_flows.token_hash":              "a hash",
	"device_sign_ins.device_hash":        "a hash",
	"device_sign_ins.user_code_hash":     "a hash",
	"carrier_exchanges.exchange":         "requests without their secrets",
	"pushes.body":                        "as the carrier sent it, without the secret",
	"documents.data":                     "a document of the carrier",
	"idempotency_keys.fingerprint":       "a hash",
	"idempotency_keys.offer_fingerprint": "a hash",
	"manifests.fingerprint":              "a hash",
	"instance.signing_key":               "the installation's own key, until it is sealed",
	"instance.sealed_signing_key":        "sealed: app.resealSigningKey",
	"cell_state.owned_shards":            "a bit for each shard",
	"invitations.token_hash":             "a hash",
	"labels.data":                        "a label",
	"label_renderings.data":              "a label in another format",
	"passkeys.id":                        "public",
	"recovery_codes.code_hash":           "a hash",
	"api_requests.problem":               "an answer without secrets",
	"search_words.word_hash":             "a keyed hash",
	"sessions.token_hash":                "a hash",
	"sign_in_throttles.subject_hash":     "a hash",
}

// TestEveryColumnOfBytesIsKnown walks the schema. A new column fails here until
// it is listed; if it is sealed, with what brings it under a new key.
func TestEveryColumnOfBytesIsKnown(t *testing.T) {
	t.Parallel()
	conn := storetest.Conn(t, storetest.URL(t))
	rows, err := conn.Query(t.Context(), `
		SELECT c.relname || '.' || a.attname
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		  AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'bytea'::regtype
		  AND c.relname NOT LIKE 'river%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()

	found := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		found[name] = true
		if byteColumns[name] == "" {
			t.Errorf("nothing says what %s holds, and what rotates it if it is sealed", name)
		}
		if isEncrypted := strings.Contains(name, ".encrypted_") || strings.Contains(name, ".wrapped_"); isEncrypted && !strings.Contains(byteColumns[name], "Re") && !strings.Contains(byteColumns[name], "Rotate") && !strings.HasPrefix(byteColumns[name], "under the data key") {
			t.Errorf("%s is encrypted, and nothing rotates it", name)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for name := range byteColumns {
		if !found[name] {
			t.Errorf("there is no column %s", name)
		}
	}
}
