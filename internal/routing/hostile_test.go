package routing

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/interpreter"

	"github.com/waybillhq/waybill/internal/ship"
)

// largest is the largest order there can be, with more offers than conditions
// see.
func largest() (Input, []ship.Rate) {
	in, _ := usual()
	long := strings.Repeat("a", noteSize)
	in.Order.Metadata = map[string]string{}
	for i := range ship.MaxMetadata {
		in.Order.Metadata[fmt.Sprintf("%03d%s", i, long[:noteSize-3])] = long
	}
	line := strings.Repeat("a", lineSize)
	in.Order.OrderID, in.Order.Reference, in.Order.Destination.City, in.Order.Destination.Company = line, line, line, line
	var rates []ship.Rate
	for i := range maxQuotes + 20 {
		rates = append(rates, rate(fmt.Sprintf("%03d%s", i, line[:lineSize-3]), line, int64(1000+i), 5))
	}
	return in, rates
}

func TestHostileConditionsAreRefused(t *testing.T) {
	t.Parallel()
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	for name, when := range map[string]string{
		"two loops inside each other":   `quotes.exists(p, quotes.exists(q, p.amount < q.amount))`,
		"three loops inside each other": `quotes.all(p, quotes.all(q, quotes.all(r, p.amount <= q.amount + r.amount)))`,
		"five loops inside each other":  `quotes.all(a, quotes.all(b, quotes.all(c, quotes.all(d, quotes.all(e, true)))))`,
		"loops over constants":          `[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, a+b+c+d > 0))))`,
		"a loop over the loop's result": `quotes.map(q, quotes.map(p, p.amount)).all(l, l.all(x, x > 0.0))`,
		"a list that doubles":           `[quotes + quotes].all(a, [a + a].all(b, [b + b].all(c, [c + c].all(d, [d + d].all(e, [e + e].all(f, f.all(q, q.amount > 0)))))))`,
		"a text that doubles":           `[metadata["a"] + metadata["a"]].all(a, [a + a].all(b, [b + b].all(c, [c + c].all(d, [d + d].all(e, [e + e].all(f, [f + f].all(g, [g + g].all(h, h.contains(g)))))))))`,
		"texts made in a loop":          `metadata.map(k, metadata[k] + metadata[k] + metadata[k] + metadata[k]).all(s, s.contains(metadata["a"] + "b"))`,
		"a search in a long text":       `metadata.all(k, metadata[k].contains(k + k))`,
		"a large pattern":               `destination.city.matches("(((a{9}){9}){9})")`,
		"a pattern of many words":       `destination.city.matches("` + many(300, "(ab|c)") + `")`,
		"a pattern that is read":        `destination.city.matches(order.reference)`,
		"a slow pattern in a loop":      `quotes.all(q, metadata.all(k, metadata[k].matches("(a|aa|aaa)*b")))`,
		"a thousand brackets":           many(990, "(") + "true" + many(990, ")"),
		"a hundred brackets":            many(100, "(") + "true" + many(100, ")"),
		"lists in lists":                many(500, "[") + many(500, "]") + " == []",
		"maps in maps":                  many(300, "{1:") + "1" + many(300, "}") + " == {}",
		"a ladder of choices":           many(200, "true ? ") + "true" + many(200, " : true"),
		"calls in calls":                many(300, "size(") + `""` + many(300, ")") + " > 0",
		"steps of a name":               "a" + many(900, ".a"),
		"too long":                      `order.id == "` + many(2000, "x") + `"`,
		"too many parts":                many(998, "1+") + "1>0",
		"replace is not there":          `"a".replace("a", "aaaaaaaaaa").replace("a", "aaaaaaaaaa") == ""`,
		"join and split are not there":  `"a,b".split(",").size() > 1`,
		"format is not there":           `"%s".format(["x"]) == "x"`,
		"dyn is not there":              `dyn(quotes) == 1`,
		"a broken text":                 "order.id == \"\xff\"",
		"a null byte":                   "order.id == \x00",
		"a macro in a macro's name":     `quotes.exists(quotes.exists(q, true), true)`,
		"optional types are not there":  `metadata[?"x"].hasValue()`,
		"a message":                     `google.protobuf.Struct{}.fields.size() > 0`,
	} {
		start := time.Now()
		_, wrong := compileCondition(when)
		if wrong == nil {
			t.Errorf("%s is accepted: %.80s", name, when)
		} else if len(wrong.String()) > 300 {
			t.Errorf("%s: the answer is long: %s", name, wrong)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s takes %v to refuse", name, took)
		}
	}
}

