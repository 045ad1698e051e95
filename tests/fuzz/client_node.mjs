/* What the client for Node makes of any answer. usage: client_node.mjs CLIENT_READER SECONDS [SEED]
 *
 * A server on sockets gives the answers. One listener answers HTTP as it should be, the other one
 * broken HTTP. What the client for C makes of the body (client_reader.c) is compared. The same SEED
 * gives the same answers. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import process from 'node:process';
import readline from 'node:readline';
import { inspect } from 'node:util';

import { Client, Held, Invalid, LockLost, PawlError } from '../../api/client/node/pawl.mjs';

const TTL_MS = 5000;
const BATCH = 1000;
const AT_ONCE = 200;
const CALL_TIMEOUT_MS = 300; // of answers from sockets
const SLACK_MS = 20000; // of a machine that does much else
const TOOK_MS = 3000; // that the reader for C believes: the answer may have come later than it seems
const WRONG_MOST = 20;
// eslint-disable-next-line no-control-regex
const ODD = /[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
const KINDS = {
    Exhausted: 'extensions-exhausted', Held: 'held', Invalid: 'invalid', LockLost: 'lost',
    ProtocolError: 'protocol', Refused: 'refused', Unavailable: 'unavailable',
};
const FINE = '{"token": 1, "ttl_ms": 5000, "validity_ms": 4900, "served_ms": 0}';

/* ---- answers: strings of Latin-1 are their bytes ---------------------------------------------- */

function textOf(body) {
    if (typeof body === 'string') return body;
    if (body.repeat) return body.repeat[0].repeat(Math.min(body.repeat[1], 3000));
    const [before, part, count, end, after] = body.around;
    return before + part.repeat(count) + end.repeat(count) + after;
}

const rows = JSON.parse(readFileSync(new URL('../system/client/hostile.json', import.meta.url)));
const seeds = rows
    .filter((row) => row.body !== undefined)
    .map((row) => [row.call, row.status, textOf(row.body)]);
const grants = seeds.filter(([, status, body]) => status < 300 && body[0] === '{' && body.length < 300);
seeds.push(
    ['acquire', 409, '{"type": "urn:pawl:held", "detail": "held", "resource": "a", "retry_after_ms": 500}'],
    ['extend', 409, '{"type": "urn:pawl:extensions-exhausted", "detail": "no more"}'],
);
const heads = rows.filter((row) => row.head !== undefined).map((row) => row.head);
const PARTS = [
    '-', '0', '9'.repeat(20), '.5', 'e5', 'E400', 'null', 'true', 'NaN', '"', '\\u001b', '\\ud800',
    '\\udc00', '\\u0000', '\\/', '{', '}', '[', ']', ',', ':', '\x1b', '\xc2\x9b', '\xe2\x80\xae',
    '\xed\xa0\x80', '\xc0\x80', '\xff', '\0', ' ', '\x0b', '9007199254740991', '9007199254740992',
    '9223372036854775808', '\xef\xbb\xbf',
];
const VALUES = [
    '-1', '0', '1', '-0', '1.0', '1e0', '4900', '5000', '5001', '9007199254740991', '9007199254740992',
    '9007199254740990.9999', '9223372036854775807', '9223372036854775808', '1e400', '-1e400', 'null',
    'true', '"5"', '[5]', '{}', '"\\u0000"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\u009b"',
    '['.repeat(99) + ']'.repeat(99), '{"": 1}', '{"__proto__": 1}', '{"toString": 1}', '["urn:pawl:held"]', '01', '-01.5', '01e5', '+1', 'Infinity', '"\x7f"',
];
const NAMES = [
    'token', 'ttl_ms', 'validity_ms', 'served_ms', 'type', 'detail', 'resource', 'owner', 'by',
    'retry_after_ms', 'grants', 'x', '', '__proto__', 'toString', '\\u001b', 'toke\\u006e', '\\u0000',
];
const STATUSES = [
    200, 201, 202, 204, 206, 299, 300, 304, 400, 401, 403, 404, 408, 409, 410, 425, 429, 500, 503, 599,
];
const TYPES = [
    'held', 'wait-timeout', 'contended', 'lock-lost', 'lock-broken', 'extensions-exhausted',
    'no-quorum', 'not-ready', 'busy', 'not-allowed', '', 'x'.repeat(60), 'Held', 'held\\u0000', 'held ',
    'constructor', '__proto__', '\\n', 'a\\nb',
];
const FRAMES = [
    'Content-Length: -1', 'Content-Length: 1e3', 'Content-Length: 99999999999999999999',
    'Content-Length: 5', 'Content-Length: 9999', 'Content-Length: \xb2', 'X:', ':', ' folded',
    'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', 'Content-Encoding: gzip',
    'Content-Encoding: br', 'Content-Encoding: x', 'Connection: keep-alive', 'X'.repeat(70000),
    'Content-Type: \0', 'Set-Cookie: a=\x1b', 'Location: //\x1b', 'Upgrade: x', 'Trailer: x',
];

