package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/coalesce"
	"github.com/waybillhq/waybill/internal/ship"
)

// Grouped inserts: new shipments of a tenant share a statement.

// An insertSQL is a statement of a tenant that inserts new shipments. Running it
// once for several costs Postgres a fraction of running it for each. It only
// inserts: a plan that is made while tables are empty would find rows to update
// by reading all of the tenant's.
//
// It returns the id of each shipment that it wrote, and the newest earlier
// shipment of the same order.
type insertSQL struct {
	one     string   // takes a value for each column
	many    string   // takes an array for each column
	columns []string // names, in the order of the arguments
}

// compileInsert translates a statement that reads from the table "input", with a
// row for each shipment. It refers to the columns of the input, which are given
// as names with types, and to the tenant as @name.
func compileInsert(sql string, columns ...string) insertSQL {
	var names, arrays []string
	values := map[string]string{"account": "$1", "livemode": "$2"}
	fields := map[string]string{"account": "$1", "livemode": "$2"}
	for i, column := range columns {
		name, kind, _ := strings.Cut(column, " ")
		names = append(names, name)
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+3, kind))
		values[name] = fmt.Sprintf("$%d::%s", i+3, kind)
		fields[name] = name
	}
	input := "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") AS input (" + strings.Join(names, ", ") + ")"

	return insertSQL{
		one:     "WITH input AS NOT MATERIALIZED (SELECT)," + replaceNames(sql, values),
		many:    "WITH input AS (" + input + ")," + replaceNames(sql, fields),
		columns: names,
	}
}

func replaceNames(sql string, with map[string]string) string {
	return argumentName.ReplaceAllStringFunc(sql, func(name string) string {
		text, ok := with[name[1:]]
		if !ok {
			panic("store: no column " + name) // the statement is a constant
		}
		return text
	})
}

// row returns the values of a row in the order of the columns. Each column must
// have one.
func (s insertSQL) row(values pgx.NamedArgs) []any {
	row := make([]any, len(s.columns))
	for i, name := range s.columns {
		value, ok := values[name]
		if !ok {
			panic(fmt.Sprintf("store: no value for the column %s", name))
		}
		row[i] = value
	}
	return row
}

// An insertion is a new shipment. A group of them has one statement.
type insertion struct {
	tenant    ship.Tenant
	statement insertSQL
	id        ship.ShipmentID
	key       string // idempotency key; empty for none
	row       []any

	duplicateOf ship.ShipmentID
	isRefused   bool // nothing was written: the idempotency key is taken
}

// newInsertGroup returns what groups the insertions of one statement.
func (s *Store) newInsertGroup(lanes int) *coalesce.Group[*insertion] {
	return &coalesce.Group[*insertion]{
		Crowd:    s.crowd,
		Lanes:    lanes,
		Limit:    maxGroup,
		Timeout:  groupTimeout,
		Alone:    s.insertAlone,
		Together: s.insertTogether,
		Owner:    func(one *insertion) string { return string(one.tenant.Account) },
	}
}

// insert writes a new shipment, with those of others if the database is busy.
// Inside InTx it is part of the transaction. It returns the newest earlier
// shipment of the same order, and is ship.Conflict when the idempotency key is
// taken.
func (s *Store) insert(ctx context.Context, group *coalesce.Group[*insertion], one *insertion) (duplicateOf ship.ShipmentID, err error) {
	if s.tx != nil {
		err = s.insertAlone(ctx, one)
	} else {
		err = group.Do(ctx, one)
	}
	return one.duplicateOf, err
}

func (s *Store) insertAlone(ctx context.Context, one *insertion) error {
	b := s.newHotBatch(one.tenant)
	queueInsertions(b, []*insertion{one}, one.statement.one, one.row)
	if err := s.send(ctx, b); err != nil {
		return err
	}
	if one.isRefused {
		return ship.Errorf(ship.Conflict, "the idempotency key is already in use")
	}
	return nil
}

func (s *Store) insertTogether(ctx context.Context, list []*insertion) []error {
	// Two copies that write the same keys in different orders would deadlock.
	sorted := slices.SortedFunc(slices.Values(list), func(a, b *insertion) int {
		return cmp.Or(a.tenant.Compare(b.tenant), strings.Compare(a.key, b.key))
	})

	b := &batch{}
	for len(sorted) > 0 {
		n := slices.IndexFunc(sorted, func(one *insertion) bool { return one.tenant != sorted[0].tenant })
		if n < 0 {
			n = len(sorted)
		}
		s.setTenantAndPlan(b, sorted[0].tenant)
		queueInsertions(b, sorted[:n], sorted[0].statement.many, arraysOf(sorted[:n]))
		sorted = sorted[n:]
	}
	return groupErrors(s.sendGroup(ctx, b), list, func(one *insertion) bool { return one.isRefused })
}

// arraysOf returns the rows of the insertions as an array for each column.
func arraysOf(list []*insertion) []any {
	arrays := make([]any, len(list[0].row))
	for i := range arrays {
		column := make([]any, len(list))
		for j, one := range list {
			column[j] = one.row[i]
		}
		arrays[i] = column
	}
	return arrays
}

// queueInsertions queues the insertions of one tenant.
func queueInsertions(b *batch, list []*insertion, sql string, input []any) {
	byID := make(map[ship.ShipmentID]*insertion, len(list))
	for _, one := range list {
		one.isRefused = true
		byID[one.id] = one
	}

	args := append([]any{list[0].tenant.Account, list[0].tenant.Livemode}, input...)
	b.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		var id, duplicateOf ship.ShipmentID
		_, err := pgx.ForEachRow(rows, []any{&id, &duplicateOf}, func() error {
			byID[id].isRefused = false
			byID[id].duplicateOf = duplicateOf
			return nil
		})
		return err
	})
}
