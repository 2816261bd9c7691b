// Compares rates, buys the cheapest one that arrives within three days, and
// lists what was shipped to the customer before.
import { ValidationError, Waybill } from '@waybill/sdk'

const waybill = new Waybill()
const destination = { name: 'Ada Lovelace', address1: '500 Main St', city: 'Austin', state: 'TX', zip: '78701', country: 'US' }
const parcel = { weight: 4.2, weightUnit: 'lb' }

const { rates, errors } = await waybill.rates.quote({ destination, parcel })
for (const error of errors) console.warn(`${error.carrier} has no rate: ${error.message}`)

const rate = rates.find((offer) => (offer.transitDays ?? Infinity) <= 3)
if (!rate?.id) throw new Error('nothing arrives within three days')

try {
  const shipment = await waybill.shipments.create(
    { orderId: 'ORD-1002', destination, parcel, rateId: rate.id },
    { idempotencyKey: 'order-ORD-1002' },
  )
  console.log(`${shipment.trackingNumber} by ${rate.serviceName}, ${rate.amount} ${rate.currency}`)
} catch (error) {
  if (!(error instanceof ValidationError)) throw error
  // Run again, this prints the same shipment. If another offer is the cheapest by
  // then, the key belongs to the first one: the error names its shipment.
  console.error(error.message)
  for (const field of error.errors) console.error(`${field.pointer}: ${field.detail}`)
}

for await (const shipment of waybill.shipments.list({ query: 'lovelace', limit: 50 })) {
  console.log(shipment.id, shipment.status)
}
