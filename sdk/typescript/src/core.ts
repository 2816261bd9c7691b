// The transport: one call with its retries, its idempotency key and its errors.
import { APIError, errorOf, NetworkError, RequestTimeoutError, WaybillError } from './errors.js'

/** Version of the library. */
export const VERSION = '1.0.0'

/** Where "waybill dev" listens. */
const DEFAULT_URL = 'http://127.0.0.1:8080'

/** The part of fetch that is used; pass your own for tests, proxies and agents. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Settings of a client. */
export interface Options {
  /** API key. By default the environment variable WAYBILL_KEY. */
  key?: string | undefined
  /** Address of the service. By default WAYBILL_URL, or http://127.0.0.1:8080. */
  url?: string | undefined
  /** Time for one attempt, in milliseconds. 40,000 by default, longer than the service takes. */
  timeoutMs?: number | undefined
  /** Attempts of one call, the first included. 4 by default; 1 never retries. */
  maxAttempts?: number | undefined
  /** Longest wait between two attempts, in milliseconds. 30,000 by default. If the service asks for more, the call fails at once. */
  maxWaitMs?: number | undefined
  /** In front of the library's own User-Agent. */
  userAgent?: string | undefined
  /** Used instead of the global fetch. */
  fetch?: Fetch | undefined
  /** API keys are secret: the client refuses to run in a browser unless this is true. */
  dangerouslyAllowBrowser?: boolean | undefined
}

/** Settings of one call; the last argument of every method. */
export interface CallOptions {
  /**
   * Makes a call that has an effect safe to repeat, also by another process or
   * after a crash: the response of the first call is returned, and nothing is
   * done again. Without it each call makes a key of its own, which covers the
   * retries of that call.
   */
  idempotencyKey?: string | undefined
  timeoutMs?: number | undefined
  maxAttempts?: number | undefined
  /** Ends the call, retries included. */
  signal?: AbortSignal | undefined
  /** Further headers. */
  headers?: Record<string, string> | undefined
  /** Is called with the response that the call returns or throws for. */
  onResponse?: ((response: ResponseInfo) => void) | undefined
}

/** What a response says besides its body. */
export interface ResponseInfo {
  status: number
  headers: Headers
  /** Identifier of the request in the service's log. */
  requestId: string | null
  /** True if it is the response of an earlier call with the same idempotency key. */
  replayed: boolean
  /** How many attempts it took. */
  attempts: number
}

/** A file to send. */
export interface FileBody {
  data: Uint8Array | Blob | string
  contentType: string
}

/** One operation, over all its attempts. */
export interface Call {
  method: string
  path: string
  query?: Record<string, unknown>
  body?: unknown
  file?: FileBody | undefined
  keyed?: boolean
}

/** One page of a list. */
export interface Page<T> {
  data: T[]
  /** Continues behind the page; null on the last one. */
  nextCursor: string | null
}

export class Core {
  readonly url: string
  readonly #key: string
  readonly #fetch: Fetch
  readonly #timeoutMs: number
  readonly #maxAttempts: number
  readonly #maxWaitMs: number
  readonly #userAgent: string

