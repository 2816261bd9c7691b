// Ships an order again: the addresses, parcels and customs of a shipment, bought
// as a new one. If the carrier is slow, it waits for the label.
import { Waybill } from '@waybill/sdk'

const waybill = new Waybill()
const [latest] = await waybill.shipments.list({ limit: 1 }).toArray(1)
if (!latest) throw new Error('there is no shipment yet')

const order = await waybill.shipments.duplicate(latest.id)
const again = await waybill.shipments.createAndWait(order, { waitMs: 60_000 })
console.log(again.id, again.labelStatus, again.possibleDuplicateOf)
