// Makes the calls of scenarios with @waybill/sdk: one order a line on standard
// input, one outcome a line on standard output.
import { createInterface } from 'node:readline'

import { Waybill } from '@waybill/sdk'

let info

async function run(order) {
  info = undefined
  const { everyMs, take, ...callOptions } = order.options ?? {}
  const waybill = new Waybill({ url: order.url, key: order.key, ...settings(order.client) })
  const [resource, method] = order.call.split('.')
  const args = [...order.args]

  if (method !== 'verify') {
    if (order.params) args.push(order.params)
    // The options come last, behind a body or parameters that are left out.
    const target = waybill[resource][method]
    while (args.length < signature(target) - 1) args.push(undefined)
    args.push({ ...callOptions, ...(everyMs && { everyMs }), onResponse: (response) => { info = response } })
  }

  let result = waybill[resource][method](...args)
  if (result && typeof result.toArray === 'function') result = order.page ? result.page() : result.toArray()
  if (take) result = first(result, take)
  result = await result
  if (result instanceof Uint8Array) result = { bytes: Buffer.from(result.subarray(0, 8)).toString('latin1') }
  return { result: result ?? null, info: seen() }
}

/** What the last response says. */
function seen() {
  return info && { replayed: info.replayed, attempts: info.attempts }
}

/** The first elements of an iterator that does not end. */
async function first(elements, count) {
  const out = []
  for await (const element of elements) {
    out.push(element)
    if (out.length === count) return out
  }
  return out
}

function settings(client) {
  const { key, ...others } = client ?? {}
  return others
}

/** How many parameters a method has, those with a default included. */
function signature(method) {
  const [, list] = /^[^(]*\(([^)]*)\)/.exec(method.toString())
  return list.split(',').filter((name) => name.trim()).length
}

function describe(error) {
  return {
    class: error.constructor.name,
    message: error.message,
    status: error.status,
    code: error.code,
    detail: error.detail,
    requestId: error.requestId,
    source: error.source,
    carrier: error.carrier,
    carrierCode: error.carrierCode,
    retryAfterMs: error.retryAfterMs,
    pointers: error.errors?.map((field) => field.pointer),
    reason: error.reason,
    attempts: error.attempts,
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let outcome
  try {
    outcome = await run(JSON.parse(line))
  } catch (error) {
    outcome = { error: describe(error), info: seen() }
  }
  process.stdout.write(JSON.stringify(outcome) + '\n')
}
