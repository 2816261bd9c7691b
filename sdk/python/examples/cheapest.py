"""Compares rates, buys the cheapest one that arrives within three days, and lists what was shipped to the
customer before."""

from waybill import ValidationError, Waybill
from waybill.inputs import ParcelInput, RecipientInput

waybill = Waybill()
destination: RecipientInput = {
    "name": "Ada Lovelace",
    "address1": "500 Main St",
    "city": "Austin",
    "state": "TX",
    "zip": "78701",
    "country": "US",
}
parcel: ParcelInput = {"weight": 4.2, "weightUnit": "lb"}

quote = waybill.rates.quote({"destination": {**destination}, "parcel": parcel})
for failed in quote.errors:
    print(f"{failed.carrier} has no rate: {failed.message}")

rate = next(offer for offer in quote.rates if offer.id and (offer.transit_days or 99) <= 3)
try:
    shipment = waybill.shipments.create(
        {"orderId": "ORD-1002", "destination": destination, "parcel": parcel, "rateId": rate.id or ""},
        idempotency_key="order-ORD-1002",
    )
    print(f"{shipment.tracking_number} by {rate.service_name}, {rate.amount} {rate.currency}")
except ValidationError as error:
    # Run again, this prints the same shipment. If another offer is the cheapest by
    # then, the key belongs to the first one: the error names its shipment.
    print(error)
    for field in error.errors:
        print(f"{field.pointer}: {field.detail}")

for earlier in waybill.shipments.list(query="lovelace", limit=50):
    print(earlier.id, earlier.status)
