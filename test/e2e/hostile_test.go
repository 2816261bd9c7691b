package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"mime/multipart"
	"strconv"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/api"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/sheet"
)

// fill repeats a text up to a size.
func fill(size int, text string) string {
	return strings.Repeat(text, max(0, size)/len(text))
}

// each is the format for each number below n.
func each(n int, format string) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, format, i)
	}
	return out.String()
}

// quoteJSON is a text as JSON.
func quoteJSON(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always encodes
	return out.String()
}

// hostileCSV is what costs readers of CSV most, whatever the file is about.
func hostileCSV(size int) map[string]string {
	return map[string]string{
		"commas":         fill(size, ","),
		"semicolons":     fill(size, ";"),
		"quotes":         fill(size, `"`),
		"quoted cells":   fill(size, `"",`),
		"lines of cells": `"` + fill(size-1, "\n\",\""),
		"open quote":     `"` + fill(size-1, "x"),
		"one cell":       fill(size, "x"),
		"empty lines":    fill(size, "\n"),
		"short lines":    fill(size, "a\n"),
		"lines of two":   fill(size, "a,b\n"),
		"old code page":  fill(size, "\x80"),
		"NUL":            fill(size, "\x00"),
	}
}

const sheetHead = "[sheet]\ncurrency,USD\nweight unit,lb\n[zones]\nzone,country,zip\n1,US,9\n[rates]\nservice,up to,zone 1\nground,150,9.00\n"

// hostileSheets are rate sheets of the largest size: those that are not CSV of a
// sheet at all, those that have as much as possible of one thing, and the
// largest one that is accepted.
func hostileSheets() map[string]string {
	sheets := map[string]string{}
	for name, text := range hostileCSV(sheet.MaxBytes - len(sheetHead)) {
		sheets[name] = sheetHead + text
	}

	zones := func(n int) string { return each(n, "zone z%d,") }
	sheets["comments"] = fill(sheet.MaxBytes, "#\n")
	sheets["sections"] = sheetHead + fill(3_900_000, "[zones]\n")
	sheets["settings"] = "[sheet]\n" + each(200_000, "k%d,v\n")
	sheets["areas in cells"] = sheetHead + "[zones]\nzone,country,zip\n" + each(40, "2,US,"+each(16_000, "%05d|")+"%d\n")
	sheets["areas times origins"] = sheetHead + "[zones]\nzone,country,zip,from country,from zip\n2,DE," + each(220, "%05d|") + ",DE," + each(220, "%05d|") + "\n"
	sheets["states"] = sheetHead + "[zones]\nzone,country,state\n" + fill(3_000_000, "2,US,California|cAlifornia|Texas|NY|ny|new york\n")
	sheets["unknown countries"] = sheetHead + "[zones]\nzone,country\n" + fill(3_900_000, "2,Q1 Q2 Q3 Q4\n")
	sheets["tables"] = sheetHead + "[rates]\nservice,up to," + zones(200) + "\n" + each(99, "s%d,1"+strings.Repeat(",1", 200)+"\n")
	sheets["prices"] = sheetHead + "[rates]\nservice,up to," + zones(1900) + "\n" + each(60, "ground,%d.5"+strings.Repeat(",1", 1900)+"\n")
	sheets["transit"] = sheetHead + "[transit]\nservice," + zones(1900) + "\n" + each(99, "s%d"+strings.Repeat(",1", 1900)+"\n")
	sheets["fuel"] = sheetHead + "[fuel]\nfrom,percent,service\n" + fill(3_900_000, "2026-01-01,1,"+each(99, "s%d ")+"\n")
	sheets["surcharges"] = sheetHead + "[rates]\nservice,up to," + zones(1900) + "\nground,1" + strings.Repeat(",1", 1900) + "\n" +
		"[surcharges]\nsurcharge,amount,zone\n" + each(350, "x%d,1.00,"+each(1800, "z%d ")+"\n")
	sheets["the largest"] = largestSheet()
	return sheets
}

// largestSheet is accepted: it has nearly as many areas, prices and bytes as a
// sheet may have.
func largestSheet() string {
	var out strings.Builder
	out.WriteString("[sheet]\ncurrency,USD\nweight unit,lb\n[zones]\nzone,country,zip\n")
	for zip := range 48_000 {
		fmt.Fprintf(&out, "z%d,US,%05d\n", zip%1000, zip)
	}
	out.WriteString("[rates]\nservice,up to")
	for zone := range 1000 {
		fmt.Fprintf(&out, ",zone z%d", zone)
	}
	for weight := range 99 {
		out.WriteString("\nground," + strconv.Itoa(weight+1))
		for zone := range 1000 {
			fmt.Fprintf(&out, ",%d.00", 100+weight+zone%7)
		}
	}
	out.WriteString("\n")
	out.WriteString(fill(sheet.MaxBytes-out.Len(), "# a comment of the contract\n"))
	return out.String()
}

