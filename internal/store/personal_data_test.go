package store_test

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/store"
)

// TestEveryColumnWithTextIsClassified compares the inventory of personal data
// with the schema: who adds a column must say what it can hold of people.
func TestEveryColumnWithTextIsClassified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows, err := f.owner.Query(t.Context(), `
		SELECT c.relname || '.' || a.attname FROM pg_class c
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		JOIN pg_type y ON y.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = y.typelem AND y.typcategory = 'A'
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND c.relname NOT LIKE 'goose%'
			AND coalesce(e.typname, y.typname) IN ('text', 'varchar', 'bpchar', 'char', 'name', 'json', 'jsonb', 'bytea', 'inet', 'cidr', 'hstore', 'xml')
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	var schema []string
	var column string
	for rows.Next() {
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		schema = append(schema, column)
	}
	if rows.Err() != nil || len(schema) < 100 {
		t.Fatalf("%d columns, %v", len(schema), rows.Err())
	}

	var classified []string
	for _, group := range store.PersonalData {
		for _, column := range group.Columns {
			classified = append(classified, group.Table+"."+column)
		}
	}
	for _, column := range schema {
		if !slices.Contains(classified, column) {
			t.Errorf("%s is not classified: say in PersonalData what it can hold of people", column)
		}
	}
	for i, column := range classified {
		if !slices.Contains(schema, column) {
			t.Errorf("%s is classified and does not exist", column)
		}
		if slices.Contains(classified[:i], column) {
			t.Errorf("%s is classified twice", column)
		}
	}
}

// TestEveryTableWithPeopleIsErasedAndExported: who adds a table must say what an export
// does with it. That each of its columns is erased is shown with canaries, in
// TestAnErasedPersonIsFoundNowhere.
func TestEveryTableWithPeopleIsErasedAndExported(t *testing.T) {
	t.Parallel()
	hasPeople := map[string]bool{}
	for _, group := range store.PersonalData {
		if group.Class == store.DataErased {
			hasPeople[group.Table] = true
		}
	}
	if len(hasPeople) < 10 {
		t.Fatalf("only %v have people", hasPeople)
	}

	for table := range hasPeople {
		if store.Exported[table] == "" {
			t.Errorf("%s can hold a person's text, and is in no list: say in Exported what an export does with it", table)
		}
	}
	for table := range store.Exported {
		if !hasPeople[table] {
			t.Errorf("%s is exported, and an erasure leaves it", table)
		}
	}
}
