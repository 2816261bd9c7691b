// The TypeScript library of Waybill: typed requests and responses, retries that
// never do a thing twice, and iterators over pages. It has no dependencies.
import { type CallOptions, Core, type Options, sleep } from './core.js'
import * as generated from './generated/resources.js'
import type { Event, Shipment, ShipmentInput } from './generated/types.js'
import { verifyWebhook } from './webhook.js'

export { type CallOptions, type FileBody, type Options, type Page, Pages, type ResponseInfo, VERSION } from './core.js'
export * from './errors.js'
export type * from './generated/types.js'
export type * from './generated/resources.js'
export { type VerifyOptions, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './webhook.js'

export class Shipments extends generated.ShipmentsResource {
  /**
   * Creates a shipment and waits until its label is there or has failed. A
   * carrier that does not answer within 20 seconds leaves the purchase pending;
   * this asks for the outcome until waitMs (two minutes by default) have passed,
   * and then returns the shipment as it is.
   */
  async createAndWait(body: ShipmentInput, options: CallOptions & { waitMs?: number; everyMs?: number } = {}): Promise<Shipment> {
    const end = Date.now() + (options.waitMs ?? 120_000)
    let shipment = await this.create(body, options)
    while (shipment.labelStatus === 'pending' && Date.now() < end) {
      await sleep(options.everyMs ?? 1000, options.signal)
      shipment = await this.get(shipment.id, { signal: options.signal })
    }
    return shipment
  }
}

export class Events extends generated.EventsResource {
  /**
   * Iterates over the log, and at its end waits for new events: it asks again
   * after everyMs. It ends when the signal is aborted. cursor is where to
   * continue after the event: a reader that starts there may see a few events
   * again, and misses none.
   */
  async *follow(
    params: generated.ListEventsParams = {},
    options: CallOptions & { everyMs?: number } = {},
  ): AsyncGenerator<Event & { cursor: string | undefined }> {
    let after = params.after
    while (!options.signal?.aborted) {
      const page = await this.list({ ...params, after }, options).page()
      const next = page.nextCursor ?? after
      for (const [i, event] of page.data.entries()) {
        // The service gives a cursor for the whole page: an event within it continues at the page's beginning.
        yield { ...event, cursor: i === page.data.length - 1 ? next : after }
      }
      after = next
      if (page.data.length === 0) await sleep(options.everyMs ?? 1000, options.signal)
    }
  }
}

export class Webhooks extends generated.WebhooksResource {
  /** Checks that a request comes from the service and returns its event; see verifyWebhook. */
  readonly verify = verifyWebhook
}

/**
 * Calls the service with one API key.
 *
 *     const waybill = new Waybill({ key: 'sk_test_...', url: 'https://ship.example.com' })
 *     const shipment = await waybill.shipments.create({ orderId: 'A-1', destination, parcel: { weight: 2 } })
 */
export class Waybill extends generated.Resources {
  override readonly shipments: Shipments
  override readonly events: Events
  override readonly webhooks: Webhooks

  constructor(options: Options = {}) {
    super(new Core(options))
    this.shipments = new Shipments(this.core)
    this.events = new Events(this.core)
    this.webhooks = new Webhooks(this.core)
  }

  /** Address of the service. */
  get url(): string {
    return this.core.url
  }

  /**
   * Makes any request of the API, such as request('GET', '/v1/events?limit=5'),
   * and returns the body of its response.
   */
  request<T = unknown>(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    return this.core.json<T>({ method, path, body, keyed: method === 'POST' }, options)
  }
}
