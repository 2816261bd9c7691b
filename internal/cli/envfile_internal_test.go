package cli

import (
	"maps"
	"testing"
)

func TestAnEnvironmentFileIsReadAsSystemdReadsIt(t *testing.T) {
	t.Parallel()
	got, err := parseEnvFile(`
# comment
; comment
PLAIN=postgres://u:p$w@h/db?a=1&b=2
SPACED =  inner  space
SINGLE='a \ "b" $c'
DOUBLE="a \"b\" \$c \x"
ESCAPED=a\ b\\c
LONG=one,\
     two
EMPTY=
LAST=1
LAST=2`)
	want := map[string]string{
		"PLAIN":   "postgres://u:p$w@h/db?a=1&b=2",
		"SPACED":  "inner  space",
		"SINGLE":  `a \ "b" $c`,
		"DOUBLE":  `a "b" $c \x`,
		"ESCAPED": `a b\c`,
		"LONG":    "one,two",
		"EMPTY":   "",
		"LAST":    "2",
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("read %q, %v", got, err)
	}
}
