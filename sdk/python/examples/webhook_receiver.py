"""A receiver of webhooks with the standard library: WEBHOOK_SECRET=whsec_... python webhook_receiver.py"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from waybill import WebhookVerificationError, verify_webhook


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        # The bytes as they were received: JSON that is parsed and written again differs.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            event = verify_webhook(os.environ["WEBHOOK_SECRET"], self.headers.items(), body)
        except WebhookVerificationError as error:
            self.send_error(400, str(error))
            return

        print(event.type, event.data.shipment.order_id if event.data.shipment else "")
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", 3000), Receiver).serve_forever()
