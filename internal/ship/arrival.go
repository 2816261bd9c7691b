package ship

// ArrivalDate is the day on which a parcel that is sent on the ship date
// arrives by the offer: the day that the carrier names, else as many days later
// as the service takes. It is empty where neither is known.
func (r Rate) ArrivalDate(shipDate Date) Date {
	switch {
	case !r.DeliveryAt.IsZero():
		return DateOf(r.DeliveryAt)
	case r.TransitDays > 0 && shipDate != "":
		return DateOf(shipDate.Time().AddDate(0, 0, r.TransitDays))
	}
	return ""
}