  constructor(options: Options) {
    if (isBrowser() && !options.dangerouslyAllowBrowser) {
      throw new WaybillError('API keys are secret, and this page would show its key to every visitor. Call Waybill from your server.')
    }
    const key = options.key ?? environment('WAYBILL_KEY')
    if (!key) {
      throw new WaybillError('An API key is required: new Waybill({ key: "sk_test_..." }), or set WAYBILL_KEY.')
    }

    this.#key = key
    this.url = (options.url ?? environment('WAYBILL_URL') ?? DEFAULT_URL).replace(/\/+$/, '')
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init))
    this.#timeoutMs = options.timeoutMs ?? 40_000
    this.#maxAttempts = options.maxAttempts ?? 4
    this.#maxWaitMs = options.maxWaitMs ?? 30_000
    this.#userAgent = `${options.userAgent ?? ''} waybill-typescript/${VERSION} (${runtime()})`.trim()
  }

  async json<T>(call: Call, options: CallOptions = {}): Promise<T> {
    const { body } = await this.send(call, options)
    try {
      return JSON.parse(new TextDecoder().decode(body)) as T
    } catch (cause) {
      throw new WaybillError(`The response to ${call.method} ${call.path} is not JSON.`, { cause })
    }
  }

  async bytes(call: Call, options: CallOptions = {}): Promise<Uint8Array> {
    return (await this.send(call, options)).body
  }

  async empty(call: Call, options: CallOptions = {}): Promise<void> {
    await this.send(call, options)
  }

  /**
   * Sends the request until there is a final answer. Every attempt is the same
   * request, idempotency key included: what an attempt has done without its
   * answer reaching us is not done again.
   */
  async send(call: Call, options: CallOptions): Promise<{ info: ResponseInfo; body: Uint8Array }> {
    const given = lowerCased(options.headers)
    const idempotencyKey = options.idempotencyKey ?? given['idempotency-key'] ?? (call.keyed ? `auto-${crypto.randomUUID()}` : undefined)
    const request = this.#request(call, given, idempotencyKey)
    const maxAttempts = options.maxAttempts ?? this.#maxAttempts

    for (let attempt = 1; ; attempt++) {
      let info: ResponseInfo | undefined
      try {
        const received = await this.#attempt(call, request, options, attempt)
        info = received.info
        if (received.error) throw received.error
        options.onResponse?.(info)
        return { info, body: received.body }
      } catch (error) {
        if (!(error instanceof WaybillError)) throw error
        error.attempts = attempt
        error.idempotencyKey = idempotencyKey

        const limit = isPreparing(error) && maxAttempts > 1 ? Math.max(maxAttempts, maxPreparing) : maxAttempts
        const wait = attempt < limit ? this.#waitAfter(error, attempt) : undefined
        if (wait === undefined) {
          // An attempt that got no response has none to report.
          if (info) options.onResponse?.(info)
          throw error
        }
        await sleep(wait, options.signal)
      }
    }
  }

  #request(call: Call, given: Record<string, string>, idempotencyKey: string | undefined): { url: string; init: RequestInit } {
    const headers: Record<string, string> = {
      ...given,
      authorization: `Bearer ${this.#key}`,
      'user-agent': this.#userAgent,
    }
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey

    // A POST that is redirected becomes a GET, whose response would be taken for
    // that of the POST: nothing would be done, and there would be no error.
    const init: RequestInit = { method: call.method, headers, redirect: 'manual' }
    if (call.file !== undefined) {
      headers['content-type'] = call.file.contentType
      init.body = call.file.data as BodyInit
    } else if (call.body !== undefined) {
      headers['content-type'] = 'application/json'
      init.body = JSON.stringify(call.body)
    }

    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue
      query.set(name, value instanceof Date ? value.toISOString() : String(value))
    }
    const search = query.toString()
    return { url: this.url + call.path + (search && `?${search}`), init }
  }

  async #attempt(call: Call, request: { url: string; init: RequestInit }, options: CallOptions, attempt: number) {
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new RequestTimeoutError(`${call.method} ${call.path} took longer than ${timeoutMs} ms.`)), timeoutMs)
    const abort = () => controller.abort(options.signal?.reason)
    options.signal?.addEventListener('abort', abort)

    let response: Response
    let body: Uint8Array
    try {
      options.signal?.throwIfAborted()
      response = await this.#fetch(request.url, { ...request.init, signal: controller.signal })
      body = new Uint8Array(await response.arrayBuffer())
    } catch (cause) {
      // The caller's own reason is thrown as it is: it ended the call.
      if (options.signal?.aborted) throw options.signal.reason
      if (controller.signal.reason instanceof RequestTimeoutError) throw controller.signal.reason
      throw new NetworkError(`${call.method} ${call.path} got no complete response: ${describe(cause)}`, { cause })
    } finally {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', abort)
    }

    const info: ResponseInfo = {
      status: response.status,
      headers: response.headers,
      requestId: response.headers.get('request-id'),
      replayed: response.headers.get('idempotent-replayed') === 'true',
      attempts: attempt,
    }
    const error = response.ok ? undefined : errorOf(response.status, response.headers, body)
    return { info, body, error }
  }

  /** How long to wait before the next attempt, in milliseconds; undefined if another attempt cannot help. */
  #waitAfter(error: WaybillError, attempt: number): number | undefined {
    if (!error.isTemporary) return undefined

    // The random part spreads out clients that failed together.
    const shortest = isPreparing(error) ? 0 : 100 * 2 ** Math.min(attempt - 1, 10)
    const wait = Math.min(shortest * (1 + Math.random()), this.#maxWaitMs)

    // A request that comes before the time that the service asks for would fail
    // again, and only add to its load.
    const asked = error.retryAfterMs ?? 0
    return asked > this.#maxWaitMs ? undefined : Math.max(wait, asked)
  }
}

