// Reads requests as JSON lines {secret, headers, body, valid} and has two
// libraries verify each. The body is base64. Prints how many each accepted and
// refused; exits with 1 if one of them disagrees with what is expected.
'use strict'

const libraries = {
  standardwebhooks: require('standardwebhooks').Webhook,
  svix: require('svix').Webhook,
}
const lines = require('readline').createInterface({ input: process.stdin })
const told = {}
let wrong = 0
let n = 0

lines.on('line', (line) => {
  n++
  const { secret, headers, body, valid } = JSON.parse(line)
  const text = Buffer.from(body, 'base64').toString('utf8')
  for (const [name, Webhook] of Object.entries(libraries)) {
    const count = (told[name] ??= { accepted: 0, refused: 0 })
    let ok = true
    try {
      new Webhook(secret).verify(text, headers)
    } catch {
      ok = false
    }
    count[ok ? 'accepted' : 'refused']++
    if (ok !== valid && ++wrong <= 10) {
      console.error(`${name}: request ${n} is ${ok ? 'accepted' : 'refused'}`)
    }
  }
})
lines.on('close', () => {
  for (const [name, { accepted, refused }] of Object.entries(told)) {
    console.log(`${name}: ${accepted} accepted, ${refused} refused`)
  }
  process.exit(n > 0 && wrong === 0 ? 0 : 1)
})
