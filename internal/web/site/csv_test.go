package site

import "testing"

func TestCellsNeverBecomeFormulas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": `"plain"`, `say "hi"`: `"say ""hi"""`, "": `""`, "=1+1": `"'=1+1"`, "+1": `"'+1"`, "-1": `"'-1"`, "@SUM(A1)": `"'@SUM(A1)"`, "\t=1": "\"'\t=1\"", "\r=1": "\"'\r=1\"",
		"＝1": `"'＝1"`, "＋1": `"'＋1"`, "－1": `"'－1"`, "＠x": `"'＠x"`, "  =1": `"'  =1"`, "a=1": `"a=1"`, "\u200b=1": "\"'\u200b=1\"",
	} {
		if got := csvCell(text); got != want {
			t.Errorf("csvCell(%q) = %s, want %s", text, got, want)
		}
	}
}
