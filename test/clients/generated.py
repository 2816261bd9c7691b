"""The client that openapi-python-client generates from /openapi.json: a function
for each operation, a typed body, the label as a file, and typed errors. mypy
checks this file in strict mode, then it is run."""

import importlib
import os
import pkgutil
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import waybill_client.api
from waybill_client import AuthenticatedClient
from waybill_client.api.labels import get_label_pdf
from waybill_client.api.shipments import create_shipment
from waybill_client.models import ParcelInput, Problem, RecipientInput, Shipment, ShipmentInput
from waybill_client.types import File

client = AuthenticatedClient(base_url=os.environ["WAYBILL_URL"], token=os.environ["WAYBILL_KEY"])
to = RecipientInput(name="Jane Doe", address1="350 5th Avenue", city="New York", state="NY", zip_="10118", country="US")

bought = create_shipment.sync(client=client, body=ShipmentInput(order_id="PYGEN-1", destination=to, parcel=ParcelInput(weight=2.5)))
assert isinstance(bought, Shipment), bought
tracking_number = bought.tracking_number
assert isinstance(tracking_number, str)

label = get_label_pdf.sync(client=client, id=bought.id)
assert isinstance(label, File), label
assert label.payload.read(5) == b"%PDF-"

refused = create_shipment.sync(client=client, body=ShipmentInput(order_id="", destination=to, parcel=ParcelInput(weight=2.5)))
assert isinstance(refused, Problem), refused
assert refused.code == "validation_failed"
assert refused.errors and refused.errors[0].pointer == "/orderId"

missing = get_label_pdf.sync(client=client, id="shp_01J00000000000000000000000")
assert isinstance(missing, Problem) and missing.code == "shipment_not_found", missing

# Every operation gives its errors a type.
count = 0
for resource in pkgutil.iter_modules(waybill_client.api.__path__, "waybill_client.api."):
    for operation in pkgutil.iter_modules(importlib.import_module(resource.name).__path__, resource.name + "."):
        answers = get_args(get_type_hints(importlib.import_module(operation.name).sync)["return"])
        assert Problem in answers, (operation.name, answers)
        assert (Any in answers) == (".delete_" in operation.name), (operation.name, answers)
        count += 1
assert count > 30, count

# mypy reports each of these lines: an ignored error that is no error fails.
if TYPE_CHECKING:
    ShipmentInput(order_id=1, destination=to)  # type: ignore[arg-type]
    ShipmentInput(order_id="1")  # type: ignore[call-arg]
    ParcelInput(weight="2.5")  # type: ignore[arg-type]
    ParcelInput(weight=2.5, weight_unit="stone")  # type: ignore[arg-type]
    create_shipment.sync(client=client, body={"orderId": "1"})  # type: ignore[arg-type]
    get_label_pdf.sync(client=client, id=bought.id, size="5x7")  # type: ignore[arg-type]
    bought.tracking_numbr  # type: ignore[attr-defined]
    refused.cod  # type: ignore[attr-defined]
    wrong: int = refused.code  # type: ignore[assignment]

print("ok")
