package ship

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// UnmarshalStrict reads JSON into v like json.Unmarshal, but refuses a field
// that v does not have.
func UnmarshalStrict(data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is data after the end of the JSON value")
	}
	return nil
}

// Pointer returns the JSON pointer of the value that the names lead to.
func Pointer(names ...string) string {
	var pointer []byte
	for _, name := range names {
		pointer = AppendPointer(pointer, name)
	}
	return string(pointer)
}

// AppendPointer appends a name to a JSON pointer, which writes ~ as ~0 and / as
// ~1.
func AppendPointer[Name string | []byte](pointer []byte, name Name) []byte {
	pointer = append(pointer, '/')
	for i := range len(name) {
		switch c := name[i]; c {
		case '~':
			pointer = append(pointer, "~0"...)
		case '/':
			pointer = append(pointer, "~1"...)
		default:
			pointer = append(pointer, c)
		}
	}
	return pointer
}
