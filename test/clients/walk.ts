// A new user's first hour in TypeScript, with openapi-fetch and the types that
// openapi-typescript makes of /openapi.json: rates, a shipment with customs and
// two parcels, its label, an error, a void, and a verified webhook.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import createClient from 'openapi-fetch'
import { Webhook } from 'standardwebhooks'

import type { components, operations, paths } from './.out/types'

const waybill = createClient<paths>({
  baseUrl: process.env.WAYBILL_URL!,
  headers: { Authorization: `Bearer ${process.env.WAYBILL_KEY}` },
})

const destination: components['schemas']['AddressInput'] = {
  name: 'Jan Jansen',
  address1: 'Damrak 1',
  city: 'Amsterdam',
  zip: '1012 LG',
  country: 'NL',
  phone: '+31 20 555 0100',
  email: 'jan@example.com',
  type: 'consumer',
}
const customs: components['schemas']['CustomsInput'] = {
  contentsType: 'merchandise',
  incoterm: 'DDP',
  signer: 'Ada Lovelace',
  taxIdentifiers: [{ type: 'ioss', number: 'IM2760000742' }],
  items: [{
    description: 'Cotton shirt',
    quantity: 2,
    value: { amount: '20.00', currency: 'USD' },
    weight: 0.5,
    hsCode: '610910',
    originCountry: 'PT',
    sku: 'SHIRT-M',
    productIdentifiers: [{ type: 'gtin', number: '4006381333931' }],
  }],
}

// Receive events.
const received: unknown[] = []
let secret = ''
const receiver = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const headers = request.headers as Record<string, string>
    const body = Buffer.concat(chunks)
    received.push(new Webhook(secret).verify(body, headers))
    assert.throws(() => new Webhook(secret).verify(body + ' ', headers), 'a changed body verifies')
    response.writeHead(204).end()
  })
})
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const port = (receiver.address() as AddressInfo).port
const webhook = await waybill.POST('/v1/webhooks', { body: { url: `http://127.0.0.1:${port}/hook`, events: ['*'] } })
assert.ok(webhook.data?.secret, JSON.stringify(webhook.error))
secret = webhook.data.secret

// Rates of all carriers.
const rates = await waybill.POST('/v1/rates', { body: { destination, parcels: [{ weight: 1 }, { weight: 2 }] } })
assert.ok(rates.data && rates.data.rates.length > 0, JSON.stringify(rates.error))

// A shipment of two parcels with a declaration.
const bought = await waybill.POST('/v1/shipments', {
  params: { header: { 'Idempotency-Key': `walk-ts-${Date.now()}` } },
  body: { orderId: 'TS-1', destination, customs, parcels: [{ weight: 1 }, { weight: 2 }], carrier: 'dhl_express' },
})
assert.ok(bought.data, JSON.stringify(bought.error))
assert.equal(bought.data.pieces?.length, 2)

// Its label, as bytes.
const label = await waybill.GET('/v1/labels/{id}.pdf', { params: { path: { id: bought.data.id } }, parseAs: 'arrayBuffer' })
assert.equal(Buffer.from(label.data!).subarray(0, 5).toString(), '%PDF-')

// An error says which field is wrong.
const refused = await waybill.POST('/v1/shipments', {
  body: { orderId: 'TS-2', destination: { ...destination, zip: '0' }, customs, parcel: { weight: 1 } },
})
assert.equal(refused.response.status, 422)
assert.ok(refused.error?.errors?.some((field) => field.pointer === '/destination/zip'), JSON.stringify(refused.error))

// What is not needed is voided.
const voided = await waybill.POST('/v1/shipments/{id}/void', { params: { path: { id: bought.data.id } } })
assert.equal(voided.data?.labelStatus, 'voided', JSON.stringify(voided.error))

for (let i = 0; received.length < 2 && i < 200; i++) await new Promise((resolve) => setTimeout(resolve, 50))
assert.ok(received.length >= 2, 'no signed event arrived')

// Every answer that is not a success has the type Problem.
type Problem = components['schemas']['Problem']
type Success = 200 | 201 | 202 | 204 | '2XX'
type WithoutProblem<Answers> = {
  [Status in keyof Answers]: Status extends Success
    ? never
    : Answers[Status] extends { content: { 'application/problem+json': Problem } } ? never : Status
}[keyof Answers]
type Untyped = {
  [Name in keyof operations]: [WithoutProblem<operations[Name]['responses']>] extends [never] ? never : Name
}[keyof operations]
const untyped: [Untyped] extends [never] ? 'none' : Untyped = 'none'
assert.equal(untyped, 'none')

// The compiler rejects each of these: a marked line without an error fails.
export function rejected(): void {
  const parcel = { weight: 1 }
  // @ts-expect-error: an order number is text
  void waybill.POST('/v1/shipments', { body: { orderId: 1, destination, parcel } })
  // @ts-expect-error: a destination is required
  void waybill.POST('/v1/shipments', { body: { orderId: '1', parcel } })
  // @ts-expect-error: not a unit
  void waybill.POST('/v1/shipments', { body: { orderId: '1', destination, parcel: { weight: 1, weightUnit: 'stone' } } })
  // @ts-expect-error: no such path
  void waybill.GET('/v1/shipment')
  // @ts-expect-error: a label is not text once it was fetched as bytes
  const text: string | undefined = label.data
  // @ts-expect-error: no such member of a shipment
  void bought.data?.trackingNumbr
  // @ts-expect-error: no such member of an error
  void refused.error?.cod
  // @ts-expect-error: a code is text
  const code: number | undefined = refused.error?.code
  void [text, code]
}
receiver.close()
receiver.closeAllConnections()
console.log('ok')
