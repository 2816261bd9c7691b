package label

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

var (
	update   = flag.Bool("update", false, "write golden files anew")
	pictures = flag.String("pictures", "", "directory to write the labels of the tests to, to look at them")
)

// latin is a plain label of each carrier of the sandbox.
var latin = map[string]Page{
	"ups": {
		Carrier: "UPS", Service: "Ground",
		From: []string{"Sample Warehouse", "1200 Harbor Blvd", "Suite 4", "Oakland, CA 94607", "UNITED STATES"},
		To:   []string{"Jane Müller-O'Connor", "Acme Widgets, Inc.", "350 5th Avenue, Floor 21", "New York, NY 10118", "UNITED STATES"},
		// The check digit is valid.
		Tracking: "1Z999AA10123456784", Routing: "NY 101 9-02", Reference: []string{"Order: 10042", "Ref: PO-7781 / blue"},
		Piece: 1, Pieces: 3, Weight: "4.2 lb", ShipDate: "2026-11-14",
	},
	"usps": {
		Carrier: "USPS", Service: "Priority Mail",
		From:     []string{"Sample Warehouse", "1200 Harbor Blvd", "Oakland, CA 94607"},
		To:       []string{"Ada Lovelace", "12 St. James's Square", "Springfield, IL 62704"},
		Tracking: "9400111899223197428210", Routing: "C009 62704", Reference: []string{"Order: 10043"},
		Piece: 1, Pieces: 1, Weight: "12 oz", ShipDate: "2026-11-14",
	},
	"fedex": {
		Carrier: "FedEx", Service: "2Day",
		From:     []string{"Sample Warehouse", "1200 Harbor Blvd", "Oakland, CA 94607"},
		To:       []string{"Grace Hopper", "1 Navy Way", "Arlington, VA 22202"},
		Tracking: "794612345678", Routing: "XH DCAA", Piece: 1, Pieces: 1, Weight: "2.0 lb", ShipDate: "2026-11-14",
	},
	"dhl": {
		Carrier: "DHL Express", Service: "Express Worldwide",
		From:     []string{"Sample Warehouse", "1200 Harbor Blvd", "Oakland, CA 94607", "UNITED STATES"},
		To:       []string{"Jürgen Groß", "Straße des 17. Juni 135", "10623 Berlin", "GERMANY"},
		Tracking: "1234567890", Routing: "DE-BER-TXL", Piece: 1, Pieces: 1, Weight: "1.25 kg", ShipDate: "2026-11-14",
	},
}

// scripts has a name and a street in each script a label must carry.
var scripts = map[string][]string{
	"latin":      {"Łukasz Żółć", "ul. Świętokrzyska 14/3, 00-050 Warszawa"},
	"cyrillic":   {"Иванов Иван Сергеевич", "ул. Тверская, д. 7, кв. 12, Москва"},
	"greek":      {"Γιώργος Παπαδόπουλος", "Λεωφ. Κηφισίας 44, Αθήνα 105 57"},
	"chinese":    {"王小明", "北京市朝阳区建国路88号院2号楼1501室"},
	"japanese":   {"山田太郎 様", "東京都千代田区丸の内1-9-1 ひかりビル"},
	"korean":     {"김민준", "서울특별시 강남구 테헤란로 152, 12층"},
	"arabic":     {"محمد أحمد", "15 شارع التحرير، القاهرة 11511"},
	"hebrew":     {"דוד כהן", "רחוב הרצל 12, תל אביב 6688101"},
	"thai":       {"สมชาย ใจดี", "99/1 ถนนสุขุมวิท กรุงเทพฯ 10110"},
	"devanagari": {"राम कुमार", "12 जनपथ, नई दिल्ली 110001"},
}

func oneOf(p Page) Document { return Document{Sample: true, Pages: []Page{p}} }

// worldly is a label with all scripts on it.
func worldly() Document {
	p := latin["dhl"]
	p.To, p.From = nil, nil
	for _, name := range []string{"chinese", "korean", "cyrillic", "arabic", "hebrew", "japanese", "greek", "latin", "thai", "devanagari"} {
		p.To = append(p.To, scripts[name]...)
	}
	p.From = append(scripts["japanese"], scripts["arabic"]...)
	return oneOf(p)
}

// awkward has texts that are far too long and characters no font has.
func awkward() Document {
	return Document{Sample: true, Pages: []Page{{
		Carrier: "United States Postal Service", Service: "Priority Mail Express International Flat Rate",
		From: []string{
			"The Extraordinarily Long Named Trading Company of Lower Saxony GmbH & Co. KG", "c/o Somebody",
			"Third floor, building 7b, loading dock 19 behind the old mill", "Line four", "Line five", "Line six", "Germany",
		},
		To: []string{
			"Wolfeschlegelsteinhausenbergerdorff Hubert Blaine Senior and Associates Incorporated",
			"Department of Redundancy Department, Sub-department of Long Lines",
			"Taumatawhakatangihangakoauauotamateaturipukakapikimaungahoronukupokaiwhenuakitanatahu Road",
			"廣東省深圳市龍崗區坂田街道雅寶路1號星河WORLD大廈B座二十五樓2501室收發室轉交財務部王小明先生收",
			"Llanfairpwllgwyngyll, LL61 5UJ", "UNITED KINGDOM", "\U0001F600 emoji",
		},
		Tracking: "9400111899223197428210", Routing: "LL61 5UJ-1234567890 ABCDEFGHIJ",
		Reference: []string{"Order: 10042" + string(make([]byte, 70)) + "1111111111111111111111111111111111111111111111111111111111111111111111111111111111"},
		Piece:     12, Pieces: 50, Weight: "1,234,567,890.56 lb of feathers", ShipDate: "2026-11-14",
	}, {Tracking: "794612345678", To: []string{"Short"}}}}
}

func newRenderer(t testing.TB) *Renderer {
	t.Helper()
	r, err := sharedRenderer()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sharedRenderer is one for all tests: reading what draws PDF files takes a
// second.
var sharedRenderer = sync.OnceValues(func() (*Renderer, error) { return NewRenderer("") })

func render(t testing.TB, d Document, o Options) Rendering {
	t.Helper()
	out, err := newRenderer(t).Render(d, o)
	if err != nil {
		t.Fatalf("Render(%+v): %v", o, err)
	}
	return out
}

// show keeps a picture if somebody wants to look at it.
func show(t testing.TB, name string, data []byte) {
	t.Helper()
	if *pictures == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*pictures, "label-"+name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}
