package store

import (
	"context"
	"fmt"
	"maps"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A namedSQL is a statement with named arguments that is translated to numbered
// ones once. pgx translates at every call, which takes tens of microseconds for
// a long statement: too much for those of every purchase.
type namedSQL struct {
	text  string
	names []string // of the arguments, by number
}

var argumentName = regexp.MustCompile(`@([a-z_]+)`)

// compileNamed translates a statement.
func compileNamed(sql string) namedSQL {
	named := pgx.NamedArgs{}
	for _, match := range argumentName.FindAllStringSubmatch(sql, -1) {
		named[match[1]] = match[1]
	}

	text, args, err := named.RewriteQuery(context.Background(), nil, sql, nil)
	if err != nil {
		panic(err) // the statement is a constant
	}

	statement := namedSQL{text: text}
	for _, name := range args {
		statement.names = append(statement.names, name.(string))
	}
	return statement
}

// args are the values in the order of the translated statement. Each argument
// of the statement must have one.
func (s namedSQL) args(values pgx.NamedArgs) []any {
	list := make([]any, len(s.names))
	for i, name := range s.names {
		value, ok := values[name]
		if !ok {
			panic(fmt.Sprintf("store: no value for @%s", name))
		}
		list[i] = value
	}
	return list
}

// tenantArgs adds the three names that nearly every statement has; the id is one
// of package ship's, or nil for none.
func tenantArgs(t ship.Tenant, id any, more pgx.NamedArgs) pgx.NamedArgs {
	if more == nil {
		more = pgx.NamedArgs{}
	}
	more["account"] = t.Account
	more["livemode"] = t.Livemode
	more["id"] = id
	return more
}

// withArg returns the arguments with another one, or another value of it.
func withArg(args pgx.NamedArgs, name string, value any) pgx.NamedArgs {
	args = maps.Clone(args)
	args[name] = value
	return args
}
