package label

import (
	"github.com/waybillhq/waybill/internal/ship"
)

// symbol is a Code 128 symbol as its code words, from the start character to
// the check character. ZPL names the words and the pictures draw them, so
// that a label carries the same bars in every format.
type symbol []byte

const (
	codeC  = 99  // go over to set C: two digits a word
	codeB  = 100 // go over to set B: printable ASCII
	fnc1   = 102
	startB = 104
	startC = 105

	fnc1Rune = '\u00f1'
)

// modules is the width of the symbol with its stop character, without quiet
// zones.
func (s symbol) modules() int { return 11*len(s) + 13 }

// quietModules is the white space that must stay free on each side.
const quietModules = 10

// encode128 finds the shortest symbol for content.
func encode128(content string) (symbol, error) {
	data := make([]byte, 0, 64) // FNC1 is kept as 0
	for _, r := range content {
		switch {
		case r == fnc1Rune:
			data = append(data, 0)
		case r >= ' ' && r <= '~':
			data = append(data, byte(r))
		default:
			return nil, ship.Errorf(ship.Invalid, "the label's bar code has a character that Code 128 cannot print")
		}
	}
	inB, inC := costs(data)
	words, set := append(make(symbol, 0, len(data)+4), startB), byte(codeB)
	if inC[0] < inB[0] {
		words[0], set = startC, codeC
	}
	for i := 0; i < len(data); {
		switch {
		case set == codeB && inC[i]+1 < inB[i]:
			words, set = append(words, codeC), codeC
		case set == codeC && inB[i]+1 < inC[i]:
			words, set = append(words, codeB), codeB
		}
		switch {
		case data[i] == 0:
			words = append(words, fnc1)
			i++
		case set == codeC:
			words = append(words, (data[i]-'0')*10+data[i+1]-'0')
			i += 2
		default:
			words = append(words, data[i]-' ')
			i++
		}
	}
	return append(words, check(words)), nil
}

// costs counts the words that are needed from each place to the end, if the
// word there is of set B or of set C.
func costs(data []byte) (inB, inC []int) {
	const never = 1 << 20
	inB, inC = make([]int, len(data)+2), make([]int, len(data)+2)
	for i := len(data) - 1; i >= 0; i-- {
		inB[i] = 1 + min(inB[i+1], 1+inC[i+1])
		switch {
		case data[i] == 0:
			inC[i] = 1 + min(inC[i+1], 1+inB[i+1])
		case isDigit(data[i]) && i+1 < len(data) && isDigit(data[i+1]):
			inC[i] = 1 + min(inC[i+2], 1+inB[i+2])
		default:
			inC[i] = never
		}
	}
	return inB, inC
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func check(words symbol) byte {
	sum := 0
	for i, w := range words {
		sum += max(i, 1) * int(w)
	}
	return byte(sum % 103)
}

// bars calls draw for every bar, with its place and width in modules.
func (s symbol) bars(draw func(at, width int)) {
	at := 0
	pattern := func(p string) {
		for i := range len(p) {
			width := int(p[i] - '0')
			if i%2 == 0 {
				draw(at, width)
			}
			at += width
		}
	}
	for _, w := range s {
		pattern(patterns[6*int(w) : 6*int(w)+6])
	}
	pattern("2331112")
}

// patterns holds six widths, bar and space in turn, for each code word from 0
// to 105.
const patterns = "212222222122222221121223121322131222122213122312132212221213" +
	"221312231212112232122132122231113222123122123221223211221132" +
	"221231213212223112312131311222321122321221312212322112322211" +
	"212123212321232121111323131123131321112313132113132311211313" +
	"231113231311112133112331132131113123113321133121313121211331" +
	"231131213113213311213131311123311321331121312113312311332111" +
	"314111221411431111111224111422121124121421141122141221112214" +
	"112412122114122411142112142211241211221114413111241112134111" +
	"111242121142121241114212124112124211411212421112421211212141" +
	"214121412121111143111341131141114113114311411113411311113141" +
	"114131311141411131211412211214211232"
