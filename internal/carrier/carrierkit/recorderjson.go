package carrierkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
)

// longString is the length from which a string is left out of a kept body: it
// is an image of a label rather than text for people.
const longString = 1000

// secretNames are parts of the names of members, headers and parameters whose
// values are never kept.
var secretNames = []string{"secret", "password", "passwd", "token", "authori", "apikey", "api_key", "api-key", "client_id", "clientid", "credential", "cookie", "signature", "cardnumber", "cvv", "x-merchant-id"}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// cleanJSON returns the JSON text in its own order, indented, with secrets and
// long strings replaced; ok is false if it is not JSON.
func cleanJSON(body []byte) (text string, ok bool) {
	// Indenting multiplies the size of what is nested deeply.
	if carrier.CheckJSON(body) != nil {
		return "", false
	}

	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	copier := jsonCopier{dec: decoder}
	if copier.value(false) != nil {
		return "", false
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return "", false
	}

	var indented bytes.Buffer
	if json.Indent(&indented, copier.out.Bytes(), "", "  ") != nil {
		return "", false
	}
	return indented.String(), true
}

// jsonCopier copies one value after the other.
type jsonCopier struct {
	dec *json.Decoder
	out bytes.Buffer
}

// value copies the next value. A hidden one is replaced, with everything in it.
func (w *jsonCopier) value(hide bool) error {
	token, err := w.dec.Token()
	if err != nil {
		return err
	}

	switch value := token.(type) {
	case json.Delim:
		return w.group(value, hide)

	case string:
		switch {
		case hide && value != "":
			value = secret
		case len(value) > longString:
			value = "[" + strconv.Itoa(len(value)) + " characters left out]"
		}
		return w.scalar(value)

	case json.Number:
		if hide {
			return w.scalar(secret)
		}
		w.out.WriteString(value.String())
		return nil

	default:
		return w.scalar(value)
	}
}

func (w *jsonCopier) scalar(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	w.out.Write(bytes.TrimSpace(text.Bytes()))
	return nil
}

// group copies an object or an array. A secret name hides everything below it.
func (w *jsonCopier) group(open json.Delim, hide bool) error {
	w.out.WriteByte(byte(open))
	for n := 0; w.dec.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}

		hideMember := hide
		if open == '{' {
			token, err := w.dec.Token()
			if err != nil {
				return err
			}
			name, _ := token.(string)
			if err := w.scalar(name); err != nil {
				return err
			}
			w.out.WriteByte(':')
			hideMember = hide || isSecretName(name)
		}
		if err := w.value(hideMember); err != nil {
			return err
		}
	}

	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	end, _ := token.(json.Delim)
	w.out.WriteByte(byte(end))
	return nil
}
