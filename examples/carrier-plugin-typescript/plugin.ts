// A carrier plug-in for Waybill, with Node.js alone.
//
//   PLUGIN_SECRET=whsec_... node plugin.ts [PORT] [LEDGER]
//
// Node.js 23.6 and later run TypeScript as it is; 22.6 and later need
// --experimental-strip-types. It sells labels of a carrier that it makes up, Pigeon
// Post, so that you can run it at once. To connect a real carrier, replace the class
// Carrier: it must keep our reference with each purchase, and find the purchase by it.
// docs/plugins.md explains the rest, and "waybill carrier verify" says whether it is
// right.

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const TOLERANCE = 5 * 60; // seconds that clocks may be apart
const LIMIT = 4 << 20; // bytes of a request

const abilities = ["rates", "buy", "find", "void", "track"];

const description = {
  protocol: 1,
  title: "Pigeon Post",
  abilities,
  fields: [
    { name: "account_number", title: "Account number", required: true },
    { name: "api_key", title: "API key", secret: true, required: true },
  ],
  services: [
    { code: "ground", name: "Pigeon Ground" },
    { code: "air", name: "Pigeon Air" },
  ],
  labelFormats: ["zpl"],
  trackBatch: 20,
  statuses: [
    { code: "LABEL", status: "label_generated" },
    { code: "HUB", status: "in_transit" },
    { code: "DONE", status: "delivered" },
  ],
  trackingNumbers: ["PP[0-9]{12}"],
  examples: { credentials: { account_number: "A1", api_key: "test-key-of-pigeons" } },
};

type Kind = "invalid" | "forbidden" | "not_found" | "conflict" | "unsupported" | "limited" | "unavailable" | "uncertain";

// An answer that is an error. The kinds are those of the contract.
class PluginError extends Error {
  kind: Kind;
  code: string;
  constructor(kind: Kind, message: string, code = "") {
    super(message);
    this.kind = kind;
    this.code = code;
  }
}

// What the operations here read of a request; there is more in the contract.
interface Request {
  credentials: Record<string, string>;
  reference: string;
  service: string;
  carrierRef: string;
  trackingNumbers: string[];
  order: { destination: { city: string } };
}

// What the carrier keeps of a purchase.
interface Sale {
  reference: string;
  number: string;
  service: string;
  cents: number;
  to: string;
  at: string;
  voided: boolean;
}

const prices: Record<string, number> = { ground: 790, air: 1890 };

// The carrier. Replace its methods with calls to a real one.
//
// A call that may have sold, and whose answer was lost, must throw an error of kind
// "uncertain": Waybill then calls find before anything else. With a carrier that is
// called over the network, sell must also remember the references that are being
// sold, because a second request may come while the first one waits.
class Carrier {
  private sales = new Map<string, Sale>(); // by reference
  private ledger: number;

  constructor(path: string) {
    const kept = existsSync(path) ? readFileSync(path, "utf8") : "";
    for (const line of kept.split("\n")) {
      try {
        const sale = JSON.parse(line) as Sale;
        this.sales.set(sale.reference, sale);
      } catch {
        continue; // a line that a crash cut off was never answered
      }
    }
    this.ledger = openSync(path, "a", 0o600);
    writeSync(this.ledger, "\n"); // what follows begins on a line of its own
    process.on("exit", () => closeSync(this.ledger));
  }

  // Keeps what was sold before anybody hears of it.
  private write(sale: Sale): Sale {
    try {
      writeSync(this.ledger, JSON.stringify(sale) + "\n");
      fsyncSync(this.ledger);
    } catch {
      throw new PluginError("uncertain", "the ledger could not be written");
    }
    this.sales.set(sale.reference, sale);
    return sale;
  }

  sell(reference: string, service: string, city: string): Sale {
    const sold = this.sales.get(reference);
    if (sold !== undefined) return sold; // the request came twice: sell once
    if (!reference || prices[service] === undefined) {
      throw new PluginError("invalid", "there is no such service", "SERVICE");
    }

    const hash = createHash("sha256").update(reference).digest();
    return this.write({
      reference,
      number: "PP" + String(hash.readUIntBE(0, 6) % 1e12).padStart(12, "0"),
      service,
      cents: prices[service],
      to: city,
      at: new Date().toISOString(),
      voided: false,
    });
  }

  find(reference: string): Sale | undefined {
    return this.sales.get(reference);
  }

  byNumber(number: string): Sale | undefined {
    return [...this.sales.values()].find((sale) => sale.number === number);
  }

  void(number: string): void {
    const sold = this.byNumber(number);
    if (sold === undefined) throw new PluginError("invalid", "there is no such label", "UNKNOWN");
    this.write({ ...sold, voided: true });
  }
}

