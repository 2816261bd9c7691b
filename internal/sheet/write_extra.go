package sheet

import "strings"

func (w *writer) surcharges() {
	if len(w.s.surcharges) == 0 {
		return
	}
	w.begin("surcharges", "surcharge", "when", "amount", "per", "fuel", "service", "zone", "country", "state", "zip")
	for i := range w.s.surcharges {
		c := &w.s.surcharges[i]
		for j := range c.steps {
			w.step(c, &c.steps[j])
		}
	}
}

func (w *writer) step(c *surcharge, st *step) {
	amount := w.money(st.amount)
	if st.percent > 0 {
		amount = percentText(st.percent)
	}
	var services, zones []string
	for _, id := range st.services {
		services = append(services, w.s.Services[id].Code)
	}
	for _, z := range st.zones {
		zones = append(zones, w.s.Zones[z])
	}
	row := func(a area) {
		w.row(c.name, st.when.text(w.s.terms), amount, pick(c.byPiece, "piece", "shipment"), pick(c.fuel, "yes", ""),
			strings.Join(services, " "), strings.Join(zones, " "), a.country, a.state, a.zip())
	}
	if st.areas == nil {
		row(area{})
	}
	for _, a := range st.areas {
		row(a.area)
	}
}

func percentText(millionths int64) string { return fixed(millionths, 4) + "%" }

func (w *writer) fuel() {
	begun := false
	write := func(steps []fuelStep, service string) {
		for _, f := range steps {
			if !begun {
				w.begin("fuel", "from", "percent", "service")
				begun = true
			}
			w.row(string(f.from), percentText(f.percent), service)
		}
	}
	write(w.s.fuel, "")
	for id, steps := range w.s.ownFuel {
		write(steps, w.s.Services[id].Code)
	}
}
