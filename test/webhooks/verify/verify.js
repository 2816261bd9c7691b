// Reads requests as JSON lines {secret, headers, body, valid} and has two
// libraries verify each. The body is base64. Prints how many each accepted and
// refused; exits with 1 if one of them disagrees with what is expected.
'use strict'

const libraries = {
  standardwebhooks: require('standardwebhooks').Webhook,
  svix: require('svix').Webhook,
}
const lines = require('fs').readFileSync(0, 'utf8').split('\n').filter(Boolean)
let wrong = 0

for (const [name, Webhook] of Object.entries(libraries)) {
  let accepted = 0
  let refused = 0
  lines.forEach((line, i) => {
    const { secret, headers, body, valid } = JSON.parse(line)
    let ok = true
    try {
      new Webhook(secret).verify(Buffer.from(body, 'base64').toString('utf8'), headers)
    } catch {
      ok = false
    }
    if (ok) accepted++
    else refused++
    if (ok !== valid) {
      wrong++
      console.error(`${name}: request ${i + 1} is ${ok ? 'accepted' : 'refused'}`)
    }
  })
  console.log(`${name}: ${accepted} accepted, ${refused} refused`)
}
process.exit(wrong === 0 ? 0 : 1)
