package batch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestFilesAreReadAsSpreadsheetsSaveThem(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"commas":      "order,name\n1,\"Ada, Countess\"\n",
		"semicolons":  "order;name\n1;Ada, Countess\n",
		"tabs":        "order\tname\r\n1\tAda, Countess\r\n",
		"a mark":      "\ufefforder,name\n1,\"Ada, Countess\"\n",
		"empty lines": "order,name\n\n1,\"Ada, Countess\"\n,\n",
		"more cells":  "order,name\n1,\"Ada, Countess\",x\n",
	} {
		f, err := batch.Read([]byte(text))
		if err != nil || len(f.Lines) != 1 || !slices.Equal(f.Header, []string{"order", "name"}) || !slices.Equal(f.Lines[0], []string{"1", "Ada, Countess"}) {
			t.Errorf("%s: %q %v", name, f, err)
		}
	}
	if f, err := batch.Read([]byte("name\nJ\xfcrgen \x80\n")); err != nil || f.Lines[0][0] != "Jürgen €" {
		t.Errorf("the old code page: %q %v", f, err)
	}
	if f, err := batch.Read([]byte("order,name\n7\n")); err != nil || len(f.Lines[0]) != 2 {
		t.Errorf("a short line: %q %v", f, err)
	}
}

func TestFilesThatCannotBeReadSayWhatToDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "empty", "order\n": "no orders", "PK\x03\x04": "spreadsheet", "\xff\xfeo": "UTF-16",
		"order\n" + strings.Repeat("1\n", batch.MaxRows+1):  "split",
		"order\n" + strings.Repeat("x", 3000) + "\n":        "cell",
		strings.Repeat("a,", 101) + "a\n1\n":                "columns",
		"order\n" + strings.Repeat("x\n", batch.MaxBytes/2): "5 MB",
		strings.Repeat(",", batch.MaxBytes):                 "64000 bytes",
		"order\n" + strings.Repeat(",", batch.MaxBytes-6):   "64000 bytes",
		`"` + strings.Repeat("\n\",\"", 1_000_000):          "64000 bytes",
		"order\na\x00b\n": "NUL",
	} {
		_, err := batch.Read([]byte(text))
		if ship.KindOf(err) != ship.Invalid {
			t.Errorf("%.20q: %v", text, err)
			continue
		}
		e := err.(*ship.Error)
		if len(e.Fields) != 1 || !strings.Contains(e.Fields[0].Detail, want) {
			t.Errorf("%.20q: %v, want a word of %q", text, e.Fields, want)
		}
	}
}

func TestColumnsAreGuessedFromTheTitlesOfShops(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Order number,Recipient,Street and number,City,State or province,Postal code,Country,Weight": "order name address1 city state zip country weight",
		"Name,Email,Shipping Name,Shipping Street,Shipping City,Shipping Zip,Shipping Province":      "- email name address1 city zip state",
		"order_id,ship-to name,address_line_1,town,postcode,country code,weight (kg)":                "order name address1 city zip country -",
		"foo,bar": "- -",
	} {
		got := strings.Join(batch.GuessColumns(strings.Split(header, ",")).Columns, " ")
		got = strings.ReplaceAll(" "+got+" ", "  ", " - ")
		got = strings.TrimSpace(strings.ReplaceAll(got, "  ", " - "))
		if got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
}

func TestTheTemplateIsReadAsItSays(t *testing.T) {
	t.Parallel()
	titles := make([]string, len(batch.Fields))
	for i, f := range batch.Fields {
		titles[i] = f.Title
	}
	m := batch.GuessColumns(titles)
	for i, f := range batch.Fields {
		if m.Columns[i] != f.Name {
			t.Errorf("%s is read as %q, want %s", f.Title, m.Columns[i], f.Name)
		}
	}
}