const money = (cents: number) => ({ amount: (cents / 100).toFixed(2), currency: "USD" });

// A purchase as Waybill wants it: complete, or not at all.
function saleOf(sale: Sale) {
  const label = `^XA^FO50,50^ADN,36,20^FDPigeon Post ${sale.to}^FS^FO50,120^BCN,100^FD${sale.number}^FS^XZ`;
  return {
    reference: sale.reference,
    carrierRef: sale.number,
    trackingNumber: sale.number,
    service: sale.service,
    price: money(sale.cents),
    label: { format: "zpl", data: Buffer.from(label).toString("base64") },
  };
}

// Performs one operation.
function perform(carrier: Carrier, operation: string, request: Request): object {
  if (request.credentials?.api_key !== "test-key-of-pigeons") {
    throw new PluginError("forbidden", "unknown API key", "KEY");
  }

  switch (operation) {
    case "rates":
      return { rates: Object.entries(prices).map(([service, cents]) => ({ service, price: money(cents), transitDays: 3 })) };
    case "buy":
      return saleOf(carrier.sell(request.reference, request.service, request.order.destination.city));
    case "find": {
      const sold = carrier.find(request.reference);
      if (sold === undefined) throw new PluginError("not_found", "nothing was bought under this reference");
      return saleOf(sold);
    }
    case "void":
      carrier.void(request.carrierRef);
      return { status: "voided" };
    case "track":
      return {
        updates: request.trackingNumbers
          .map((number) => carrier.byNumber(number))
          .filter((sale) => sale !== undefined)
          .map((sale) => ({ trackingNumber: sale.number, code: "LABEL", at: sale.at, description: "Label created" })),
      };
  }
  return { ok: true }; // check
}

// The status and the body of the answer to a request.
function answerTo(carrier: Carrier, path: string, body: Buffer): [number, object] {
  const operation = path.replace(/^\/+|\/+$/g, "");
  if (operation === "describe") return [200, description];
  if (operation !== "check" && !abilities.includes(operation)) {
    return [404, { error: { kind: "unsupported", message: "there is no such operation" } }];
  }
  try {
    return [200, perform(carrier, operation, JSON.parse(body.toString("utf8")) as Request)];
  } catch (error) {
    if (error instanceof PluginError) {
      return [422, { error: { kind: error.kind, code: error.code, message: error.message } }];
    }
    return [422, { error: { kind: "invalid", code: "REQUEST", message: "the request cannot be read" } }];
  }
}

// Signatures of Standard Webhooks, in both directions.
function sign(key: Buffer, id: string, timestamp: string, body: Buffer): string {
  return "v1," + createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
}

function isSigned(key: Buffer, headers: IncomingHttpHeaders, body: Buffer): boolean {
  const id = String(headers["webhook-id"] ?? "");
  const timestamp = String(headers["webhook-timestamp"] ?? "");
  if (id === "" || !/^[0-9]+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE) return false;
  const wanted = Buffer.from(sign(key, id, timestamp, body));
  return String(headers["webhook-signature"] ?? "")
    .split(" ")
    .map((given) => Buffer.from(given))
    .some((given) => given.length === wanted.length && timingSafeEqual(given, wanted));
}

function reply(response: ServerResponse, key: Buffer, id: string, status: number, answer: object): void {
  const body = Buffer.from(JSON.stringify(answer));
  const headers: Record<string, string | number> = { "Content-Type": "application/json", "Content-Length": body.length };
  if (id !== "") {
    // An answer repeats the id of its request.
    const timestamp = String(Math.floor(Date.now() / 1000));
    Object.assign(headers, { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": sign(key, id, timestamp, body) });
  }
  response.writeHead(status, headers).end(body);
}

const secret = process.env.PLUGIN_SECRET ?? "";
if (!secret.startsWith("whsec_")) {
  console.error("set PLUGIN_SECRET to whsec_ and the base64 of 32 random bytes");
  process.exit(1);
}
const key = Buffer.from(secret.slice("whsec_".length), "base64");
const [port = "9700", ledger = "pigeon-post.jsonl"] = process.argv.slice(2);
const carrier = new Carrier(ledger);

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  let size = 0;
  request.on("data", (part: Buffer) => {
    size += part.length;
    if (size <= LIMIT) parts.push(part);
  });
  request.on("end", () => {
    const body = Buffer.concat(parts);
    if (size > LIMIT || request.method !== "POST" || !isSigned(key, request.headers, body)) {
      return reply(response, key, "", 401, { error: { kind: "forbidden", message: "the signature is not valid" } });
    }
    const [status, answer] = answerTo(carrier, request.url ?? "", body);
    reply(response, key, String(request.headers["webhook-id"]), status, answer);
  });
});
server.listen(Number(port), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