// hostileOrders are files of orders of the largest size.
func hostileOrders() map[string][]byte {
	files := map[string][]byte{}
	const titles = "Order,Recipient,Street,City,State,Zip,Country,Weight"
	for name, text := range hostileCSV(batch.MaxBytes - len(titles) - 1) {
		files[name] = []byte(titles + "\n" + text)
	}

	files["commas alone"] = []byte(fill(batch.MaxBytes, ","))

	// The largest file that is accepted.
	row := "1,Ada,500 Main St,Austin,TX,78701,US,2.5" + strings.Repeat(","+strings.Repeat("x", 25), 92) + "\n"
	files["the largest"] = []byte(titles + each(92, ",more %d") + "\n" + strings.Repeat(row, min(batch.MaxRows, (batch.MaxBytes-2000)/len(row))))
	return files
}

// hostileBatches are newline-delimited JSON of the largest size: with as much as
// possible of one thing, and the largest batch that is accepted. No carrier sells
// its lines.
func hostileBatches() map[string]string {
	const size = 16 << 20
	lines := func(line string) string { return strings.Repeat(line+"\n", min(10_000, size/(len(line)+1))) }
	valid := func(more string) string {
		return strings.Replace(order, `"orderId"`, `"carrier":"nobody"`+more+`,"orderId"`, 1)
	}

	long := fmt.Sprintf(`,"metadata":{%s"z":""}`, each(2, `"%d":"`+fill(500, "x")+`",`))
	largest := []string{valid(long), strings.Replace(largestOrder(0), `"orderId"`, `"carrier":"nobody","orderId"`, 1)}
	return map[string]string{
		"empty lines":      fill(size, "\n"),
		"spaces":           fill(size, " "),
		"short lines":      lines("1"),
		"empty objects":    lines("{}"),
		"unknown fields":   lines("{" + each(150, `"f%d":0,`) + `"z":0}`),
		"long fields":      lines(`{"` + fill(200_000, "x") + `":0}`),
		"one field":        lines(`{"orderId":"` + fill(1500, "é") + `"}`),
		"the most lines":   lines(largest[0]),
		"the longest":      lines(largest[1]),
		"one line":         fill(size, "x"),
		"too large":        fill(size+1000, "1\n"),
		"nested lists":     lines(fill(30, "[") + fill(30, "]")),
		"escapes":          lines(`{"orderId":"` + fill(1500, `\u00e9`) + `"}`),
		"control":          lines(`{"orderId":"` + fill(1500, `\u0000`) + `"}`),
		"numbers":          lines("[" + fill(19_000, "0,") + "0]"),
		"names of members": lines("{" + each(500, `"m%08d":0,`) + `"z":0}`),
	}
}

// hostileLogos are pictures that are small as files.
func hostileLogos(t *testing.T) map[string][]byte {
	t.Helper()
	encode := func(picture image.Image) []byte {
		var out bytes.Buffer
		if err := png.Encode(&out, picture); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	deep := image.NewNRGBA64(image.Rect(0, 0, 2048, 1024))
	deep.SetNRGBA64(0, 0, color.NRGBA64{A: 0x8000})

	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewRGBA(image.Rect(0, 0, 2048, 1024)), nil); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"16 bits a colour": encode(deep),
		"too many pixels":  encode(image.NewPaletted(image.Rect(0, 0, 4096, 4096), color.Palette{color.Black, color.White})),
		"photograph":       photo.Bytes(),
		"scans":            fourColours(1024, 30_000),
		"progressive":      fourColours(1024, 9),
		"noise":            bytes.Repeat([]byte{0xff, 0xd8, 0xff}, account.MaxLogoBytes/3),
	}
}

// fourColours is a progressive JPEG of four components without subsampling: a
// decoder holds 20 bytes for each pixel of it.
func fourColours(side uint16, scans int) []byte {
	var out bytes.Buffer
	out.WriteString("\xff\xd8\xff\xdb\x00\x43\x00" + strings.Repeat("\x01", 64))
	out.WriteString("\xff\xc2\x00\x14\x08")
	out.Write([]byte{byte(side >> 8), byte(side), byte(side >> 8), byte(side)})
	out.WriteString("\x04\x01\x11\x00\x02\x11\x00\x03\x11\x00\x04\x11\x00")
	out.WriteString("\xff\xc4\x00\x14\x00\x01" + strings.Repeat("\x00", 15) + "\x00")
	out.WriteString("\xff\xc4\x00\x14\x10\x01" + strings.Repeat("\x00", 15) + "\xe0")

	blocks := int(side/8) * int(side/8)
	out.WriteString("\xff\xda\x00\x0e\x04\x01\x00\x02\x00\x03\x00\x04\x00\x00\x00\x00" + strings.Repeat("\x00", 4*blocks/8+1))
	for range min(scans-1, (account.MaxLogoBytes-out.Len())/16) {
		out.WriteString("\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00\x00\x00\x00\x00")
	}
	out.WriteString("\xff\xd9")
	return out.Bytes()
}

