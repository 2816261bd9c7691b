package internal

import (
	"go/ast"
	"go/token"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// keyKindNames are the constants of ship.KeyKinds, in its order: the places that
// make keys are found by them.
var keyKindNames = []string{
	"KeyOfUnnamedPurchase",
	"KeyOfUnnamedBatch",
	"KeyOfReturnRequest",
	"KeyOfBatchLine",
	"KeyOfBulkRow",
	"KeyOfRatedShipment",
	"KeyOfScanForm",
	"KeyOfDashboard",
	"KeyOfDashboardHandover",
}

// plainKeys are the places that still write a key that a client could send, and why
// nobody can have another request bound to it.
var plainKeys = map[string]string{
	"internal/batch/work.go":                  "names of lines of the release before this one, looked up with the service's fingerprint",
	"internal/compat/compat.go":               "names of rated shipments of the release before this one, likewise",
	"internal/web/newshipment/newshipment.go": "names of forms of the release before this one, likewise",
	"internal/mcp/token.go":                   "sent through the API like a client's key, with the fingerprint of its request",
	"internal/tracking/push.go":               "a mark in a secret, not a key",
	"internal/web/developers/sandbox.go":      "likewise, with a random key",
}

// TestEveryKeyOfTheServiceIsMadeInOnePlace goes over the program: every kind of key
// is made by ship.ServiceKey, no kind is forgotten in the list, and nothing else
// writes the text of an idempotency key.
func TestEveryKeyOfTheServiceIsMadeInOnePlace(t *testing.T) {
	t.Parallel()
	if len(keyKindNames) != len(ship.KeyKinds) {
		t.Fatalf("%d kinds of keys are listed here, and %d in package ship", len(keyKindNames), len(ship.KeyKinds))
	}

	used := map[string]bool{}
	for _, s := range sources(t) {
		path := s.pkg.path() + "/" + s.name
		if !strings.HasPrefix(path, "internal/") || path == "internal/ship/servicekey.go" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if isPackage(n.X, "ship") && strings.HasPrefix(n.Sel.Name, "KeyOf") {
					used[n.Sel.Name] = true
				}
			case *ast.KeyValueExpr:
				name, ok := n.Key.(*ast.Ident)
				if ok && (name.Name == "IdempotencyKey" || name.Name == "Key") && isWritten(n.Value) && isIdempotency(name.Name, n.Value) && plainKeys[path] == "" {
					t.Errorf("%s: an idempotency key is written here: make it with ship.ServiceKey", s.at(n))
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && hasKeyPrefix(n.Value) && plainKeys[path] == "" {
					t.Errorf("%s: %s begins an idempotency key: make it with ship.ServiceKey", s.at(n), n.Value)
				}
			}
			return true
		})
	}
	for _, name := range keyKindNames {
		if !used[name] {
			t.Errorf("no place makes keys of ship.%s: remove the kind, or list the one that is used instead", name)
		}
	}
	for name := range used {
		if !slices.Contains(keyKindNames, name) {
			t.Errorf("ship.%s is not in the lists of kinds", name)
		}
	}
}

func isPackage(x ast.Expr, name string) bool {
	ident, ok := x.(*ast.Ident)
	return ok && ident.Name == name
}

// isWritten reports whether an expression puts text together.
func isWritten(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return x.Op == token.ADD
	case *ast.CallExpr:
		called, ok := x.Fun.(*ast.SelectorExpr)
		return ok && (called.Sel.Name == "Sprintf" || called.Sel.Name == "Join") && !isPackage(called.X, "ship")
	}
	return false
}

// isIdempotency reports whether a field is an idempotency key: Key is the name of
// much else, so its text must look like one.
func isIdempotency(name string, value ast.Expr) bool {
	if name == "IdempotencyKey" {
		return true
	}
	found := false
	ast.Inspect(value, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		found = found || ok && hasKeyPrefix(literal.Value)
		return true
	})
	return found
}

// keyPrefixes are what keys of this release and the one before begin with, as they
// are quoted in the source.
var keyPrefixes = []string{`"batch-%s`, `"batch-"`, `"bulk-%s`, `"bulk-"`, `"compat:`, `"dashboard-"`, `"sandbox-"`, `"mcp-"`, `"\x01`, `"\x02`, `"\x03`}

func hasKeyPrefix(quoted string) bool {
	// Bytes of files and seals begin with control characters too; a key goes on
	// with letters or nothing.
	for _, prefix := range keyPrefixes {
		rest, ok := strings.CutPrefix(quoted, prefix)
		if ok && (!strings.HasPrefix(prefix, `"\x`) || strings.Trim(rest, `abcdefghijklmnopqrstuvwxyz/-"`) == "") {
			return true
		}
	}
	return false
}

// TestNoClientCanSendAKeyOfTheService offers a key of every kind to the function
// that reads clients' keys.
func TestNoClientCanSendAKeyOfTheService(t *testing.T) {
	t.Parallel()
	for i, kind := range ship.KeyKinds {
		for _, key := range []string{string(kind), ship.ServiceKey(kind, "shp_01M7Q71XJ2M3S4SS0PN3H3Y68W", "1")} {
			r := &http.Request{Header: http.Header{httpkit.IdempotencyHeader: {key}}}
			if got, err := httpkit.IdempotencyKey(r); err == nil {
				t.Errorf("%s: the key %q is accepted as %q", keyKindNames[i], key, got)
			}
		}
	}
}
