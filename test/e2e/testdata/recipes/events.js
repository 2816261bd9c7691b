import { appendFileSync } from 'node:fs'

export async function handleEvent(event) {
  appendFileSync(process.env.EVENTS, JSON.stringify(event) + '\n')
}