// hostileBodies are bodies of the largest size for an operation: JSON that costs
// any parser most, and the operation's own example with each of its texts and
// lists made as large as possible.
func hostileBodies(operation api.Operation) map[string][]byte {
	size := int(operation.MaxBody)
	bodies := map[string][]byte{
		"nested lists":   []byte(fill(size, "[")),
		"nested objects": []byte(fill(size, `{"a":`)),
		"numbers":        []byte("[" + fill(size-3, "0,") + "0]"),
		"empty objects":  []byte("[" + fill(size-4, "{},") + "{}]"),
		"members":        []byte("{" + each(size/16, `"m%08d":0,`) + `"z":0}`),
		"one text":       []byte(`{"name":"` + fill(size-11, "x") + `"}`),
		"quotes":         []byte(`{"name":"` + fill(size-11, `\"`) + `"}`),
		"escapes":        []byte(`{"name":"` + fill(size-11, `\u00e9`) + `"}`),
		"one number":     []byte(`{"name":` + fill(size-9, "9") + "}"),
		"too large":      []byte(`{"name":"` + fill(size, "x") + `"}`),
	}
	if operation.ID == "importRateSheet" {
		return bodies // its texts are sent with hostileSheets
	}

	var example any
	if json.Unmarshal(operation.Example, &example) != nil {
		return bodies
	}
	room := size - len(operation.Example) - 1000
	enlarge(example, room, func(place string, changed func()) {
		changed()
		if body, err := json.Marshal(example); err == nil && len(body) <= size {
			bodies["example with "+place] = body
		}
	})
	return bodies
}

// enlarge makes one text or list of a value after the other as large as the
// room, calls use with a function that does so, and puts it back.
func enlarge(value any, room int, use func(place string, changed func())) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			switch member := member.(type) {
			case string:
				use("long "+name, func() { value[name] = fill(room, "x, \u00e9") })
			case []any:
				use("many "+name, func() { value[name] = repeated(member, room) })
			}
			value[name] = member
			enlarge(member, room, use)
		}
	case []any:
		for _, element := range value {
			enlarge(element, room, use)
		}
	}
}

// repeated is a list with its elements again and again.
func repeated(list []any, room int) []any {
	text, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return list
	}
	var out []any
	for range room / len(text) {
		out = append(out, list...)
	}
	return out
}

// largestOrder is a request for a label that is accepted, of nearly the largest
// size.
func largestOrder(n int) string {
	metadata := map[string]string{}
	for i := range 50 {
		metadata[fmt.Sprintf("%d ", i)+strings.Repeat("\U0001d4b3", 490)] = strings.Repeat("\U0001d4b3", 500)
	}
	text, _ := json.Marshal(metadata) // texts always encode
	return strings.Replace(order, `"orderId":"1001"`, fmt.Sprintf(`"orderId":"large-%d","metadata":%s`, n, text), 1)
}

// A hostileForm is the body of a form.
type hostileForm struct {
	contentType string
	body        []byte
}

// formFields are names of fields that many forms have.
var formFields = []string{
	"name", "when", "note", "url", "description", "networks", "order", "metadata", "email", "password", "address1", "city", "zip", "country",
	"reference", "connection-name", "held", "credential", "code", "token", "do", "to", "rule", "by", "kind", "shipment", "originName", "c0.name",
}

// hostileForms are forms of a size in the shapes that cost their parsers most.
func hostileForms(size int) map[string]hostileForm {
	const encoded = "application/x-www-form-urlencoded"
	var long strings.Builder
	for _, name := range formFields {
		long.WriteString(name + "=" + fill(19_000, "x+") + "&")
	}

	nul := strings.Join(formFields, "=a%00b&") + "=a%00b"

	var parts bytes.Buffer
	writer := multipart.NewWriter(&parts)
	for i := range 990 {
		_ = writer.WriteField("f"+strconv.Itoa(i), fill(size/1000-150, "x")) // to memory
	}
	_ = writer.Close()

	var file bytes.Buffer
	fileWriter := multipart.NewWriter(&file)
	part, _ := fileWriter.CreateFormFile("file", "file")
	_, _ = part.Write([]byte(fill(size-1000, ",")))
	_ = fileWriter.Close()

	return map[string]hostileForm{
		"one text":   {encoded, []byte("name=" + fill(size-5, "x"))},
		"names":      {encoded, []byte(each(min(9999, size/12), "f%08d=&"))},
		"values":     {encoded, []byte(strings.Repeat("order="+fill(size/9999-8, "x")+"&", 9999))},
		"long texts": {encoded, []byte(long.String())},
		"NUL":        {encoded, []byte(nul)},
		"parts":      {writer.FormDataContentType(), parts.Bytes()},
		"file":       {fileWriter.FormDataContentType(), file.Bytes()},
		"too large":  {encoded, []byte("name=" + fill(size+1000, "x"))},
	}
}
