package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"
)

// printer prints answers: tables for people, JSON for programs.
type printer struct {
	out    io.Writer
	fields string // of --json; allFields for all, empty for a table
	jq     string
}

// allFields is what --json means without names.
const allFields = "all"

func (p *printer) flags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&p.fields, "json", "", "print JSON as the API answers it, a list with one object a line; --json=id,status only these fields")
	flags.Lookup("json").NoOptDefVal = allFields
	flags.StringVar(&p.jq, "jq", "", "print what a jq expression makes of the JSON, such as '.trackingNumber'; a list object by object")
}

func (p *printer) wantsJSON() bool { return p.fields != "" || p.jq != "" }

// show prints an answer: as JSON, or as the text that write prints.
func (p *printer) show(answer []byte, write func(w io.Writer)) error {
	if !p.wantsJSON() {
		return p.table(write)
	}

	items, isList := listItems(answer)
	for _, item := range items {
		if err := p.showJSON(item, !isList); err != nil {
			return err
		}
	}
	return nil
}

// showValue is show for what is no answer of the service.
func (p *printer) showValue(value any, write func(w io.Writer)) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return p.show(data, write)
}

// table prints lines whose cells are separated by tabs. Most cells are texts that came
// from the service, so they are made printable, whatever they are printed to.
func (p *printer) table(write func(w io.Writer)) error {
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	write(printableWriter{table})
	return table.Flush()
}

// listItems returns the objects of a list; what is no list is the only item.
func listItems(answer []byte) (items []json.RawMessage, isList bool) {
	var page struct {
		Data *[]json.RawMessage `json:"data"`
	}
	if json.Unmarshal(answer, &items) == nil {
		return items, true
	}
	if json.Unmarshal(answer, &page) == nil && page.Data != nil {
		return *page.Data, true
	}
	return []json.RawMessage{answer}, false
}

// showJSON prints one value: the fields that were asked for, or what the expression
// makes of it.
func (p *printer) showJSON(value json.RawMessage, indent bool) error {
	value, err := selectFields(value, p.fields)
	if err != nil {
		return err
	}
	if p.jq != "" {
		return p.query(value)
	}

	var text bytes.Buffer
	if indent {
		err = json.Indent(&text, bytes.TrimSpace(value), "", "  ")
	} else {
		err = json.Compact(&text, value)
	}
	if err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	_, err = fmt.Fprintln(p.out, text.String())
	return err
}

// selectFields returns an object with the named fields alone, in their order.
func selectFields(value json.RawMessage, names string) (json.RawMessage, error) {
	if names == "" || names == allFields {
		return value, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(value, &object); err != nil {
		return nil, usage("--json=%s selects fields of an object, but the answer is not one", names)
	}

	var out strings.Builder
	for i, name := range strings.Split(names, ",") {
		field, found := object[name]
		if !found {
			field = json.RawMessage("null")
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%q:%s", name, field)
	}
	return json.RawMessage("{" + out.String() + "}"), nil
}

// query prints the results of the jq expression, texts without quotes.
func (p *printer) query(value json.RawMessage) error {
	expression, err := gojq.Parse(p.jq)
	if err != nil {
		return usage("--jq: %v", err)
	}
	var input any
	if err := json.Unmarshal(value, &input); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}

	results := expression.Run(input)
	for {
		result, more := results.Next()
		if !more {
			return nil
		}
		if err, failed := result.(error); failed {
			return usage("--jq: %v", err)
		}
		if text, isText := result.(string); isText {
			fmt.Fprintln(p.out, text)
			continue
		}
		line, err := gojq.Marshal(result)
		if err != nil {
			return err
		}
		fmt.Fprintln(p.out, string(line))
	}
}

// recorder keeps the last JSON that the service answered, so that --json prints it as
// it is: with fields that this version does not know, and without empty ones that the
// answer did not have.
type recorder struct{ body []byte }

func (c *recorder) record(body []byte) { c.body = body }

// last returns the JSON of the last answer. Without one, and for a list that is only a
// part of the answer, it returns that of the value.
func (c *recorder) last(value any) []byte {
	data, _ := json.Marshal(value) // plain structs always encode
	_, isAnswer := listItems(c.body)
	if len(c.body) == 0 || bytes.HasPrefix(data, []byte("[")) && !isAnswer {
		return data
	}
	return c.body
}
