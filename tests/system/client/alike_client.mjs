/* As alike_client.c, with the client for Node. */
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from '../../../api/client/node/pawl.mjs';

const KINDS = {
    Held: 'held', Invalid: 'invalid', LockLost: 'lost', ProtocolError: 'protocol',
    Refused: 'refused', Unavailable: 'unavailable',
};
const TTL_MS = 1500;
let endMs; // when the lock that is lost ends

async function run(client, call, name, options) {
    await client.withLock(name, options, async () => {
        if (call === 'nested') await client.acquire(name, options);
    });
}

async function lose(client, name) {
    await client.withLock(name, { ttlMs: TTL_MS }, async (lock) => {
        process.stdout.write('holding\n');
        await once(lock.signal, 'abort');
        endMs = performance.now() + lock.leftMs();
        while (lock.held) await sleep(5);
        if (performance.now() > endMs + TTL_MS / 5) throw new Error('told late');
    });
}

async function watch(client, name, count) {
    let seen = '';
    for await (const { held, token, owner } of client.watch(name)) {
        seen += held ? `held under ${token} by ${owner}. ` : 'free. ';
        if (--count === 0) return seen;
    }
    return seen;
}

const [call, name, wait] = process.argv.slice(2);
let kind = 'granted';
let said = '';
try {
    const client = new Client({ callTimeoutMs: call === 'lose' ? 5000 : 3000 });
    const options = wait === '-' ? {} : { waitMs: Number(wait) };
    if (call === 'lose') await lose(client, name);
    else if (call === 'watch') said = await watch(client, name, Number(wait));
    else await run(client, call, name, options);
} catch (error) {
    kind = KINDS[error.name] ?? `another error: ${error.stack}`;
    said = error.message;
}
const number = endMs === undefined ? 0 : Math.round(performance.now() - endMs);
process.stdout.write(`${kind}\0${said}\0${number}\0`);
