"""The carrier of the plug-in proof: the starter plug-in in Python, which misbehaves.

    PLUGIN_SECRET=whsec_... python3 carrier.py HOST:PORT LEDGER FAULTS [no-find]

It is the starter under examples/carrier-plugin-python with another carrier behind
it. That carrier sells whenever it is asked, even under a reference that it has
seen before, so that a purchase which is sent twice shows as two labels. What it
sells is in the file LEDGER before anybody hears of it, and survives kill -9. The
file FAULTS, and PUT /_emulator/faults, say how often it misbehaves and how: both
are those of the emulators (internal/emulator), with a few more lies.
"""

import json
import os
import random
import re
import signal
import socket
import struct
import sys
import threading
import time
from datetime import datetime, timezone
from http.server import ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "carrier-plugin-python"))
sys.dont_write_bytecode = True

import plugin as starter  # noqa: E402

LAG = 3  # seconds that a sale may be missing from look-ups, as described


class Faults:
    """How the plug-in misbehaves now."""

    def __init__(self, path):
        self.path = path
        self.load(Path(path).read_bytes())

    def load(self, text):
        self.given = json.loads(text)

    def share(self, name):
        return random.random() < self.given.get(name, 0)

    def seconds(self, name):
        """A duration as Go writes it, such as 1m2.5s."""
        units = {"h": 3600, "m": 60, "s": 1, "ms": 0.001, "µs": 0.000001}
        return sum(float(n) * units[unit] for n, unit in re.findall(r"([0-9.]+)(ms|µs|h|m|s)", self.given.get(name, "")))

    def choose(self, operation):
        """One of the faults of an operation by their shares, or none."""
        point = random.random()
        for name, share in sorted(self.given.get(operation, {}).items()):
            if point < share:
                return name
            point -= share
        return ""


class Carrier(starter.Carrier):
    """A carrier that sells as often as it is asked, and forgets nothing."""

    def __init__(self, path, faults):
        self.lock = threading.Lock()
        self.faults = faults
        self.sales = {}  # the first of each reference
        self.numbers = {}  # entries of sales by tracking number
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)

        text = Path(path).read_bytes()
        whole = text.rfind(b"\n") + 1
        os.ftruncate(self.file, whole)  # a line that a crash cut off was never answered for
        for line in text[:whole].splitlines():
            self.keep(json.loads(line))

    def keep(self, entry):
        if entry["kind"] == "sold":
            self.numbers[entry["number"]] = entry
            self.sales.setdefault(entry["reference"], entry)

    def write(self, entry):
        """Append a line in the format of the emulators' ledgers."""
        entry = {"at": datetime.now(timezone.utc).isoformat(), **entry}
        os.write(self.file, json.dumps(entry).encode() + b"\n")
        self.keep(entry)
        return entry

    def sell(self, reference, service, order, shipment):
        with self.lock:
            if service not in self.PRICES:
                raise starter.PluginError("invalid", "there is no such service", code="SERVICE")
            cents = self.PRICES[service]
            entry = self.write({
                "kind": "sold",
                "number": "PP%012d" % (len(self.numbers) + 1),
                "reference": reference,
                "second": shipment,
                "service": service,
                "cents": cents,
                "to": order["destination"]["city"],
                **starter.money(cents),
            })
        os.fsync(self.file)
        return entry

    def find(self, reference):
        with self.lock:
            entry = self.sales.get(reference)
        if entry is None or self.faults.share("lookupFlap"):
            return None
        age = time.time() - datetime.fromisoformat(entry["at"]).timestamp()
        return None if age < self.faults.seconds("lookupLag") else entry

    def void(self, number):
        with self.lock:
            if number not in self.numbers:
                raise starter.PluginError("invalid", "there is no such label", code="UNKNOWN")
            self.write({"kind": "voided", "number": number})
        os.fsync(self.file)

    def scans(self, number):
        with self.lock:
            return [self.numbers[number]] if number in self.numbers else []

    def another(self, reference):
        """A purchase under another reference."""
        with self.lock:
            for entry in self.sales.values():
                if entry["reference"] != reference:
                    return entry
        return {"reference": "A" * 26, "number": "PP000000000000", "service": "ground", "cents": 790, "to": "Nowhere"}

    def confess(self, operation, fault):
        """Write a misdeed down, for the figures of the proof."""
        with self.lock:
            self.write({"kind": "misdeed", "number": operation + " " + fault})


class Plugin(starter.Plugin):
    def authorize(self, request):
        if request["credentials"]["api_key"] != "live-key-of-pigeons":
            raise starter.PluginError("forbidden", "unknown API key", code="KEY")

    def buy(self, request):
        return starter.sale_of(self.carrier.sell(request["reference"], request["service"], request["order"], request["shipment"]))


def failure(kind, message, **more):
    return 422, {"error": {"kind": kind, "message": message, "code": kind.upper(), **more}}


