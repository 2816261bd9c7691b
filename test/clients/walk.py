"""A new user's first hour in Python, with requests alone: rates, a shipment
with customs and two parcels, its label, an error, a void, and a verified
webhook."""

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import requests
from standardwebhooks import Webhook, WebhookVerificationError

URL = os.environ["WAYBILL_URL"]
session = requests.Session()
session.headers["Authorization"] = "Bearer " + os.environ["WAYBILL_KEY"]

destination = {
    "name": "Jan Jansen",
    "address1": "Damrak 1",
    "city": "Amsterdam",
    "zip": "1012 LG",
    "country": "NL",
    "phone": "+31 20 555 0100",
    "email": "jan@example.com",
    "type": "consumer",
}
customs = {
    "contentsType": "merchandise",
    "incoterm": "DDP",
    "signer": "Ada Lovelace",
    "taxIdentifiers": [{"type": "ioss", "number": "IM2760000742"}],
    "items": [
        {
            "description": "Cotton shirt",
            "quantity": 2,
            "value": {"amount": "20.00", "currency": "USD"},
            "weight": 0.5,
            "hsCode": "610910",
            "originCountry": "PT",
        }
    ],
}

received: list[dict] = []
secret = ""


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = dict(self.headers)
        received.append(Webhook(secret).verify(body, headers))
        try:
            Webhook(secret).verify(body + b" ", headers)
            received.append({"type": "a changed body verifies"})
        except WebhookVerificationError:
            pass
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


receiver = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()


def post(path: str, body: dict | None = None, **headers: str) -> requests.Response:
    return session.post(URL + path, json=body, headers=headers, timeout=30)


# Receive events.
answer = post("/v1/webhooks", {"url": f"http://127.0.0.1:{receiver.server_port}/hook", "events": ["*"]})
assert answer.status_code == 201, answer.text
secret = answer.json()["secret"]

# Rates of all carriers.
answer = post("/v1/rates", {"destination": destination, "parcels": [{"weight": 1}, {"weight": 2}]})
assert answer.status_code == 200 and answer.json()["rates"], answer.text

# A shipment of two parcels with a declaration. Repeated with its key, it is
# the same shipment.
order = {
    "orderId": "PY-1",
    "destination": destination,
    "customs": customs,
    "parcels": [{"weight": 1}, {"weight": 2}],
    "carrier": "dhl_express",
}
key = {"Idempotency-Key": f"walk-py-{time.time_ns()}"}
answer = post("/v1/shipments", order, **key)
assert answer.status_code == 201, answer.text
shipment = answer.json()
assert len(shipment["pieces"]) == 2
again = post("/v1/shipments", order, **key)
assert again.json()["id"] == shipment["id"] and again.headers["Idempotent-Replayed"] == "true"

# Its label, as bytes.
label = session.get(shipment["labelUrl"], timeout=30)
assert label.content[:5] == b"%PDF-", label.text

# An error says which field is wrong.
wrong = {**order, "orderId": "PY-2", "destination": {**destination, "zip": "0"}}
answer = post("/v1/shipments", wrong)
assert answer.status_code == 422, answer.text
assert any(e["pointer"] == "/destination/zip" for e in answer.json()["errors"]), answer.text

# What is not needed is voided.
answer = post(f"/v1/shipments/{shipment['id']}/void")
assert answer.status_code == 200 and answer.json()["labelStatus"] == "voided", answer.text

for _ in range(200):
    if len(received) >= 2:
        break
    time.sleep(0.05)
assert len(received) >= 2, "no signed event arrived"
assert all(event["type"] in ("shipment.created", "label.generated") for event in received), json.dumps(received)
print("ok")
