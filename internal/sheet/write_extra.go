package sheet

import "strings"

func (w *writer) writeSurcharges() {
	if len(w.sheet.surcharges) == 0 {
		return
	}
	w.beginSection("surcharges", "surcharge", "when", "amount", "per", "fuel", "service", "zone", "country", "state", "zip")
	for i := range w.sheet.surcharges {
		charge := &w.sheet.surcharges[i]
		for j := range charge.steps {
			w.writeStep(charge, &charge.steps[j])
		}
	}
}

// writeStep writes a row for each area of a step, or one if it applies
// everywhere.
func (w *writer) writeStep(charge *surcharge, step *surchargeStep) {
	amount := w.money(step.amount)
	if step.percent > 0 {
		amount = formatPercent(step.percent)
	}
	var services, zones []string
	for _, id := range step.services {
		services = append(services, w.sheet.Services[id].Code)
	}
	for _, zone := range step.zones {
		zones = append(zones, w.sheet.Zones[zone])
	}

	// A step may have many areas, and each row repeats all of it.
	when := step.when.format(w.sheet.terms)
	serviceList := strings.Join(services, " ")
	zoneList := strings.Join(zones, " ")
	writeArea := func(where area) {
		w.writeRow(
			charge.name,
			when,
			amount,
			choose(charge.byPiece, "piece", "shipment"),
			choose(charge.fuel, "yes", ""),
			serviceList,
			zoneList,
			where.country,
			where.state,
			where.zip(),
		)
	}
	if step.areas == nil {
		writeArea(area{})
	}
	for _, entry := range step.areas {
		writeArea(entry.area)
	}
}

func formatPercent(millionths int64) string { return formatFixed(millionths, 4) + "%" }

func (w *writer) writeFuel() {
	begun := false
	writeSteps := func(steps []fuelStep, service string) {
		for _, step := range steps {
			if !begun {
				w.beginSection("fuel", "from", "percent", "service")
				begun = true
			}
			w.writeRow(string(step.from), formatPercent(step.percent), service)
		}
	}

	writeSteps(w.sheet.fuel, "")
	for id, steps := range w.sheet.ownFuel {
		writeSteps(steps, w.sheet.Services[id].Code)
	}
}
