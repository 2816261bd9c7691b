package cli

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// orderFlags describe an order: a file, single flags, or a file of which flags change
// something.
type orderFlags struct {
	file, to, from, location   string
	weight, size               string
	carrier, service, shipDate string
	options                    optionFlags
}

func (f *orderFlags) add(s *service, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.file, "file", "f", "", "file with the order in JSON, as POST /v1/shipments takes it; - for standard input")
	flags.StringVar(&f.to, "to", "", "recipient, such as 'Jane Doe, 350 5th Avenue, New York NY 10118, US'")
	flags.StringVar(&f.from, "from", "", "sender, written like --to (default: as in the file, or the account's)")
	flags.StringVar(&f.location, "location", "", "location to ship from, by name or id, instead of --from")
	flags.StringVar(&f.weight, "weight", "", "weight with its unit, such as 2.5lb, 12oz or 1.2kg (default: the account's unit)")
	flags.StringVar(&f.size, "size", "", "length, width and height, such as 10x8x4in or 30x20x10cm")
	flags.StringVar(&f.carrier, "carrier", "", "carrier, such as ups (default: the cheapest, or as your routing rules choose)")
	flags.StringVar(&f.service, "service", "", "service of the carrier")
	flags.StringVar(&f.shipDate, "ship-date", "", "day on which the parcel is handed over, such as 2027-03-01 (default: today)")
	f.options.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("carrier", s.completeCarriers) // the flag exists
}

// read returns the order.
func (f *orderFlags) read(s *service, r *request) (order client.ShipmentRequest, err error) {
	if f.file == "" && f.to == "" {
		return order, usage("an order is required: --to and --weight, or -f with a file in JSON (- for standard input)")
	}
	if f.file != "" {
		if err := s.readRequest(f.file, &order); err != nil {
			return order, err
		}
	}

	if f.to != "" {
		if order.Destination, err = parseAddress("--to", f.to); err != nil {
			return order, err
		}
	}
	if f.from != "" {
		origin, err := parseAddress("--from", f.from)
		if err != nil {
			return order, err
		}
		order.Origin = &origin
	}
	if f.weight != "" || f.size != "" {
		if order.Parcel, err = f.parcel(order.Parcel); err != nil {
			return order, err
		}
	}
	order.Carrier = cmp.Or(f.carrier, order.Carrier)
	order.Service = cmp.Or(f.service, order.Service)
	order.ShipDate = cmp.Or(f.shipDate, order.ShipDate)

	if err := f.options.apply(&order); err != nil {
		return order, err
	}
	location, err := atLocation(r, f.location)
	if location != nil {
		order.Origin = location
	}
	return order, err
}

var (
	weightPattern = regexp.MustCompile(`^([0-9]*\.?[0-9]+) ?(lb|oz|kg|g)?$`)
	sizePattern   = regexp.MustCompile(`^([0-9.]+)x([0-9.]+)x([0-9.]+) ?(in|cm|mm)?$`)
)

// parcel returns the parcel with what the flags say.
func (f *orderFlags) parcel(present *client.Parcel) (*client.Parcel, error) {
	var parcel client.Parcel
	if present != nil {
		parcel = *present
	}

	if f.weight != "" {
		match := weightPattern.FindStringSubmatch(strings.ToLower(f.weight))
		if match == nil {
			return nil, usage("--weight %q is not a weight such as 2.5lb, 12oz, 1.2kg or 800g", f.weight)
		}
		parcel.Weight, _ = strconv.ParseFloat(match[1], 64) // the pattern allows numbers alone
		parcel.WeightUnit = match[2]
	}
	if f.size != "" {
		match := sizePattern.FindStringSubmatch(strings.ToLower(f.size))
		if match == nil {
			return nil, usage("--size %q is not a size such as 10x8x4in or 30x20x10cm", f.size)
		}
		var sides [3]float64
		for i := range sides {
			side, err := strconv.ParseFloat(match[i+1], 64)
			if err != nil {
				return nil, usage("--size %q is not a size such as 10x8x4in or 30x20x10cm", f.size)
			}
			sides[i] = side
		}
		parcel.Dimensions = &client.Dimensions{Length: sides[0], Width: sides[1], Height: sides[2], Unit: match[4]}
	}
	return &parcel, nil
}

// How the line of a city is written: with a state before the postal code, with the
// postal code first, with it last, or without one.
var cityPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^(?P<city>.+?) (?P<state>[A-Z]{2,3}) (?P<zip>[A-Z0-9][A-Z0-9 -]*[0-9][A-Z0-9 -]*)$`),
	regexp.MustCompile(`^(?P<zip>[0-9][A-Z0-9-]*(?: [A-Z]{2})?) (?P<city>\D+)$`),
	regexp.MustCompile(`^(?P<city>\D+?) (?P<zip>[A-Z0-9-]*[0-9][A-Z0-9 -]*)$`),
	regexp.MustCompile(`^(?P<city>\D+)$`),
}

// parseAddress reads an address on one line: name, street, perhaps further lines, city
// with state and postal code, country.
func parseAddress(flag, text string) (client.Address, error) {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	wrong := usage("%s %q is not an address such as 'Jane Doe, 350 5th Avenue, New York NY 10118, US'; use -f for others", flag, text)
	if len(parts) < 4 || len(parts) > 6 || len(parts[len(parts)-1]) != 2 {
		return client.Address{}, wrong
	}

	last := len(parts) - 1
	address := client.Address{Name: parts[0], Address1: parts[1], Country: strings.ToUpper(parts[last])}
	if last >= 4 {
		address.Address2 = parts[2]
	}
	if last == 5 {
		address.Address3 = parts[3]
	}
	for _, pattern := range cityPatterns {
		match := pattern.FindStringSubmatch(parts[last-1])
		if match == nil {
			continue
		}
		for i, name := range pattern.SubexpNames() {
			switch name {
			case "city":
				address.City = match[i]
			case "state":
				address.State = match[i]
			case "zip":
				address.Zip = match[i]
			}
		}
		return address, nil
	}
	return client.Address{}, wrong
}

// parseMoney reads an amount with its currency, which is USD if it is left out. Empty
// is none.
func parseMoney(text string) (*client.Money, error) {
	fields := strings.Fields(text)
	switch len(fields) {
	case 0:
		return nil, nil
	case 1:
		return &client.Money{Amount: fields[0], Currency: "USD"}, nil
	case 2:
		return &client.Money{Amount: fields[0], Currency: strings.ToUpper(fields[1])}, nil
	}
	return nil, usage("%q is not an amount such as 15 or 15 EUR", text)
}
