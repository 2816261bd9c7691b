package parts

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

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

// plugins returns the carriers that operators registered, which may change; nil
// if there are none.
var plugins atomic.Pointer[func() []carrier.Spec]

// UsePlugins sets where the titles of carriers come from that operators
// registered. It is called once, when the process starts.
func UsePlugins(list func() []carrier.Spec) { plugins.Store(&list) }

func pluginSpecs() []carrier.Spec {
	if list := plugins.Load(); list != nil {
		return (*list)()
	}
	return nil
}

// CarrierTitle returns what people call a carrier.
func CarrierTitle(name string) string {
	if spec, ok := specs[name]; ok {
		return spec.Title
	}
	for _, spec := range pluginSpecs() {
		if spec.Name == name {
			return spec.Title
		}
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
	for _, spec := range slices.Concat(all.Specs, pluginSpecs()) {
		choices = append(choices, Choice{spec.Name, spec.Title})
	}
	return choices
}
