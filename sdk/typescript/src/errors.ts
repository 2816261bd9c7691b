import type { ErrorCode, FieldProblem, Open, Problem } from './generated/types.js'

/** The base of everything that this library throws. */
export class WaybillError extends Error {
  /** How many attempts were made. */
  attempts = 0
  /** The key of the call: repeat the call with it to learn what became of it. */
  idempotencyKey: string | undefined
  /** How long the service asks to wait, in milliseconds. */
  retryAfterMs: number | undefined

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }

  /** Whether the same call may succeed later. The client has already retried it. */
  get isTemporary(): boolean {
    return false
  }
}

/**
 * No complete response arrived. A call with an effect may have been carried out:
 * repeat it with the same idempotencyKey.
 */
export class NetworkError extends WaybillError {
  override get isTemporary(): boolean {
    return true
  }
}

/** No response arrived in time. */
export class RequestTimeoutError extends NetworkError {}

/** The service answered with an error. Decide by code. */
export class APIError extends WaybillError {
  /** HTTP status. */
  readonly status: number
  /** Stable code, such as validation_failed; http_502 if the response is not from the service. */
  readonly code: ErrorCode
  /** What happened, and what to do next. */
  readonly detail: string
  readonly requestId: string | undefined
  /** Where the error must be fixed. */
  readonly source: Open<'client' | 'service' | 'carrier'> | undefined
  /** Whether the service says that the same request may succeed later. */
  readonly retryable: boolean
  readonly carrier: string | undefined
  readonly carrierCode: string | undefined
  readonly carrierMessage: string | undefined
  /** What is wrong with the request, field by field. */
  readonly errors: FieldProblem[]
  readonly headers: Headers
  /** The body as it was received, with members that are not above. */
  readonly body: unknown

  constructor(status: number, headers: Headers, body: unknown) {
    const problem = (typeof body === 'object' && body !== null ? body : {}) as Partial<Problem>
    const code = problem.code ?? `http_${status}`
    const requestId = problem.requestId ?? headers.get('request-id') ?? undefined
    const fields = (problem.errors ?? []).map((field) => `${field.pointer ?? field.parameter ?? ''} ${field.detail}`)

    const detail = problem.detail ?? redirectDetail(status, headers)

    let message = `${status} ${code}`
    if (detail) message += `: ${detail}`
    if (fields.length > 0) message += `; ${fields.join(', ')}`
    if (requestId) message += ` (${requestId})`
    super(message)

    this.status = status
    this.code = code
    this.detail = detail
    this.requestId = requestId
    this.source = problem.source
    this.retryable = problem.retryable ?? false
    this.carrier = problem.carrier
    this.carrierCode = problem.carrierCode
    this.carrierMessage = problem.carrierMessage
    this.errors = problem.errors ?? []
    this.headers = headers
    this.body = body
    this.retryAfterMs = retryAfter(headers)
  }

  override get isTemporary(): boolean {
    return [429, 502, 503, 504].includes(this.status) || (this.status === 409 && this.code === 'idempotency_in_progress')
  }
}

/** The key is missing, wrong, or lacks a right: 401 and 403. */
export class AuthError extends APIError {}
/** There is no such thing, or it belongs to another account: 404 and 410. */
export class NotFoundError extends APIError {}
/** Something is not in a state that allows the call: 409. */
export class ConflictError extends APIError {}
/** The request is wrong; errors lists the fields: 400, 413, 415 and 422. */
export class ValidationError extends APIError {}
/** Too many requests: 429. */
export class RateLimitError extends APIError {}
/** A carrier refused or is not available. */
export class CarrierError extends APIError {}

/** Reads a response that is an error. */
export function errorOf(status: number, headers: Headers, bytes: Uint8Array): APIError {
  const text = new TextDecoder().decode(bytes)
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {
    // It is from a proxy, not from the service.
  }
  return new (classOf(status, body))(status, headers, body)
}

function classOf(status: number, body: unknown): typeof APIError {
  if (status === 401 || status === 403) return AuthError
  if (status === 404 || status === 410) return NotFoundError
  if (status === 429) return RateLimitError
  if ((body as Partial<Problem> | null)?.source === 'carrier') return CarrierError
  if (status === 409) return ConflictError
  if (status === 400 || status === 413 || status === 415 || status === 422) return ValidationError
  return APIError
}

/** Reads Retry-After, which is a number of seconds or a date. */
function retryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  if (!text) return undefined
  if (/^\d+$/.test(text)) return Number(text) * 1000

  // A date is read against the sender's clock, which may differ from ours.
  const at = Date.parse(text)
  const sent = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(at)) return undefined
  return Math.max(at - (Number.isNaN(sent) ? Date.now() : sent), 0)
}

/** What to do about a redirect; it is never followed. */
function redirectDetail(status: number, headers: Headers): string {
  const location = headers.get('location')
  return location && status < 400 ? `the service redirects to ${location}; set its URL to that address` : ''
}
