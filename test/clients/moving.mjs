// The first example of the official library's README, and what an integration does next. The
// library is the published one, unchanged; only the base address and the key differ.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import EasyPostClient from '@easypost/api';

const base = process.env.WAYBILL_URL + '/v2/';
const client = new EasyPostClient(process.env.WAYBILL_KEY, { baseUrl: base });

const from_address = {
  street1: '417 MONTGOMERY ST',
  street2: 'FLOOR 5',
  city: 'SAN FRANCISCO',
  state: 'CA',
  zip: '94104',
  country: 'US',
  company: 'EasyPost',
  phone: '415-123-4567',
};
const to_address = {
  name: 'Dr. Steve Brule',
  street1: '179 N Harbor Dr',
  city: 'Redondo Beach',
  state: 'CA',
  zip: '90277',
  country: 'US',
  phone: '4155559999',
};
const parcel = { length: 8, width: 5, height: 5, weight: 5 };

const fetched = async (url) => Buffer.from(await (await fetch(url)).arrayBuffer());
const fails = async (call) => {
  try {
    await call();
  } catch (error) {
    return error;
  }
  assert.fail('no error');
};

// Events are verified with the library's own verifier.
const secret = 'sécret';
const events = [];
const receiver = http.createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    events.push(client.Utils.validateWebhook(Buffer.concat(parts), request.headers, secret));
    response.end();
    receiver.emit('event');
  });
});
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const webhook = await client.Webhook.create({ url: `http://127.0.0.1:${receiver.address().port}/hook`, webhook_secret: secret });
const received = once(receiver, 'event');

// The README: create, choose the lowest rate, buy.
const shipment = await client.Shipment.create({ from_address, to_address, parcel });
assert.ok(shipment.rates.length > 0);
const bought = await client.Shipment.buy(shipment.id, shipment.lowestRate());
assert.equal(bought.id, shipment.id);
assert.ok(bought.tracking_code && bought.postage_label.label_url);
assert.equal((await fetched(bought.postage_label.label_url)).subarray(1, 4).toString(), 'PNG');

await received;
assert.equal(events[0].description, 'tracker.created');
assert.equal(events[0].result.tracking_code, bought.tracking_code);

// A client that has lost the answer buys again: it is the same label.
const again = await client.Shipment.buy(shipment.id, shipment.lowestRate());
assert.equal(again.tracking_code, bought.tracking_code);
const dearest = shipment.rates.reduce((a, b) => (Number(a.rate) > Number(b.rate) ? a : b));
assert.equal((await fails(() => client.Shipment.buy(shipment.id, dearest))).code, 'SHIPMENT.POSTAGE.EXISTS');

assert.equal((await client.Shipment.retrieve(shipment.id)).tracking_code, bought.tracking_code);
const converted = await client.Shipment.convertLabelFormat(shipment.id, 'ZPL');
assert.equal((await fetched(converted.postage_label.label_zpl_url)).subarray(0, 3).toString(), '^XA');

const refunded = await client.Shipment.refund(shipment.id);
assert.equal(refunded.refund_status, 'submitted');

const address = await client.Address.create(to_address);
assert.equal((await client.Address.retrieve(address.id)).street1, to_address.street1);
const checked = await client.Address.create({ ...to_address, verify: true });
assert.equal(typeof checked.verifications.delivery.success, 'boolean');

const tracker = await client.Tracker.create({ tracking_code: 'EZ2000000002', carrier: 'USPS' });
assert.equal(tracker.status, 'in_transit');
assert.ok((await client.Tracker.all({ page_size: 5 })).trackers.some((one) => one.id === tracker.id));

const other = await client.Shipment.create({ from_address: { id: address.id }, to_address, parcel });
await client.Shipment.buy(other.id, other.lowestRate(['USPS']));
const first = await client.Shipment.all({ page_size: 1 });
assert.ok(first.has_more);
const second = await client.Shipment.getNextPage(first, 1);
assert.equal(second.shipments.length, 1);

assert.equal((await fails(() => client.Shipment.retrieve('shp_00000000000000000000000000'))).statusCode, 404);
assert.equal((await fails(() => client.Shipment.create({ to_address }))).statusCode, 422);
assert.equal((await fails(() => client.Order.retrieve('order_1'))).code, 'NOT_FOUND');
const stranger = new EasyPostClient('sk_test_nobody', { baseUrl: base });
assert.equal((await fails(() => stranger.Shipment.all())).statusCode, 401);

await client.Webhook.delete(webhook.id);
receiver.close();
console.log('ok');
