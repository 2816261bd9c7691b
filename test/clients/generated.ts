// The client that @hey-api/openapi-ts generates from /openapi.json: a function
// for each operation, a typed body, the label as a Blob, and typed errors. It is
// compiled, then run.
import assert from 'node:assert/strict'

import { createShipment, getLabelPdf, type Problem, type Shipment, type ShipmentInput } from './.out/hey'
import { client } from './.out/hey/client.gen'
import type * as sdk from './.out/hey/sdk.gen'

client.setConfig({ baseUrl: process.env.WAYBILL_URL!, headers: { Authorization: `Bearer ${process.env.WAYBILL_KEY}` } })

const order: ShipmentInput = {
  orderId: 'HEY-1',
  destination: { name: 'Jane Doe', address1: '350 5th Avenue', city: 'New York', state: 'NY', zip: '10118', country: 'US' },
  parcel: { weight: 2.5 },
}
const bought = await createShipment({ body: order })
const shipment: Shipment | undefined = bought.data
assert.ok(shipment?.trackingNumber, JSON.stringify(bought.error))

const label = await getLabelPdf({ path: { id: shipment.id } })
const file: Blob | undefined = label.data
assert.equal((await file!.text()).slice(0, 5), '%PDF-')

const refused = await createShipment({ body: { ...order, orderId: '' } })
const problem: Problem | undefined = refused.error
assert.equal(problem?.code, 'validation_failed')
assert.equal(problem?.errors?.[0]?.pointer, '/orderId')

const missing = await getLabelPdf({ path: { id: 'shp_01J00000000000000000000000' } })
assert.equal(missing.error?.code, 'shipment_not_found')

// Every operation gives its errors the type Problem.
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
type ErrorOf<Operation> = Operation extends (...options: never[]) => infer Answer
  ? NonNullable<Extract<Awaited<Answer>, { error: unknown }>['error']>
  : 'no function'
type Untyped = {
  [Name in keyof typeof sdk]: Equal<ErrorOf<(typeof sdk)[Name]>, Problem> extends true ? never : Name
}[keyof typeof sdk]
const untyped: [Untyped] extends [never] ? 'none' : Untyped = 'none'
assert.equal(untyped, 'none')

// The compiler rejects each of these: a marked line without an error fails.
export function rejected(): void {
  // @ts-expect-error: an order number is text
  void createShipment({ body: { ...order, orderId: 1 } })
  // @ts-expect-error: a destination is required
  void createShipment({ body: { orderId: '1', parcel: { weight: 1 } } })
  // @ts-expect-error: a body is required
  void createShipment({})
  // @ts-expect-error: a weight is a number
  void createShipment({ body: { ...order, parcel: { weight: '2.5' } } })
  // @ts-expect-error: not a unit
  void createShipment({ body: { ...order, parcel: { weight: 2.5, weightUnit: 'stone' } } })
  // @ts-expect-error: no such member
  void createShipment({ body: { ...order, postcode: '10118' } })
  // @ts-expect-error: not a size of labels
  void getLabelPdf({ path: { id: 'shp_1' }, query: { size: '5x7' } })
  // @ts-expect-error: a label is no text
  const text: string | undefined = label.data
  // @ts-expect-error: no such member of a shipment
  void shipment?.trackingNumbr
  // @ts-expect-error: no such member of an error
  void refused.error?.cod
  // @ts-expect-error: a code is text
  const code: number | undefined = refused.error?.code
  void [text, code]
}
console.log('ok')
