import { WaybillError } from './errors.js'
import type { Event } from './generated/types.js'

/** Why a webhook is rejected. Respond with 400; the service sends it again later. */
export class WebhookVerificationError extends WaybillError {
  readonly reason: 'headers' | 'timestamp' | 'signature' | 'secret' | 'body'

  constructor(reason: WebhookVerificationError['reason'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** Headers of a request: of fetch, of Node's http, or a plain object. */
export type WebhookHeaders = Headers | Iterable<readonly [string, string]> | Record<string, string | readonly string[] | undefined>

export interface VerifyOptions {
  /** How far the clocks of the service and the receiver may differ, in seconds. 300 by default. */
  toleranceSeconds?: number | undefined
  /** The current time, for tests. */
  now?: Date | undefined
}

/**
 * Checks that a request comes from the service and returns its event, as
 * Standard Webhooks describes. The body must be the very bytes that were
 * received, not JSON that was parsed and written again.
 *
 * The secret is that of the webhook (whsec_...) or its public key (whpk_...). It
 * can be several, with commas or spaces between; a signature by one of them is
 * enough, so a receiver can accept the old and the new one during a rotation.
 *
 * An event can be delivered twice: store its id and skip those that you have seen.
 */
export async function verifyWebhook(
  secret: string,
  headers: WebhookHeaders,
  body: string | Uint8Array | ArrayBuffer,
  options: VerifyOptions = {},
): Promise<Event> {
  const keys = parseKeys(secret)

  const id = header(headers, 'webhook-id')
  const timestamp = header(headers, 'webhook-timestamp')
  const signatures = header(headers, 'webhook-signature')
  if (!id || !signatures || !timestamp || !/^-?\d{1,15}$/.test(timestamp)) {
    throw new WebhookVerificationError('headers', 'A header of the webhook is missing or malformed.')
  }

  const tolerance = options.toleranceSeconds ?? 300
  const age = (options.now ?? new Date()).getTime() / 1000 - Number(timestamp)
  if (Math.abs(age) > tolerance) {
    throw new WebhookVerificationError('timestamp', `The webhook was sent more than ${tolerance} seconds ago, or in the future.`)
  }

  // The id and the time are signed too: neither can be changed to replay a
  // request. The body is parsed only once it is verified.
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body)
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`)
  const message = new Uint8Array(prefix.length + bytes.length)
  message.set(prefix)
  message.set(bytes, prefix.length)

  for (const text of signatures.split(/\s+/)) {
    const [version, encoded] = text.split(',', 2)
    const signature = decodeBase64(encoded ?? '')
    if (!signature) continue
    for (const key of keys) {
      if (key.version === version && (await isSigned(key, signature, message))) return parseEvent(bytes)
    }
  }
  throw new WebhookVerificationError('signature', 'Webhook signature does not match the secret.')
}

interface Key {
  version: 'v1' | 'v1a'
  bytes: Uint8Array<ArrayBuffer>
}

function parseKeys(secret: string): Key[] {
  const keys = secret.split(/[\s,]+/).filter(Boolean).map((text): Key => {
    const isPublic = text.startsWith('whpk_')
    const bytes = decodeBase64(text.replace(/^(whpk_|whsec_)/, ''))
    if (!bytes || bytes.length === 0 || (isPublic && bytes.length !== 32)) {
      // The text itself stays out of the message: it is a secret.
      throw new WebhookVerificationError('secret', 'A secret of the webhook must be whsec_ or whpk_ and base64.')
    }
    return { version: isPublic ? 'v1a' : 'v1', bytes }
  })
  if (keys.length === 0) throw new WebhookVerificationError('secret', 'The secret of the webhook is empty.')
  return keys
}

async function isSigned(key: Key, signature: Uint8Array<ArrayBuffer>, message: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const algorithm = key.version === 'v1' ? { name: 'HMAC', hash: 'SHA-256' } : { name: 'Ed25519' }
  const imported = await crypto.subtle.importKey('raw', key.bytes, algorithm, false, ['verify'])
  return crypto.subtle.verify(algorithm.name, imported, signature, message)
}

function parseEvent(bytes: Uint8Array): Event {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as Event
  } catch (cause) {
    throw new WebhookVerificationError('body', 'The body of the webhook is not JSON.', { cause })
  }
}

function header(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const entries = Symbol.iterator in headers ? headers : Object.entries(headers)
  for (const [key, value] of entries) {
    if (key.toLowerCase() === name && value !== undefined) return typeof value === 'string' ? value : value[0]
  }
  return undefined
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  // atob also accepts text without padding and with spaces.
  if (text.length % 4 !== 0 || /\s/.test(text)) return undefined
  try {
    const binary = atob(text)
    const bytes = new Uint8Array(binary.length)
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
    return bytes
  } catch {
    return undefined
  }
}