/**
 * A file of many labels is prepared in the background. It is asked for until it
 * is there, a quarter of an hour at the pace that the service asks for.
 */
const maxPreparing = 450

function isPreparing(error: WaybillError): boolean {
  return error instanceof APIError && error.code === 'labels_preparing'
}

/**
 * A list. Iterate over it to get every element, page by page, or call page()
 * for one page.
 *
 *     for await (const shipment of waybill.shipments.list({ status: 'delivered' })) { ... }
 */
export class Pages<T> implements AsyncIterable<T> {
  readonly #core: Core
  readonly #call: Call
  readonly #options: CallOptions
  readonly #paging: { cursor: string; items: string }

  constructor(core: Core, call: Call, options: CallOptions, paging: { cursor: string; items: string }) {
    this.#core = core
    this.#call = call
    this.#options = options
    this.#paging = paging
  }

  /** Fetches one page: that of the parameters, or the one at the cursor. */
  async page(cursor?: string): Promise<Page<T>> {
    const query = { ...this.#call.query }
    if (cursor !== undefined) query[this.#paging.cursor] = cursor
    const answer = await this.#core.json<Record<string, unknown>>({ ...this.#call, query }, this.#options)
    return {
      data: (answer[this.#paging.items] ?? []) as T[],
      nextCursor: (answer['nextCursor'] ?? null) as string | null,
    }
  }

  /** Fetches all elements, or the first ones up to the limit. */
  async toArray(limit = Infinity): Promise<T[]> {
    const all: T[] = []
    if (limit <= 0) return all
    for await (const element of this) {
      all.push(element)
      if (all.length >= limit) break
    }
    return all
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    let cursor: string | undefined
    for (;;) {
      const page = await this.page(cursor)
      yield* page.data

      // A log always has a cursor to continue with; it ends with an empty page.
      const isLog = this.#paging.cursor === 'after'
      if (page.nextCursor === null || this.#paging.cursor === '' || (isLog && page.data.length === 0)) return
      cursor = page.nextCursor
    }
  }
}

/**
 * Headers with their names in lower case. fetch joins the values of names that
 * differ in case only: two idempotency keys would become a third one.
 */
function lowerCased(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Waits, or throws the reason of the signal. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

function describe(cause: unknown): string {
  // fetch hides the reason of a failed connection one level down.
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
  return inner instanceof Error ? inner.message || inner.name : String(inner)
}

// What runtimes provide is looked up at run time, so no runtime is required.
interface Runtime {
  process?: { env?: Record<string, string | undefined>; versions?: Record<string, string | undefined> }
  navigator?: { userAgent?: string }
  document?: unknown
  window?: unknown
}
const here = globalThis as unknown as Runtime

function environment(name: string): string | undefined {
  // Deno asks for permission, and throws if it is denied.
  try {
    return here.process?.env?.[name] || undefined
  } catch {
    return undefined
  }
}

function isBrowser(): boolean {
  return here.window !== undefined && here.document !== undefined
}

function runtime(): string {
  const versions = here.process?.versions
  if (versions?.['bun']) return `bun/${versions['bun']}`
  if (versions?.['deno']) return `deno/${versions['deno']}`
  if (versions?.['node']) return `node/${versions['node']}`
  return here.navigator?.userAgent?.split(' ')[0] ?? 'unknown'
}
