package carriertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const exampleSchema = `<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:x" xmlns="urn:x">
<xsd:element name="order" type="Order"/>
<xsd:element name="how" abstract="true"/>
<xsd:element name="group" type="xsd:string" substitutionGroup="how"/>
<xsd:element name="now" type="xsd:boolean" fixed="true" substitutionGroup="how"/>
<xsd:complexType name="Order"><xsd:all>
  <xsd:element ref="how"/>
  <xsd:element name="weight"><xsd:simpleType><xsd:restriction base="xsd:decimal"><xsd:minExclusive value="0"/><xsd:fractionDigits value="1"/></xsd:restriction></xsd:simpleType></xsd:element>
  <xsd:element name="zip" minOccurs="0"><xsd:simpleType><xsd:restriction base="xsd:string"><xsd:pattern value="[A-Z]\d"/></xsd:restriction></xsd:simpleType></xsd:element>
  <xsd:element name="to"><xsd:complexType><xsd:choice><xsd:element name="home" type="xsd:string"/><xsd:element name="abroad" type="xsd:string"/></xsd:choice></xsd:complexType></xsd:element>
  <xsd:element name="links"><xsd:complexType><xsd:sequence><xsd:element name="link" maxOccurs="2"><xsd:complexType><xsd:attribute name="rel" type="xsd:string" use="required"/></xsd:complexType></xsd:element></xsd:sequence></xsd:complexType></xsd:element>
</xsd:all></xsd:complexType></xsd:schema>`

func TestSchemasNoticeWhatIsWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.xsd")
	if err := os.WriteFile(file, []byte(exampleSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := readSchema(file)
	if err != nil {
		t.Fatal(err)
	}

	const valid = `<order xmlns="urn:x"><weight>1.5</weight><now>true</now><to><home>x</home></to><links><link rel="a"/></links></order>`
	for _, test := range []struct{ from, to, want string }{
		{"", "", ""},
		{"<now>true</now>", "<group>g</group>", ""},
		{"<now>true</now>", "", "needs how"},
		{"<now>true</now>", "<now>false</now>", `must be "true"`},
		{"<now>true</now>", "<now>true</now><zip>A1</zip>", ""},
		{"<now>true</now>", "<now>true</now><zip>a1</zip>", "does not match"},
		{"<now>true</now>", "<now>true</now><other/>", "other is not expected"},
		{"1.5", "1.55", "fractionDigits"},
		{"1.5", "0", "minExclusive"},
		{"1.5", "one", "not of type decimal"},
		{"<weight>1.5</weight>", "", "needs weight"},
		{"<home>x</home>", "<abroad>x</abroad>", ""},
		{"<home>x</home>", "", "none of the choices"},
		{"<home>x</home>", "<home>x</home><abroad>x</abroad>", "abroad is not expected"},
		{`<link rel="a"/>`, "", "needs link"},
		{`<link rel="a"/>`, "<link/>", "needs the attribute rel"},
		{`<link rel="a"/>`, `<link rel="a"/><link rel="b"/><link rel="c"/>`, "link is not expected"},
		{`"urn:x"`, `"urn:y"`, "needs weight"},
	} {
		document, err := readNode([]byte(strings.Replace(valid, test.from, test.to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(read.checkElement(read.elements["order"], document, "order"), "; ")
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s as %s: %q, want %q", test.from, test.to, got, test.want)
		}
	}
}
