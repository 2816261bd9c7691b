// Serves the route handlers of the recipe as Next.js does: with the Request and the
// Response of the Fetch standard.
import { createServer } from 'node:http'
import { POST as webhook } from './app/webhooks/waybill/route.js'
import { POST as label } from './app/orders/label/route.js'

const routes = { '/webhooks/waybill': webhook, '/orders/label': label }

createServer(async (incoming, outgoing) => {
  const chunks = []
  for await (const chunk of incoming) chunks.push(chunk)
  const handler = incoming.method === 'POST' && routes[incoming.url]
  const response = handler
    ? await handler(new Request(`http://localhost${incoming.url}`, { method: 'POST', headers: incoming.headers, body: Buffer.concat(chunks) }))
    : new Response('ready')
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  outgoing.end(Buffer.from(await response.arrayBuffer()))
}).listen(Number(process.env.PORT), '127.0.0.1')
