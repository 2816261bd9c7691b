package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestNamedArgumentsAreTranslatedOnce(t *testing.T) {
	t.Parallel()
	statement := compileNamed(`SELECT @second::int, @first, 'a@first', @second`)
	if statement.text != `SELECT $1::int, $2, 'a@first', $1` {
		t.Errorf("the statement is %s", statement.text)
	}
	if got := statement.args(pgx.NamedArgs{"first": 1, "second": 2, "third": 3}); !slices.Equal(got, []any{2, 1}) {
		t.Errorf("the arguments are %v", got)
	}

	defer func() {
		if text, ok := recover().(string); !ok || !strings.Contains(text, "@second") {
			t.Errorf("without a value it panics with %q", text)
		}
	}()
	statement.args(pgx.NamedArgs{"first": 1})
}