/** Random numbers of a seed (mulberry32). */
class Draw {
    constructor(seed) {
        this.state = seed >>> 0;
    }

    below(count) {
        this.state = (this.state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
    }

    of(list) {
        return list[this.below(list.length)];
    }
}

/** Some members of an object in JSON, with other values and names. */
function withMembers(draw, body) {
    for (let i = draw.below(3); i >= 0; i--) {
        let member = `"${draw.of(NAMES)}": ${draw.of(VALUES)}`;
        if (draw.below(4) === 0) member = `"type": "urn:pawl:${draw.of(TYPES)}"`;
        body = draw.below(2) === 0 ? `{${member}, ${body.slice(1)}` : `${body.slice(0, -1)}, ${member}}`;
    }
    return body;
}

function withBytes(draw, body) {
    for (let i = draw.below(3); i >= 0; i--) {
        const at = draw.below(body.length + 1);
        const part = draw.below(3) > 0 ? draw.of(PARTS) : String.fromCharCode(draw.below(256));
        const put = draw.below(3) > 0 ? part : '';
        body = body.slice(0, at) + put + body.slice(at + draw.of([0, 1, 1, 4, 9]));
    }
    return body;
}

function chunk(draw, part) {
    const hex = part.length.toString(16);
    const size = draw.below(4) > 0 ? hex : draw.of([`-${hex}`, '-1', `+${hex}`, `0x${hex}`, '', '0',
        `${hex};\x1b`, ` ${hex}`, 'f'.repeat(18)]);
    return `${size}\r\n${part}\r\n`;
}

function framed(draw, status, body) {
    if (draw.below(8) === 0) return withBytes(draw, draw.of(heads));
    const lines = [`HTTP/1.1 ${status} X`];
    if (draw.below(8) === 0) lines.unshift('HTTP/1.1 100 Continue', '');
    const how = draw.below(3);
    if (how === 0) lines.push(`Content-Length: ${body.length}`);
    if (how === 1) {
        const at = draw.below(body.length + 1);
        lines.push('Transfer-Encoding: chunked');
        body = `${chunk(draw, body.slice(0, at))}${chunk(draw, body.slice(at))}0\r\n\r\n`;
    }
    for (let i = draw.of([0, 0, 1, 1, 2, 150]); i > 0; i--) lines.push(draw.of(FRAMES));
    const head = `${lines.join('\r\n')}\r\n\r\n`;
    return (draw.below(4) === 0 ? withBytes(draw, head) : head) + body;
}

const framedWell = (status, body) =>
    `HTTP/1.1 ${status} X\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** The answer `number` of a run. */
function makeCase(seed, number) {
    const draw = new Draw(Math.imul(seed, 0x9e3779b1) ^ Math.imul(number, 0x85ebca6b));
    let [call, status, body] = draw.of(draw.below(2) === 0 ? seeds : grants);
    if (body[0] === '{' && draw.below(3) > 0) body = withMembers(draw, body);
    if (draw.below(3) === 0) body = withBytes(draw, body);
    if (draw.below(4) === 0) status = draw.of(STATUSES);
    const plain = draw.below(8) > 0; // HTTP as it should be
    if (status === 204 || status === 304) body = ''; // HTTP has none there
    const bytes = plain ? framedWell(status, body) : framed(draw, status, body);
    return { number, call, status, body, plain, bytes, open: !plain && draw.below(40) === 0 };
}

/* ---- the server ------------------------------------------------------------------------------ */

const cases = new Map(); // by number

/** The case of the path /v1/locks/NUMBER, or another answer where that is not asked for. */
function askedFor(method, path) {
    const it = cases.get(Number(path.slice(path.lastIndexOf('/') + 1)));
    if (it === undefined) return { status: 503, body: '' }; // too late: its client gave up
    if (method === 'DELETE') return { status: 200, body: '{"released": true}' };
    return it.call === 'extend' && method === 'POST' ? { status: 201, body: FINE } : it;
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
        socket.write(it.bytes ?? framedWell(it.status, it.body), 'latin1');
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
    if (!Number.isSafeInteger(lock.token) || lock.token < 1) return `has the token ${lock.token}`;
    return lock.leftMs() > TTL_MS ? `has ${lock.leftMs()} ms left` : '';
}

async function granted(client, { call, number }) {
    let fault = '';
    let token;
    if (call === 'acquire') {
        await client.withLock(String(number), { ttlMs: TTL_MS, waitMs: 0 }, (lock) => {
            fault = faultOf(lock);
            token = lock.token;
        });
        return { kind: 'granted', token, fault, said: '' };
    }
    const lock = await client.acquire(String(number), { ttlMs: TTL_MS, waitMs: 0 });
    try {
        await lock.extend({ ttlMs: TTL_MS });
        return { kind: 'granted', token: lock.token, fault: faultOf(lock), said: '' };
    } finally {
        await lock.release().catch(() => {});
    }
}

async function run(client, it) {
    const began = performance.now();
    let result;
    try {
        result = await granted(client, it);
    } catch (error) {
        if (!(error instanceof PawlError)) return { fault: `throws ${error?.stack ?? error}` };
        const isGrant = error instanceof LockLost && error.code === 'new-grant';
        const said = `${error.message} ${error.code} ${error.owner} ${error.resource} ` +
            `${error.cause?.message} ${inspect(error.problem)}`;
        result = { kind: isGrant ? 'granted' : KINDS[error.name], said, fault: '' };
        if (error instanceof Held && error.retryAfterMs < 0) result.fault = 'retries in the past';
    }
    if (performance.now() - began > 3 * CALL_TIMEOUT_MS + SLACK_MS) result.fault = 'hangs';
    return result;
}

/** The client believes less of served_ms, and a short validity ended before it looked. */
const isLate = ({ body }, kind, kindOfC) =>
    kindOfC === 'granted' && ['lost', 'protocol', 'unavailable'].includes(kind) &&
    (!/"served_ms": 0[,}]/.test(body) || /"validity_ms": -?\d{1,3}[,}]/.test(body));

/**
 * What is wrong with what came of an answer; '': nothing. It is compared where HTTP is as it should
 * be. A machine that is slow gives no answer from a socket in time.
 */
function problemOf(it, { kind, token, said, fault }, [kindOfC, tokenOfC]) {
    if (fault) return fault;
    if (ODD.test(said)) return `shows ${JSON.stringify(said)}`;
    if (!it.plain || kind === 'unavailable') return '';
    if (kind === 'granted' && kindOfC !== 'granted') return 'is granted';
    if (kind !== kindOfC && !isLate(it, kind, kindOfC)) return `is ${kind}`;
    const compared = kind === 'granted' && it.call === 'acquire';
    return compared && String(token) !== tokenOfC ? `has the token ${token}` : '';
}

/* ---- the run --------------------------------------------------------------------------------- */

class Reader {
    constructor(path) {
        this.program = spawn(path, { stdio: ['pipe', 'pipe', 'inherit'] });
        this.lines = readline.createInterface({ input: this.program.stdout })[Symbol.asyncIterator]();
    }

    async ask(list) {
        for (const { call, status, body } of list)
            this.program.stdin.write(`${call} ${TTL_MS} ${TOOK_MS} ${status} ` +
                `${Buffer.from(body, 'latin1').toString('hex') || '-'}\n`);
        const answers = [];
        for (const _ of list) answers.push((await this.lines.next()).value.split(' '));
        return answers;
    }

    close() {
        this.program.stdin.end();
    }
}

async function playBatch(clients, reader, list) {
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
    const answersOfC = await reader.ask(list);
    return list.flatMap((it, at) => {
        const problem = problemOf(it, results[at], answersOfC[at]);
        const { number, call, status, body, bytes } = it;
        return problem === '' ? [] : [`${number}: ${problem}, and for C ${answersOfC[at].join(' ')}: ` +
            `${call} ${status} ${JSON.stringify(body)} ${JSON.stringify(bytes.slice(0, 300))}`];
    });
}

/** Plays for `seconds`, and returns what is wrong. */
async function play(clients, reader, seed, seconds) {
    const wrong = [];
    const until = performance.now() + seconds * 1000;
    let number = 0;
    for (; performance.now() < until && wrong.length < WRONG_MOST; number += BATCH) {
        const list = Array.from({ length: BATCH }, (_, at) => makeCase(seed, number + at));
        wrong.push(...(await playBatch(clients, reader, list)));
    }
    console.log(`${number} answers, ${wrong.length} wrong`);
    return wrong;
}

async function main(path, seconds, seed = '1') {
    const servers = [await listen(), await listen()];
    const clients = servers.map((server) => new Client({
        servers: [`http://127.0.0.1:${server.address().port}`],
        callTimeoutMs: CALL_TIMEOUT_MS,
    }));
    const reader = new Reader(path);
    const wrong = [];
    process.on('uncaughtException', (error) => wrong.push(`nobody catches ${error.stack}`));
    wrong.push(...(await play(clients, reader, Number(seed), seconds)));
    reader.close();
    for (const line of wrong) console.log(line);
    process.exit(wrong.length > 0 ? 1 : 0);
}

await main(...process.argv.slice(2));
