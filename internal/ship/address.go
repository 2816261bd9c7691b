package ship

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Address is a place that parcels come from or go to. Name, Address1, City
// and Country are required; the country decides about State and Zip.
type Address struct {
	Name        string `json:"name"`
	Company     string `json:"company,omitempty"`
	Address1    string `json:"address1"`
	Address2    string `json:"address2,omitempty"`
	Address3    string `json:"address3,omitempty"`
	City        string `json:"city"`
	State       string `json:"state,omitempty"` // bare code, "CA", where the country's states are known
	Zip         string `json:"zip,omitempty"`
	Country     string `json:"country"` // ISO 3166-1 alpha-2
	Phone       string `json:"phone,omitempty"`
	Email       string `json:"email,omitempty"`
	Residential *bool  `json:"residential,omitempty"` // nil when the client did not say
	Type        string `json:"type,omitempty"`        // who the party is to customs: "business", "consumer", or "" if unknown
}

// The longest values that an address may hold, in characters.
const (
	maxLine  = 100 // names, lines, city
	maxState = 50
	maxZip   = 20
	maxPhone = 30
	maxEmail = 254
)

// Normalize returns the address as it is stored, and its invalid fields, as
// pointers that start with prefix ("/destination"). Text is trimmed and its
// inner runs of white space are one space; the country and the zip are in
// upper case, the state is a bare code, the zip has its country's spelling.
// With errors the address is not for use; text that may not be kept is left
// out of it. Normalizing twice is the same as once.
func (a Address) Normalize(prefix string) (Address, []FieldError) {
	return a.normalize(addressCheck{prefix: prefix})
}

// IsPartial reports whether a part is missing that a label needs and an
// estimate of its price does not: name, street, city or state.
func (a Address) IsPartial() bool {
	country := countries()[upperASCII(strings.TrimSpace(a.Country))]
	needsState := country != nil && country.needsState
	return a.Name == "" || a.Address1 == "" || a.City == "" || needsState && a.State == ""
}

func (a Address) normalize(c addressCheck) (Address, []FieldError) {
	a.Name = c.required("name", a.Name)
	a.Company, _ = c.text("company", a.Company, maxLine)
	a.Address1 = c.required("address1", a.Address1)
	a.Address2, _ = c.text("address2", a.Address2, maxLine)
	a.Address3, _ = c.text("address3", a.Address3, maxLine)
	a.City = c.required("city", a.City)

	// The country comes first: it decides about the state and the zip.
	a.Country = c.country(a.Country)
	rules := countries()[a.Country]
	a.State = c.state(rules, a.State)
	a.Zip = c.zip(rules, a.Zip)
	c.stateOfZip(a)

	a.Phone = c.phone(a.Phone)
	a.Email = c.email(a.Email)
	if a.Type != "" && a.Type != "business" && a.Type != "consumer" {
		c.add("type", "invalid", "must be business or consumer", Nearest(a.Type, []string{"business", "consumer"}))
	}
	return a, c.errors
}

// addressCheck collects the invalid fields of an address. Its methods take a
// value as given and return it as stored.
type addressCheck struct {
	prefix  string
	partial bool // only the country and the postal code are required
	errors  []FieldError
}

func (c *addressCheck) add(field, code, detail, suggestion string) {
	c.errors = append(c.errors, FieldError{
		Pointer:    c.prefix + "/" + field,
		Code:       code,
		Detail:     detail,
		Suggestion: suggestion,
	})
}

func (c *addressCheck) text(field, value string, limit int) (string, bool) {
	value, code := cleanText(value, limit)
	switch code {
	case codeInvalidText:
		c.add(field, code, "control characters, text direction marks and invalid UTF-8 are not allowed", "")
	case codeTooLong:
		c.add(field, code, "must have at most "+strconv.Itoa(limit)+" characters", "")
	}
	return value, code == ""
}

func (c *addressCheck) required(field, value string) string {
	value, ok := c.text(field, value, maxLine)
	if ok && value == "" && !c.partial {
		c.add(field, codeRequired, "this field is required", "")
	}
	return value
}

func (c *addressCheck) country(value string) string {
	value, ok := c.text("country", value, maxLine)
	if !ok {
		return value
	}

	value = upperASCII(value)
	switch {
	case value == "":
		c.add("country", codeRequired, "this field is required", "")
	case !KnownCountry(value):
		c.add("country", "unknown_country", "must be a two-letter ISO 3166-1 code, such as DE", nearestCountry(value))
	}
	return value
}

