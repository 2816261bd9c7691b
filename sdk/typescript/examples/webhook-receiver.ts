// A receiver of webhooks for every runtime with the fetch API: Deno and Bun run it
// as it is ("bun examples/webhook-receiver.ts"), Cloudflare Workers deploy it.
import { verifyWebhook, WebhookVerificationError } from '@waybill/sdk'

interface Environment {
  WEBHOOK_SECRET: string
}

export default {
  async fetch(request: Request, env: Environment): Promise<Response> {
    try {
      // The text as it was received: JSON that is parsed and written again differs.
      const event = await verifyWebhook(env.WEBHOOK_SECRET, request.headers, await request.text())
      console.log(event.type, event.data.shipment?.orderId ?? event.data.tracker?.trackingNumber)
      return new Response(null, { status: 204 })
    } catch (error) {
      if (error instanceof WebhookVerificationError) return new Response(error.message, { status: 400 })
      throw error
    }
  },
}
