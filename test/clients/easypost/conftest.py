"""What the tests of the official Python library need and its package lacks: a client, and
the orders that they send. The tests themselves are those of the published source archive,
unchanged. No request leaves for EasyPost: every client that a test makes is pointed at
Waybill, which is why three tests of the library's own default address cannot pass.
"""

import hashlib
import hmac
import json
import os
import unicodedata
from copy import deepcopy
from datetime import date, timedelta

import easypost.easypost_client
import pytest

KEY = os.environ["WAYBILL_KEY"]
BASE = os.environ["WAYBILL_URL"] + "/v2"

os.environ["EASYPOST_TEST_API_KEY"] = KEY
as_published = easypost.easypost_client.EasyPostClient.__init__


def at_waybill(self, api_key, *args, **options):
    options.setdefault("api_base", BASE)
    as_published(self, api_key, *args, **options)


easypost.easypost_client.EasyPostClient.__init__ = at_waybill

PLACES = {
    "ca_address_1": {
        "name": "Elizabeth Swan",
        "street1": "388 Townsend St",
        "street2": "Apt 20",
        "city": "San Francisco",
        "state": "CA",
        "zip": "94107",
        "country": "US",
        "phone": "4155550100",
    },
    "ca_address_2": {
        "name": "Jack Sparrow",
        "street1": "179 N Harbor Dr",
        "city": "Redondo Beach",
        "state": "CA",
        "zip": "90277",
        "country": "US",
        "phone": "4155550101",
    },
    "incorrect_address": {
        "street1": "INVALID STREET",  # which no carrier of the sandbox knows
        "city": "San Francisco",
        "state": "CA",
        "zip": "94104",
        "country": "US",
        "company": "Example",
        "phone": "4155550102",
    },
}
PARCEL = {"length": 10, "width": 8, "height": 4, "weight": 15.4}
ITEM = {
    "description": "Sweet shirts",
    "quantity": 2,
    "value": 23.25,
    "weight": 11,
    "hs_tariff_number": "654321",
    "origin_country": "US",
}
CUSTOMS = {
    "eel_pfc": "NOEEI 30.37(a)",
    "customs_certify": True,
    "customs_signer": "Steve Brule",
    "contents_type": "merchandise",
    "restriction_type": "none",
    "non_delivery_option": "return",
    "customs_items": [ITEM],
}
BASIC = {"from_address": PLACES["ca_address_1"], "to_address": PLACES["ca_address_2"], "parcel": PARCEL}
FULL = {
    **BASIC,
    "customs_info": CUSTOMS,
    "options": {"label_format": "PNG", "invoice_number": "123"},
    "reference": "123",
}
SECRET = "sécret"
EVENT = {
    "id": "evt_00000000000000000000000000000000",
    "object": "Event",
    "description": "tracker.updated",
    "result": {"id": "trk_00000000000000000000000000000000", "object": "Tracker", "weight": 614.4},
}

CONSTANTS = {
    **PLACES,
    "basic_parcel": PARCEL,
    "basic_customs_item": ITEM,
    "basic_customs_info": CUSTOMS,
    "basic_shipment": BASIC,
    "full_shipment": FULL,
    "tax_identifier": {
        "entity": "SENDER",
        "tax_id": "IM0123456789",
        "tax_id_type": "IOSS",
        "issuing_country": "GB",
    },
    "basic_insurance": {
        "from_address": PLACES["ca_address_1"],
        "to_address": PLACES["ca_address_2"],
        "amount": "100",
        "carrier": "USPS",
    },
    "basic_claim": {"type": "damage", "amount": "100", "tracking_code": "EZ1000000001"},
    "basic_pickup": {
        "address": PLACES["ca_address_1"],
        "min_datetime": str(date.today() + timedelta(days=1)) + " 09:00:00",
        "max_datetime": str(date.today() + timedelta(days=1)) + " 17:00:00",
        "instructions": "Ring the bell",
    },
    "rma_form_options": {"barcode": "RMA12345678900", "line_items": []},
    "usps": "USPS",
    "usps_service": "GroundAdvantage",
    "pickup_service": "FutureDay",
    "page_size": 5,
    "synchronous_sleep_seconds": 1,
    "planned_ship_date": str(date.today() + timedelta(days=1)),
    "desired_delivery_date": str(date.today() + timedelta(days=7)),
    "luma_ruleset_name": "required",
    "luma_planned_ship_date": str(date.today() + timedelta(days=1)),
    "webhook_url": "https://example.com/easypost",
    "webhook_secret": SECRET,
    "webhook_custom_headers": [{"name": "test", "value": "header"}],
    "event_json": json.dumps(EVENT),
    "event_bytes": json.dumps(EVENT).encode(),
    "webhook_hmac_signature": "hmac-sha256-hex="
    + hmac.new(unicodedata.normalize("NFKD", SECRET).encode(), json.dumps(EVENT).encode(), hashlib.sha256).hexdigest(),
}


def constant(value):
    return pytest.fixture(lambda: deepcopy(value))


for name, value in CONSTANTS.items():
    globals()[name] = constant(value)


@pytest.fixture
def test_client():
    return easypost.EasyPostClient(KEY)


@pytest.fixture
def one_call_buy_shipment(basic_shipment, test_client):
    accounts = test_client.carrier_account.all()
    usps = next(account for account in accounts if account.readable.startswith("USPS") or "Usps" in account.type)
    return {**basic_shipment, "service": "GroundAdvantage", "carrier": "USPS", "carrier_accounts": [usps.id]}


def pytest_configure(config):
    config.addinivalue_line("markers", "vcr: of the library's own runs, which replay recorded answers")
