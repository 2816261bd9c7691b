package label

import (
	"bytes"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// TestZPLThatCanBeDrawnScans makes PDF and PNG of ZPL that is graphics and
// boxes, and refuses what a printer draws by itself.
func TestZPLThatCanBeDrawnScans(t *testing.T) {
	tool(t, "zbarimg")
	pdftoppm := tool(t, "pdftoppm")
	p := latin["usps"]
	graphics := convertTo(t, ship.Label{Format: "png", Data: fedexPNG(t, p)}, Options{Format: ZPL})
	graphics = bytes.Replace(graphics, []byte("^PQ1"), []byte("^FO5,5^GB800,1200,3^FS^PQ1"), 1)
	if err := CanRender(graphics); err != nil {
		t.Fatal(err)
	}
	l := ship.Label{Format: "zpl", Data: graphics}
	for _, o := range []Options{{Format: PDF, Size: Size4x6, DPI: 203}, {Format: PNG, Size: Size4x6, DPI: 203}, {Format: PNG, Size: SizeA4, DPI: 300}} {
		picture := convertTo(t, l, o)
		if o.Format == PDF {
			picture = filter(t, picture, pdftoppm, "-r", "203", "-png", "-singlefile", "-")
		}
		show(t, "from-zpl-"+string(o.Format)+"-"+string(o.Size)+".png", picture)
		if got := scan(t, picture); got != p.Tracking {
			t.Errorf("%+v: scanned %q, want %q", o, got, p.Tracking)
		}
	}

	for name, data := range corpus(t, "benign") {
		if formatOf(name) != "zpl" {
			continue
		}
		err := CanRender(data)
		if err == nil || !strings.Contains(err.Error(), "^") {
			t.Errorf("%s: %v, want an error that names a command", name, err)
		}
	}
	if CanRender([]byte("~JR")) == nil {
		t.Error("what is not safe can be drawn")
	}
}

// TestEveryFormOfAGraphicIsRead draws one picture in each form of ^GF.
func TestEveryFormOfAGraphicIsRead(t *testing.T) {
	for name, data := range map[string]string{
		"plain":     "^GFA,4,4,2,FF00FF00",
		"counted":   "^GFA,4,4,2,HFH0HFH0",
		"filled":    "^GFA,4,4,2,FF,FF,",
		"repeated":  "^GFA,4,4,2,FF00:",
		"in base64": "^GFA,4,4,2,:B64:/wD/AA==:0000",
	} {
		pages, err := drawZPL([]byte("^XA^PW20^LL4^FO2,1"+data+"^FS^XZ"), 203)
		if err != nil || len(pages) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		if got := pages[0].inkBounds(); got != (rect{2, 1, 8, 2}) {
			t.Errorf("%s: black in %v", name, got)
		}
	}
}
