"""A carrier plug-in for Waybill, with the standard library alone.

    PLUGIN_SECRET=whsec_... python3 plugin.py [PORT] [LEDGER]

It sells labels of a carrier that it makes up, Pigeon Post, so that you can run
it at once. To connect a real carrier, replace the class Carrier: it must keep
our reference with each purchase, and find the purchase by it. docs/plugins.md
explains the rest, and "waybill carrier verify" says whether it is right.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE = 5 * 60  # seconds that clocks may be apart
LIMIT = 4 << 20  # bytes of a request

DESCRIPTION = {
    "protocol": 1,
    "title": "Pigeon Post",
    "abilities": ["rates", "buy", "find", "void", "track", "duties"],
    "fields": [
        {"name": "account_number", "title": "Account number", "required": True},
        {"name": "api_key", "title": "API key", "secret": True, "required": True},
    ],
    "services": [{"code": "ground", "name": "Pigeon Ground"}, {"code": "air", "name": "Pigeon Air"}],
    "labelFormats": ["zpl"],
    "trackBatch": 20,
    "statuses": [
        {"code": "LABEL", "status": "label_generated"},
        {"code": "HUB", "status": "in_transit"},
        {"code": "DONE", "status": "delivered"},
    ],
    "trackingNumbers": ["PP[0-9]{12}"],
    "examples": {"credentials": {"account_number": "A1", "api_key": "test-key-of-pigeons"}},
}


class PluginError(Exception):
    """An answer that is an error. The kinds are those of the contract."""

    def __init__(self, kind, message, code="", **more):
        super().__init__(message)
        self.body = {"error": {"kind": kind, "message": message, "code": code, **more}}


class Carrier:
    """The carrier. Replace its methods with calls to a real one.

    A call that may have sold, and whose answer was lost, must raise
    PluginError("uncertain", ...): Waybill then calls find before anything else.
    """

    PRICES = {"ground": 790, "air": 1890}

    def __init__(self, ledger):
        self.lock = threading.Lock()
        self.sales = {}  # by reference
        self.ledger = open(ledger, "a+", encoding="utf-8")
        self.ledger.seek(0)
        for line in self.ledger:
            try:
                self.keep(json.loads(line))
            except ValueError:
                pass  # a line that a crash cut off was never answered
        self.ledger.write("\n")  # what follows begins on a line of its own

    def keep(self, entry):
        self.sales[entry["reference"]] = entry

    def write(self, entry):
        """Keep what was sold before anybody hears of it."""
        self.ledger.write(json.dumps(entry) + "\n")
        self.ledger.flush()
        os.fsync(self.ledger.fileno())
        self.keep(entry)

    def sell(self, reference, service, order):
        with self.lock:
            if reference in self.sales:  # the request came twice: sell once
                return self.sales[reference]
            if service not in self.PRICES:
                raise PluginError("invalid", "there is no such service", code="SERVICE")
            number = "PP%012d" % (int.from_bytes(hashlib.sha256(reference.encode()).digest()[:6], "big") % 10**12)
            entry = {
                "reference": reference,
                "number": number,
                "service": service,
                "cents": self.PRICES[service],
                "to": order["destination"]["city"],
                "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
                "voided": False,
            }
            self.write(entry)
            return entry

    def find(self, reference):
        with self.lock:
            return self.sales.get(reference)

    def void(self, number):
        with self.lock:
            for entry in self.sales.values():
                if entry["number"] == number:
                    self.write({**entry, "voided": True})
                    return
        raise PluginError("invalid", "there is no such label", code="UNKNOWN")

    def scans(self, number):
        with self.lock:
            return [entry for entry in self.sales.values() if entry["number"] == number]


def sale_of(entry):
    """A purchase as Waybill wants it: complete, or not at all."""
    label = "^XA^FO50,50^ADN,36,20^FDPigeon Post %s^FS^FO50,120^BCN,100^FD%s^FS^XZ" % (entry["to"], entry["number"])
    return {
        "reference": entry["reference"],
        "carrierRef": entry["number"],
        "trackingNumber": entry["number"],
        "service": entry["service"],
        "price": money(entry["cents"]),
        "label": {"format": "zpl", "data": base64.b64encode(label.encode()).decode()},
    }


def money(cents):
    return {"amount": "%d.%02d" % divmod(cents, 100), "currency": "USD"}


class Plugin:
    """The operations, by their paths."""

    def __init__(self, carrier):
        self.carrier = carrier

    def authorize(self, request):
        if request.get("credentials", {}).get("api_key") != "test-key-of-pigeons":
            raise PluginError("forbidden", "unknown API key", code="KEY")

    def check(self, request):
        return {"ok": True}

    def rates(self, request):
        arrival = datetime.now(timezone.utc) + timedelta(days=3)
        return {
            "rates": [
                {"service": code, "price": money(cents), "transitDays": 3, "deliveryAt": arrival.isoformat(timespec="seconds")}
                for code, cents in self.carrier.PRICES.items()
            ]
        }

    def buy(self, request):
        return sale_of(self.carrier.sell(request["reference"], request["service"], request["order"]))

    def find(self, request):
        entry = self.carrier.find(request["reference"])
        if entry is None:
            raise PluginError("not_found", "nothing was bought under this reference")
        return sale_of(entry)

    def void(self, request):
        self.carrier.void(request["carrierRef"])
        return {"status": "voided"}

    def duties(self, request):
        charges = []
        for i, item in enumerate(request["order"]["customs"]["items"]):
            value = float(item["value"]["amount"]) * item["quantity"]
            amount = {"amount": "%.2f" % (value * 0.05), "currency": item["value"]["currency"]}
            charges.append({"type": "duty", "name": "Duty", "item": i, "amount": amount})
        return {"charges": charges}

    def track(self, request):
        updates = []
        for number in request["trackingNumbers"]:
            for entry in self.carrier.scans(number):
                updates.append({"trackingNumber": number, "code": "LABEL", "at": entry["at"], "description": "Label created"})
        return {"updates": updates}

    def answer(self, path, body):
        """The status and the body of the answer to a request."""
        if path == "/describe":
            return 200, DESCRIPTION
        operation = path.strip("/")
        if operation not in ["check"] + DESCRIPTION["abilities"]:
            return 404, {"error": {"kind": "unsupported", "message": "there is no such operation"}}
        try:
            request = json.loads(body)
            self.authorize(request)
            return 200, getattr(self, operation)(request)
        except PluginError as error:
            return 422, error.body
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return 422, {"error": {"kind": "invalid", "message": "the request cannot be read", "code": type(error).__name__}}


class Signer:
    """Signatures of Standard Webhooks, in both directions."""

    def __init__(self, secret):
        if not secret.startswith("whsec_"):
            raise SystemExit("set PLUGIN_SECRET to whsec_ and the base64 of 32 random bytes")
        self.key = base64.b64decode(secret[len("whsec_"):])

    def sign(self, message_id, timestamp, body):
        content = message_id.encode() + b"." + timestamp.encode() + b"." + body
        return "v1," + base64.b64encode(hmac.new(self.key, content, hashlib.sha256).digest()).decode()

    def verify(self, headers, body):
        message_id = headers.get("webhook-id", "")
        timestamp = headers.get("webhook-timestamp", "")
        if not message_id or not timestamp.isdigit() or abs(time.time() - int(timestamp)) > TOLERANCE:
            return False
        wanted = self.sign(message_id, timestamp, body)
        return any(hmac.compare_digest(given.encode(), wanted.encode()) for given in headers.get("webhook-signature", "").split())


def handler(plugin, signer):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            length = int(self.headers.get("Content-Length", 0))
            if length > LIMIT:
                return self.reply(413, {"error": {"kind": "invalid", "message": "the request is too large"}}, "")
            body = self.rfile.read(length)
            if not signer.verify(self.headers, body):
                return self.reply(401, {"error": {"kind": "forbidden", "message": "the signature is not valid"}}, "")
            status, answer = plugin.answer(self.path, body)
            self.reply(status, answer, self.headers["webhook-id"])

        def reply(self, status, answer, message_id):
            body = json.dumps(answer).encode()
            timestamp = str(int(time.time()))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if message_id:  # an answer repeats the id of its request
                self.send_header("webhook-id", message_id)
                self.send_header("webhook-timestamp", timestamp)
                self.send_header("webhook-signature", signer.sign(message_id, timestamp, body))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass  # requests hold credentials and addresses

    return Handler


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9700
    ledger = sys.argv[2] if len(sys.argv) > 2 else "pigeon-post.jsonl"
    plugin = Plugin(Carrier(ledger))
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(plugin, Signer(os.environ.get("PLUGIN_SECRET", ""))))
    print("listening on http://127.0.0.1:%d" % server.server_address[1], flush=True)
    server.serve_forever()
