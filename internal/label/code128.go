package label

import (
	"github.com/waybillhq/waybill/internal/ship"
)

// symbol is a Code 128 symbol as its code words, from the start character to
// the check character. ZPL names the words and the pictures draw them, so a
// label carries the same bars in every format.
type symbol []byte

const (
	codeC  = 99  // switch to set C: two digits per word
	codeB  = 100 // switch to set B: printable ASCII
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
	for _, char := range content {
		switch {
		case char == fnc1Rune:
			data = append(data, 0)
		case char >= ' ' && char <= '~':
			data = append(data, byte(char))
		default:
			return nil, ship.Errorf(ship.Invalid, "the label's barcode has a character that Code 128 cannot encode")
		}
	}

	costB, costC := wordCosts(data)
	words := append(make(symbol, 0, len(data)+4), startB)
	set := byte(codeB)
	if costC[0] < costB[0] {
		words[0] = startC
		set = codeC
	}

	for i := 0; i < len(data); {
		// A switch is a word itself, so it must save more than one.
		switch {
		case set == codeB && costC[i]+1 < costB[i]:
			words = append(words, codeC)
			set = codeC
		case set == codeC && costB[i]+1 < costC[i]:
			words = append(words, codeB)
			set = codeB
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
	return append(words, checkCharacter(words)), nil
}

// wordCosts counts, for each position, the words that are needed to the end if
// the word at that position is of set B or of set C.
func wordCosts(data []byte) (costB, costC []int) {
	const impossible = 1 << 20

	costB = make([]int, len(data)+2)
	costC = make([]int, len(data)+2)
	for i := len(data) - 1; i >= 0; i-- {
		costB[i] = 1 + min(costB[i+1], 1+costC[i+1])

		switch {
		case data[i] == 0:
			costC[i] = 1 + min(costC[i+1], 1+costB[i+1])
		case isDigit(data[i]) && i+1 < len(data) && isDigit(data[i+1]):
			costC[i] = 1 + min(costC[i+2], 1+costB[i+2])
		default:
			costC[i] = impossible
		}
	}
	return costB, costC
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// checkCharacter is the last code word: the sum of the others, each weighted
// with its position.
func checkCharacter(words symbol) byte {
	sum := 0
	for i, word := range words {
		sum += max(i, 1) * int(word)
	}
	return byte(sum % 103)
}

// bars calls draw for every bar, with its position and width in modules.
func (s symbol) bars(draw func(at, width int)) {
	at := 0
	drawPattern := func(pattern string) {
		for i := range len(pattern) {
			width := int(pattern[i] - '0')
			if i%2 == 0 {
				draw(at, width)
			}
			at += width
		}
	}

	for _, word := range s {
		drawPattern(patterns[6*int(word) : 6*int(word)+6])
	}
	drawPattern("2331112") // the stop character
}

// patterns holds six widths, alternately of a bar and a space, for each code
// word from 0 to 105.
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
