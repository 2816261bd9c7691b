package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"github.com/waybillhq/waybill/internal/docsite"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsCSS string

// docsPolicy is the content security policy of the reference page, whose only
// style is identified by its hash. It loads nothing.
var docsPolicy = func() string {
	sum := sha256.Sum256([]byte(docsCSS))
	style := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	return "default-src 'none'; style-src '" + style + "'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

var docsTemplate = template.Must(template.New("docs").Funcs(template.FuncMap{
	"prose":  docsite.Prose,
	"json":   highlightJSON,
	"status": http.StatusText,
	"class":  statusClass,
}).Parse(docsHTML))

// docsPage is what the reference page shows.
type docsPage struct {
	Title, Base string
	Style       template.CSS
	About       string
	Groups      []httpkit.ReferenceGroup
	Statuses    [][2]string
	Where       docsite.Addresses
}

// page renders the reference page of the document; where says where the other
// pages of the documentation are.
func (d *document) page(base string, groups []httpkit.ReferenceGroup, where docsite.Addresses) ([]byte, error) {
	info := d.root.child("info")
	page := docsPage{
		Title:    info.text("title"),
		Base:     base,
		Style:    template.CSS(docsCSS),
		About:    info.text("description"),
		Groups:   groups,
		Statuses: statusMeanings(),
		Where:    where,
	}

	var out bytes.Buffer
	err := docsTemplate.Execute(&out, page)
	return out.Bytes(), err
}

// groups returns the operations by tag, in the order of the document.
func (d *document) groups(base string) (list []httpkit.ReferenceGroup) {
	for _, tag := range d.root.list("tags") {
		tag := tag.(*object)
		group := httpkit.ReferenceGroup{Name: tag.text("name"), About: tag.text("description")}

		d.operations(func(method, path string, op *object) {
			if method != http.MethodHead && op.list("tags")[0] == any(group.Name) {
				group.Operations = append(group.Operations, d.operation(base, method, path, op))
			}
		})
		list = append(list, group)
	}
	return list
}

// statusMeanings are the specification's words for the seven statuses.
func statusMeanings() [][2]string {
	return [][2]string{
		{string(ship.Created), "The shipment exists in the service but is not yet manifested."},
		{string(ship.LabelGenerated), "The carrier has accepted the shipment and provided a label."},
		{string(ship.PickedUp), "The carrier has physical possession of the package."},
		{string(ship.InTransit), "The package is moving through the carrier network."},
		{string(ship.OutForDelivery), "The package is on the final delivery vehicle. Reported as the event shipment.in_transit."},
		{string(ship.Delivered), "The package was delivered."},
		{string(ship.Exception), "An issue occurred, such as a weather delay or an address not found. reason says which."},
	}
}

func statusClass(status int) string {
	switch {
	case status < http.StatusBadRequest:
		return "ok"
	case status < http.StatusInternalServerError:
		return "bad"
	}
	return "worse"
}