// state, like zip, accepts any text for a country that is not known.
func (c *addressCheck) state(in *country, value string) string {
	value, ok := c.text("state", value, maxState)
	if !ok || in == nil {
		return value
	}
	if value == "" {
		if in.needsState && !c.partial {
			c.add("state", codeRequired, "addresses in this country need a state", "")
		}
		return value
	}

	value, ok = in.stateOf(value)
	if !ok && in.needsState {
		c.add("state", "unknown_state", "must be a state or province of the country", in.nearestState(value))
	}
	return value
}

func (c *addressCheck) zip(in *country, value string) string {
	value, ok := c.text("zip", value, maxZip)
	if !ok {
		return value
	}

	value = upperASCII(value)
	if in == nil {
		return value
	}
	if value == "" {
		if in.needsZip {
			c.add("zip", codeRequired, "addresses in this country need a postal code", "")
		}
		return value
	}

	value, ok = in.zipOf(value)
	if !ok {
		c.add("zip", "invalid_zip", "must be a valid postal code of the country", "")
	}
	return value
}

// stateOfZip reports a state that the postal code is certainly not in. It reports
// nothing where either is missing or invalid by itself.
func (c *addressCheck) stateOfZip(a Address) {
	for _, invalid := range c.errors {
		if invalid.Pointer == c.prefix+"/state" || invalid.Pointer == c.prefix+"/zip" {
			return
		}
	}

	usual, also := statesOfZip(a.Country, a.Zip)
	if a.State == "" || usual == "" || hasWord(usual, a.State) || hasWord(also, a.State) {
		return
	}

	state, _, _ := strings.Cut(usual, " ")
	c.add("state", "state_mismatch", "the postal code is in "+StateName(a.Country, state)+" ("+state+"); correct the state or the postal code", state)
}

// phone requires only a few digits, because carriers differ too much for more.
func (c *addressCheck) phone(value string) string {
	value, ok := c.text("phone", value, maxPhone)
	digits := 0
	for _, r := range value {
		if unicode.IsDigit(r) {
			digits++
		}
	}
	if ok && value != "" && digits < 4 {
		c.add("phone", "invalid_phone", "must be a valid phone number, such as +1 202 555 0123", "")
	}
	return value
}

func (c *addressCheck) email(value string) string {
	value, ok := c.text("email", value, maxEmail)
	at := strings.LastIndexByte(value, '@')
	if ok && value != "" && (at <= 0 || at == len(value)-1 || strings.Contains(value, " ")) {
		c.add("email", "invalid_email", "must be a valid e-mail address, such as name@example.com", "")
	}
	return value
}

// Codes of invalid text.
const (
	codeRequired    = "required"
	codeTooLong     = "too_long"
	codeInvalidText = "invalid_text"
)

// cleanText returns text as it is stored, trimmed and with single spaces, and
// the code of its error: "" if it has none. Text that may not be kept comes back
// empty, as does text without a visible character.
func cleanText(s string, limit int) (clean, code string) {
	// Nearly all text is clean ASCII already, and needs no copy.
	if !isClean(s) {
		var ok bool
		if s, ok = collapseSpace(s); !ok {
			return "", codeInvalidText
		}
	}

	if len(s) > limit && utf8.RuneCountInString(s) > limit {
		return s, codeTooLong
	}
	return s, ""
}

// isClean reports whether s is plain ASCII that collapseSpace would return as it
// is.
func isClean(s string) bool {
	afterSpace := true // as if a space came before, so that s may not begin with one
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && afterSpace {
			return false
		}
		afterSpace = c == ' '
	}
	return s == "" || !afterSpace
}

// collapseSpace trims s and makes its inner runs of white space one space. It
// reports false if s has characters that may not be kept.
func collapseSpace(s string) (string, bool) {
	if !utf8.ValidString(s) {
		return "", false
	}

	var clean strings.Builder
	afterSpace := false
	hasVisible := false
	for _, r := range strings.TrimSpace(s) {
		switch {
		case unicode.IsControl(r), isBidiControl(r):
			return "", false
		case unicode.IsSpace(r):
			afterSpace = true
			continue
		}

		if afterSpace {
			clean.WriteByte(' ')
			afterSpace = false
		}
		clean.WriteRune(r)
		hasVisible = hasVisible || unicode.IsGraphic(r)
	}

	if !hasVisible {
		return "", true
	}
	return clean.String(), true
}

// isBidiControl reports whether r can make text read as another text.
func isBidiControl(r rune) bool {
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

func upperASCII(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= 'a' && r <= 'z' }) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
	}
	return string(b)
}

// isWord reports whether s is made of ASCII letters and digits alone.
func isWord(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; !isDigit(s[i]) && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}
