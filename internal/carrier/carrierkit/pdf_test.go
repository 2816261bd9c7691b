package carrierkit_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

func TestAFileThatWasCutOffIsNoPDF(t *testing.T) {
	t.Parallel()
	for file, isWhole := range map[string]bool{
		"%PDF-1.4\n...\n%%EOF\n":                             true,
		"%PDF-1.7" + strings.Repeat("x", 5000) + "%%EOF\r\n": true,
		"%PDF-1.4\n...":                                      false,
		"%PDF-1.4\n%%EOF" + strings.Repeat("x", 2000):        false,
		"^XA^XZ%%EOF":                                        false,
		"":                                                   false,
	} {
		if carrierkit.IsWholePDF([]byte(file)) != isWhole {
			t.Errorf("%.20q: want %t", file, isWhole)
		}
	}
}
