"""The first example of the official library's README, and what an integration does next:
addresses, customs, rates, a purchase, its label, a refund, trackers, webhooks, lists and
errors. The library is the published one, unchanged; only the base address and the key differ.
"""

import os
import queue
import sys
import threading
import urllib.request
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer

import easypost
from easypost.errors import InvalidRequestError, NotFoundError, UnauthorizedError

base = os.environ["WAYBILL_URL"] + "/v2"
client = easypost.EasyPostClient(os.environ["WAYBILL_KEY"], api_base=base)

sender = {
    "street1": "417 MONTGOMERY ST",
    "street2": "FLOOR 5",
    "city": "SAN FRANCISCO",
    "state": "CA",
    "zip": "94104",
    "country": "US",
    "company": "EasyPost",
    "phone": "415-123-4567",
}
recipient = {
    "name": "Dr. Steve Brule",
    "street1": "179 N Harbor Dr",
    "city": "Redondo Beach",
    "state": "CA",
    "zip": "90277",
    "country": "US",
    "phone": "4155559999",
}
parcel = {"length": 8, "width": 5, "height": 5, "weight": 5}


secret = "sécret"
events = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    """Verifies events with the library's own verifier."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        events.put(easypost.util.validate_webhook(body, self.headers, secret))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def fetch(url):
    with urllib.request.urlopen(url) as response:
        return response.read()


receiver = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
webhook = client.webhook.create(url=f"http://127.0.0.1:{receiver.server_port}/hook", webhook_secret=secret)
assert client.webhook.retrieve(webhook.id).url == webhook.url
assert [one.id for one in client.webhook.all()["webhooks"]] == [webhook.id]

# The README: create, choose the lowest rate, buy.
shipment = client.shipment.create(from_address=sender, to_address=recipient, parcel=parcel, reference="order-1")
assert shipment.rates and shipment.status == "unknown", shipment
bought = client.shipment.buy(shipment.id, rate=shipment.lowest_rate())
assert bought.id == shipment.id and bought.tracking_code and bought.tracker.id.startswith("trk_"), bought
assert bought.selected_rate.rate == shipment.lowest_rate().rate, bought.selected_rate
assert fetch(bought.postage_label.label_url)[:4] == b"\x89PNG", bought.postage_label.label_url

event = events.get(timeout=20)
assert event["description"] == "tracker.created" and event["result"]["tracking_code"] == bought.tracking_code, event
assert event["result"]["shipment_id"] == shipment.id and event["result"]["status"] == "pre_transit", event
assert client.event.retrieve(event["id"]).result.tracking_code == bought.tracking_code
assert client.event.all(page_size=1)["events"]

# A client that has lost the answer buys again: it is the same label.
again = client.shipment.buy(shipment.id, rate=shipment.lowest_rate())
assert again.tracking_code == bought.tracking_code
other = max(shipment.rates, key=lambda rate: float(rate.rate))
try:
    client.shipment.buy(shipment.id, rate=other)
    sys.exit("a second rate was bought")
except InvalidRequestError as error:
    assert error.code == "SHIPMENT.POSTAGE.EXISTS", error.code

read = client.shipment.retrieve(shipment.id)
assert read.tracking_code == bought.tracking_code
assert client.shipment.retrieve("order-1").id == shipment.id
converted = client.shipment.label(shipment.id, file_format="ZPL")
assert fetch(converted.postage_label.label_zpl_url)[:3] == b"^XA"

# Objects by id, as an integration that keeps its addresses does.
address = client.address.create(**sender)
box = client.parcel.create(**parcel)
item = client.customs_item.create(
    description="T-Shirt", quantity=2, value=47, weight=8, hs_tariff_number="610910", origin_country="US", code="SHIRT-1"
)
declaration = client.customs_info.create(
    eel_pfc="NOEEI 30.37(a)",
    customs_certify=True,
    customs_signer="Steve Brule",
    contents_type="merchandise",
    non_delivery_option="return",
    restriction_type="none",
    customs_items=[item],
)
assert declaration.customs_items[0].value == "47", declaration
assert client.address.retrieve(address.id).street1 == address.street1
assert client.parcel.retrieve(box.id).weight == 5
abroad = client.shipment.create(
    from_address=address,
    to_address={"name": "Ada Lovelace", "street1": "10 Downing St", "city": "London", "zip": "SW1A 2AA", "country": "GB", "phone": "442079250918"},
    parcel=box,
    customs_info=declaration,
    options={"label_format": "PDF", "incoterm": "DAP"},
)
assert abroad.rates, abroad.messages
abroad = client.shipment.buy(abroad.id, rate=abroad.lowest_rate())
assert fetch(abroad.postage_label.label_pdf_url)[:4] == b"%PDF"

# A day is handed over: a batch, a scan form, a pickup.
entry = {"from_address": sender, "to_address": recipient, "parcel": parcel, "carrier": "USPS", "service": "GroundAdvantage"}
batch = client.batch.create(shipments=[entry, entry])
batch = client.batch.buy(batch.id)
assert batch.state == "purchased" and batch.num_shipments == 2, batch
form = client.scan_form.create(shipments=[{"id": one.id} for one in batch.shipments])
assert form.status == "created" and len(form.tracking_codes) == 2, form
tomorrow = datetime.now(timezone.utc).replace(hour=15, minute=0) + timedelta(days=1)
pickup = client.pickup.create(
    address=sender,
    shipment={"id": batch.shipments[0].id},
    min_datetime=tomorrow.isoformat(),
    max_datetime=(tomorrow + timedelta(hours=4)).isoformat(),
    is_account_address=False,
    instructions="Ring the bell",
)
pickup = client.pickup.buy(pickup.id, carrier=pickup.pickup_rates[0].carrier, service=pickup.pickup_rates[0].service)
assert pickup.status == "scheduled" and pickup.confirmation, pickup
assert client.pickup.cancel(pickup.id).status == "canceled"

# Refunds.
refunded = client.shipment.refund(shipment.id)
assert refunded.refund_status == "submitted", refunded.refund_status
refunds = client.refund.create(carrier=abroad.selected_rate.carrier, tracking_codes=[abroad.tracking_code])
assert refunds[0].tracking_code == abroad.tracking_code, refunds

# Trackers.
tracker = client.tracker.create(tracking_code="EZ4000000004", carrier="USPS")
assert tracker.status == "delivered" and tracker.tracking_details, tracker
assert client.tracker.retrieve(tracker.id).tracking_code == "EZ4000000004"
assert any(one.id == tracker.id for one in client.tracker.all(page_size=5)["trackers"])

# Two pages of a list.
first = client.shipment.all(page_size=3, purchased=True)
assert len(first["shipments"]) == 3 and first["has_more"], first
second = client.shipment.get_next_page(first, page_size=3)
assert second["shipments"] and not second["has_more"]

# Errors choose the same exceptions.
for raises, call in [
    (UnauthorizedError, lambda: easypost.EasyPostClient("sk_test_nobody", api_base=base).shipment.all()),
    (NotFoundError, lambda: client.shipment.retrieve("shp_00000000000000000000000000")),
    (InvalidRequestError, lambda: client.shipment.create(to_address=recipient)),
    (NotFoundError, lambda: client.order.retrieve("order_1")),
]:
    try:
        call()
        sys.exit(f"no {raises.__name__}")
    except raises as error:
        assert error.message, error

client.webhook.delete(webhook.id)
print("ok")
