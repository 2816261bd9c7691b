package carrierkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// longString is what is left out of a kept body: the picture of a label, not a
// word that anybody reads.
const longString = 1000

// secretNames are what the names of members, headers and parameters contain
// whose values are never kept.
var secretNames = []string{"secret", "password", "passwd", "token", "authori", "apikey", "api_key", "api-key", "client_id", "clientid", "credential", "cookie", "signature", "cardnumber", "cvv", "x-merchant-id"}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	for _, s := range secretNames {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// cleanJSON is the JSON text in its own order, indented, with secrets and long
// strings replaced; ok is false if it is not JSON.
func cleanJSON(body []byte) (text string, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	w := jsonCopier{dec: dec}
	if w.value(false) != nil {
		return "", false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", false
	}
	var out bytes.Buffer
	if json.Indent(&out, w.out.Bytes(), "", "  ") != nil {
		return "", false
	}
	return out.String(), true
}

// jsonCopier copies one value after the other.
type jsonCopier struct {
	dec *json.Decoder
	out bytes.Buffer
}

// value copies the next value. A hidden one is replaced, with all in it.
func (w *jsonCopier) value(hide bool) error {
	t, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch v := t.(type) {
	case json.Delim:
		return w.group(v, hide)
	case string:
		switch {
		case hide && v != "":
			v = secret
		case len(v) > longString:
			v = "[" + strconv.Itoa(len(v)) + " characters left out]"
		}
		return w.scalar(v)
	case json.Number:
		if hide {
			return w.scalar(secret)
		}
		w.out.WriteString(v.String())
		return nil
	default:
		return w.scalar(v)
	}
}

func (w *jsonCopier) scalar(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.out.Write(bytes.TrimSpace(b.Bytes()))
	return nil
}

func (w *jsonCopier) group(open json.Delim, hide bool) error {
	w.out.WriteByte(byte(open))
	for n := 0; w.dec.More(); n++ {
		if n > 0 {
			w.out.WriteByte(',')
		}
		inner := hide
		if open == '{' {
			name, err := w.dec.Token()
			if err != nil {
				return err
			}
			text, _ := name.(string)
			if err := w.scalar(text); err != nil {
				return err
			}
			w.out.WriteByte(':')
			inner = hide || isSecretName(text)
		}
		if err := w.value(inner); err != nil {
			return err
		}
	}
	end, err := w.dec.Token()
	if err != nil {
		return err
	}
	d, _ := end.(json.Delim)
	w.out.WriteByte(byte(d))
	return nil
}