def handler(plugin, signer, faults):
    last = {}  # the last good answer: what a replay repeats

    class Handler(starter.handler(plugin, signer)):
        def do_GET(self):
            self.control(self.path == "/_emulator/faults")

        def do_PUT(self):
            faults.load(self.rfile.read(int(self.headers["Content-Length"])))
            self.control(True)

        def control(self, known):
            self.send_response(204 if self.command == "PUT" else 200 if known else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self):
            arrived = time.monotonic()
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if not signer.verify(self.headers, body):
                return self.reply(401, {"error": {"kind": "forbidden", "message": "the signature is not valid"}}, "")
            time.sleep(faults.seconds("latency") + random.random() * faults.seconds("spread"))
            operation = self.path.strip("/")
            fault = faults.choose({"find": "buy"}.get(operation, operation))
            status, answer = self.instead(operation, fault, json.loads(body), arrived) or plugin.answer(self.path, body)
            if status == 200 and fault not in ("", "slow"):
                plugin.carrier.confess(operation, fault)
                return getattr(self, "do_" + fault)(json.loads(body), answer)
            self.reply(status, answer, self.headers["webhook-id"])
            if operation == "buy" and status == 200:
                last["id"], last["answer"] = self.headers["webhook-id"], answer

        def instead(self, operation, fault, request, arrived):
            """What is answered instead of doing it; None to do it."""
            if operation == "void" and fault == "refuse":
                return failure("invalid", "the label was used")
            if operation != "buy":
                return None
            if faults.share("limit"):
                return failure("limited", "too many parcels", retryAfter=1)
            if faults.share("down"):
                return failure("unavailable", "the pigeons sleep")
            if faults.share("refuse"):
                return failure("invalid", "the parcel is too heavy for a pigeon")
            if faults.share("stall"):
                plugin.carrier.confess(operation, "stall")
                time.sleep(faults.seconds("hangFor"))
            if fault == "slow":
                plugin.carrier.confess(operation, fault)
                time.sleep(request["timeoutMs"] * 0.8 / 1000)
            if time.monotonic() - arrived > request["timeoutMs"] / 1000:
                return failure("unavailable", "nobody waits for it any more")
            return None

        def hang_up(self, abortively=False):
            if abortively:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

        def do_die(self, request, answer):
            os.kill(os.getpid(), signal.SIGKILL)

        def do_hang(self, request, answer):
            time.sleep(faults.seconds("hangFor"))
            self.hang_up()

        def do_reset(self, request, answer):
            self.hang_up(abortively=True)

        do_lost = do_reset

        def do_500(self, request, answer):
            self.reply(500, {"error": {"kind": "unavailable", "message": "nothing was sold"}}, self.headers["webhook-id"])

        def do_404(self, request, answer):
            self.reply(404, {"error": {"kind": "not_found", "message": "nothing was sold"}}, self.headers["webhook-id"])

        def do_502(self, request, answer):
            page = b"<html>bad gateway</html>"
            self.send_response(502)
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def do_error(self, request, answer):
            kind = random.choice(["uncertain", "conflict", "sold_out"])  # the last is none of the contract
            self.reply(422, {"error": {"kind": kind, "message": "something happened"}}, self.headers["webhook-id"])

        def do_truncate(self, request, answer):
            body = json.dumps(answer).encode()
            timestamp = str(int(time.time()))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("webhook-id", self.headers["webhook-id"])
            self.send_header("webhook-timestamp", timestamp)
            self.send_header("webhook-signature", signer.sign(self.headers["webhook-id"], timestamp, body))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.hang_up()

        def do_wrong_reference(self, request, answer):
            other = plugin.carrier.another(request["reference"])
            self.reply(200, starter.sale_of(other), self.headers["webhook-id"])

        def do_incomplete(self, request, answer):
            self.reply(200, {**answer, random.choice(["label", "trackingNumber", "carrierRef"]): None}, self.headers["webhook-id"])

        def do_unsigned(self, request, answer):
            self.reply(200, answer, "")

        def do_replay(self, request, answer):
            self.reply(200, last.get("answer", answer), last.get("id", "req_0"))

    return Handler


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):  # the caller was killed, or hung up on
            super().handle_error(request, client_address)


def main():
    address, ledger, path = sys.argv[1:4]
    host, port = address.rsplit(":", 1)
    if "no-find" in sys.argv[4:]:
        starter.DESCRIPTION["abilities"].remove("find")
    else:
        starter.DESCRIPTION["lookup"] = {"lagSeconds": LAG}
    faults = Faults(path)
    plugin = Plugin(Carrier(ledger, faults))
    signer = starter.Signer(os.environ.get("PLUGIN_SECRET", ""))
    Server((host, int(port)), handler(plugin, signer, faults)).serve_forever()


if __name__ == "__main__":
    main()
