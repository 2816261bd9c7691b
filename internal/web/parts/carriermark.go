package parts

import (
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
)

// specs are the carriers by name.
var specs = func() map[string]carrier.Spec {
	byName := map[string]carrier.Spec{}
	for _, spec := range all.Specs {
		byName[spec.Name] = spec
	}
	return byName
}()

// CarrierTitle returns what people call a carrier.
func CarrierTitle(name string) string {
	if spec, ok := specs[name]; ok {
		return spec.Title
	}
	return Plain(name)
}

// carrierMark returns the class of a carrier's mark.
func carrierMark(name string) string {
	if _, ok := specs[name]; ok {
		return "mark mark-" + name
	}
	return "mark"
}

// CarrierMarks returns the part of the style sheet that has the carriers'
// colours.
func CarrierMarks() string {
	var css strings.Builder
	for _, spec := range all.Specs {
		fmt.Fprintf(&css, ".mark-%s { background: %s; color: %s; }\n", spec.Name, spec.Mark.Background, spec.Mark.Text)
	}
	return css.String()
}

// CarrierChoices returns the carriers of a filter, with one that stands for
// all.
func CarrierChoices() []Choice {
	choices := []Choice{{"", "All carriers"}}
	for _, spec := range all.Specs {
		choices = append(choices, Choice{spec.Name, spec.Title})
	}
	return choices
}