// dear are conditions near the limit. They are accepted.
var dear = []string{
	`quotes.all(q, q.amount > 1 && q.days < 900 && q.carrier != "x" && q.service != "y" && q.currency == "USD" && !q.guaranteed)`,
	`quotes.filter(q, q.carrier.startsWith("0")).map(q, q.amount).all(a, a > 1.0) && quotes.exists_one(q, q.amount == 10.0)`,
	`quotes.map(q, q.carrier + q.service).all(s, s.size() > 10 && s.contains("aaaaaaaaaaaaaaaaaaaa"))`,
	`metadata.all(k, metadata[k].contains("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab") || k.size() > 5)`,
	`metadata.all(k, metadata[k].matches("(a|aa)*b?$"))`,
	`quotes.all(q, destination.city.matches("^(a|b|aa|ab)*$") && q.carrier.size() == 100)`,
	`metadata.map(k, metadata[k] + k).exists(s, s.endsWith("b")) || (quotes + quotes + quotes).all(q, q.amount > 0)`,
	`[1, 2, 3, 4, 5, 6, 7, 8].all(a, [1, 2, 3, 4, 5, 6, 7, 8].all(b, [1, 2, 3, 4, 5, 6, 7, 8].all(c, a + b + c > 0)))`,
	`(order.id + order.id + order.id + order.id + order.id + order.id + order.id).contains(order.reference + order.reference)`,
}

// TestTheEstimateBoundsWhatConditionsDo compares the limit at compile time with
// what the language counts when the largest inputs are read.
func TestTheEstimateBoundsWhatConditionsDo(t *testing.T) {
	t.Parallel()
	env, err := language()
	if err != nil {
		t.Fatal(err)
	}
	in, rates := largest()
	Rank(rates, in.Currency)
	for _, when := range dear {
		c, wrong := compileCondition(when)
		if wrong != nil {
			t.Errorf("%s: %s", when, wrong)
			continue
		}
		parsed, _ := env.Parse(when)
		r := reader{info: parsed.NativeRep().SourceInfo(), next: 1 << 40}
		r.read(parsed.NativeRep().Expr(), nil)
		checked, _ := env.Check(parsed)
		program, err := env.Program(checked, cel.CostTracking(nil))
		if err != nil {
			t.Fatal(err)
		}
		s := newScope(&in)
		s.offers = offersOf(rates, in.Currency, s.shipDay)
		frame, err := interpreter.NewExecutionFrame(s)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, details, err := program.Eval(frame)
		took := time.Since(start)
		if err != nil {
			t.Errorf("%s: %v", when, err)
		} else if used := *details.ActualCost(); used > c.cost || c.cost > maxCost {
			t.Errorf("%s: %d steps, estimated %d, limit %d", when, used, c.cost, maxCost)
		} else {
			t.Logf("%6d steps of %6d in %8v: %.60s", used, c.cost, took, when)
		}
		frame.Close()
		s.close()
	}
}

// TestABookAtItsLimitEnds fills a book with the dearest conditions.
func TestABookAtItsLimitEnds(t *testing.T) {
	t.Parallel()
	var b Book
	left := uint64(maxBookCost)
	for i := 0; ; i++ {
		when := dear[i%len(dear)]
		c, wrong := compileCondition(when)
		if wrong != nil {
			t.Fatal(wrong)
		}
		if c.cost > left {
			break
		}
		left -= c.cost
		b.Rules = append(b.Rules, Rule{Name: fmt.Sprint(i), When: "!(" + when + ")", Then: Action{Forbid: []Target{{Carrier: "nobody"}}}})
	}
	c, err := Compile(b)
	if err != nil {
		t.Fatal(fieldsIn(err))
	}
	in, rates := largest()
	best := time.Hour
	for range 3 {
		start := time.Now()
		c.Decide(in, rates)
		best = min(best, time.Since(start))
	}
	t.Logf("%d conditions, %d steps: %v", len(b.Rules), maxBookCost-left, best)
	if best > time.Second {
		t.Errorf("a decision takes %v", best)
	}

	for range 30 {
		b.Rules = append(b.Rules, Rule{Name: fmt.Sprint(len(b.Rules)), When: dear[2], Then: Action{Choose: "cheapest"}})
	}
	_, err = Compile(b)
	if fields := fieldsIn(err); len(fields) != 1 || fields[0].Pointer != "/rules" {
		t.Errorf("a book over its limit: %+v", fields)
	}
}
