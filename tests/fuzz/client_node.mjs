/* What the client for Node makes of answers that come from sockets: clients.py asks. Reads a line
 * of JSON for each answer, and an empty line behind each batch. Writes a line for each answer: the
 * kind of error, or granted, the token, and all that a program may show. A fault is a kind, too.
 *
 * One listener answers HTTP as it should be, the other one broken HTTP. */
import net from 'node:net';
import process from 'node:process';
import readline from 'node:readline';
import { inspect } from 'node:util';

import { Client, Held, LockLost, PawlError } from '../../api/client/node/pawl.mjs';

const TTL_MS = 5000;
const AT_ONCE = 200;
const CALL_TIMEOUT_MS = 300;
const SLACK_MS = 20000; // of a machine that does much else
const KINDS = {
    Exhausted: 'extensions-exhausted', Held: 'held', Invalid: 'invalid', LockLost: 'lost',
    ProtocolError: 'protocol', Refused: 'refused', Unavailable: 'unavailable',
};
const FINE = '{"token": 1, "ttl_ms": 5000, "validity_ms": 4900, "served_ms": 0}';

/* ---- the server: strings of Latin-1 are their bytes ------------------------------------------ */

const cases = new Map(); // by number

const framedWell = (status, body) =>
    `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** The case of the path /v1/locks/NUMBER, or another answer where that is not asked for. */
function askedFor(method, path) {
    const it = cases.get(Number(path.slice(path.lastIndexOf('/') + 1)));
    if (it === undefined) return { bytes: framedWell(503, '') }; // too late: its client gave up
    if (method === 'DELETE') return { bytes: framedWell(200, '{"released": true}') };
    return it.call === 'extend' && method === 'POST' ? { bytes: framedWell(201, FINE) } : it;
}

function serve(socket) {
    let text = '';
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    socket.on('data', (part) => {
        text += part;
        const end = text.indexOf('\r\n\r\n') + 4;
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
        if (end < 4 || text.length < end + length) return;
        const it = askedFor(...text.split(' ', 2));
        text = '';
        socket.write(it.bytes, 'latin1');
        if (it.plain === false && !it.open) socket.end();
    });
}

function listen() {
    return new Promise((resolve) => {
        const server = net.createServer(serve);
        server.listen(0, '127.0.0.1', () => resolve(server));
    });
}

/* ---- the client ------------------------------------------------------------------------------ */

/** A sentence where a lock has what no lock may have. */
function faultOf(lock) {
    const { token } = lock;
    if (!Number.isSafeInteger(token) || token < 1) return `a lock with the token ${token}`;
    return lock.leftMs() > TTL_MS ? `a lock with ${lock.leftMs()} ms left` : '';
}

async function granted(client, { call, number }) {
    let fault = '';
    let token;
    if (call === 'acquire') {
        await client.withLock(String(number), { ttlMs: TTL_MS, waitMs: 0 }, (lock) => {
            fault = faultOf(lock);
            token = lock.token;
        });
        return [fault || 'granted', token, ''];
    }
    const lock = await client.acquire(String(number), { ttlMs: TTL_MS, waitMs: 0 });
    try {
        await lock.extend({ ttlMs: TTL_MS });
        return [faultOf(lock) || 'granted', lock.token, ''];
    } finally {
        await lock.release().catch(() => {});
    }
}

function kindOf(error) {
    if (!(error instanceof PawlError)) return `${error?.stack ?? error}`;
    if (error instanceof Held && error.retryAfterMs < 0) return 'a retry in the past';
    return error instanceof LockLost && error.code === 'new-grant' ? 'granted' : KINDS[error.name];
}

async function run(client, it) {
    const began = performance.now();
    let result;
    try {
        result = await granted(client, it);
    } catch (error) {
        const shown = `${error.message} ${error.code} ${error.owner} ${error.resource} ` +
            `${error.cause?.message} ${inspect(error.problem)}`;
        result = [kindOf(error), error.token, shown];
    }
    if (performance.now() - began > 3 * CALL_TIMEOUT_MS + SLACK_MS) result[0] = 'a call that hangs';
    return result;
}

/* ---- the run --------------------------------------------------------------------------------- */

async function playBatch(clients, list) {
    const results = [];
    let next = 0;
    const worker = async () => {
        while (next < list.length) {
            const at = next++;
            results[at] = await run(clients[list[at].plain ? 0 : 1], list[at]);
        }
    };
    for (const it of list) cases.set(it.number, it);
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    cases.clear();
    return results;
}

async function main() {
    const servers = [await listen(), await listen()];
    const clients = servers.map((server) => new Client({
        servers: [`http://127.0.0.1:${server.address().port}`],
        callTimeoutMs: CALL_TIMEOUT_MS,
    }));
    let list = [];
    for await (const line of readline.createInterface({ input: process.stdin })) {
        if (line !== '') {
            list.push(JSON.parse(line));
            continue;
        }
        for (const result of await playBatch(clients, list)) console.log(JSON.stringify(result));
        list = [];
    }
    process.exit(0);
}

await main();
