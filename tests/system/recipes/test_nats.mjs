/* The recipe for NATS JetStream, on a server of its own. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { blocks, declared } from './page.mjs';
import { judge, once, Stale } from './race.mjs';
import { folder, freePort, need, needPackage, start } from './servers.mjs';

const server = need('nats-server', 'nats-server');
const modules = needPackage('nats');
const { connect } = createRequire(join(modules, 'x.js'))('nats');
const port = await freePort();
const { put } = declared(blocks('NATS JetStream, key-value', 'js')[0], { Stale }, 'put');

const connection = await start('nats', [server, '-js', '-sd', join(folder, 'nats'), '-a', '127.0.0.1',
    '-p', String(port)], () => connect({ servers: `127.0.0.1:${port}` }));
const kv = await connection.jetstream().views.kv('orders');
const afterRead = once();
const watched = {
    get: async (key) => {
        const entry = await kv.get(key);
        await afterRead.run();
        return entry;
    },
    create: (...words) => kv.create(...words),
    update: (...words) => kv.update(...words),
    put: (...words) => kv.put(...words),
};

await judge({
    afterRead: afterRead.set,
    claim: async (name, token) => (await put(watched, name, token)) ?? 0,
    write: (name, token, number) => put(watched, name, token, number),
    read: async (name) => (await kv.get(name))?.json().value ?? 0,
    overwrite: (name, value) => kv.put(name, JSON.stringify({ value })),
});
