"""Buys labels for several orders at once, with the asynchronous client."""

import asyncio

from waybill import AsyncWaybill
from waybill.models import Shipment


async def main() -> None:
    async with AsyncWaybill() as waybill:

        async def buy(number: int) -> Shipment:
            return await waybill.shipments.create_and_wait(
                {
                    "orderId": f"ORD-{number}",
                    "destination": {
                        "name": "Ada Lovelace",
                        "address1": "500 Main St",
                        "city": "Austin",
                        "state": "TX",
                        "zip": "78701",
                        "country": "US",
                    },
                    "parcel": {"weight": 1 + number / 10},
                },
                idempotency_key=f"concurrent-{number}",
            )

        for shipment in await asyncio.gather(*(buy(number) for number in range(5))):
            print(shipment.order_id, shipment.tracking_number)


asyncio.run(main())
