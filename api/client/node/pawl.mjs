/**
 * The client of Pawl for Node 18 and later: locks of a pawld over HTTP, with fencing tokens.
 *
 *     import { Client } from './pawl.mjs';
 *     const client = new Client(); // the servers of PAWL_SERVER
 *     await client.withLock('orders/42', { ttlMs: 30000, waitMs: 60000 }, async (lock) => {
 *         const order = await read(42, { signal: lock.signal });
 *         lock.check();
 *         await writeGuarded(42, change(order), lock.token);
 *     });
 *
 * Times are milliseconds. A lock is valid until the time that its request was sent, plus the
 * answer's served_ms and validity_ms. That is safe with any delay of the network. README.md says
 * which clock counts.
 *
 * A lock is waited for without end, unless `waitMs` says how long. No proxy is ever used, whatever
 * the environment says: a proxy would be given the key. What a gateway before a server answers
 * (502, 503, 504, 408, a page of HTML) ends no wait, and no connection that it cuts does.
 *
 * A holder that is stopped right after a check still goes on when it wakes. No client can prevent
 * that. So give the token along with every write, and check it where the write lands.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { accessSync, constants as fsConstants, readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { checkServerIdentity, createSecureContext } from 'node:tls';

const SERVER_DEFAULT = 'http://127.0.0.1:7380';
const SOCKET_DEFAULT = 'unix:/run/pawl/pawld.sock'; // asked first, where this process may connect
const SERVERS_MAX = 8;
const NAMES_MAX = 64; // that one lock can have
const PERMITS_MAX = 64; // of a semaphore
const READERS_MAX = 63; // seats that a fleet may have for a read-write lock
const NAME_MAX = 255; // bytes of a name
const OWNER_MAX = 128; // bytes of a label
const KEY_MAX = 127; // bytes of a key
const UNIX = 'unix:'; // as pawld --listen spells it
const SOCKET_PATH_MAX = 107; // bytes of the path of a socket
const ANSWER_MAX = 1 << 20; // bytes of a body
const TTL_MOST_MS = 24 * 3600 * 1000; // no fleet allows a longer lease
const SERVED_SLACK_MS = 1000; // two clocks, and their steps
const LOCK_ID_BYTES = 21; // of random; 28 characters
const CALL_TIMEOUT_DEFAULT_MS = 5000;
const CALL_TIMEOUT_MOST_MS = 600000;
const CONNECT_TIMEOUT_MS = 2000;
const KEEPALIVE_IDLE_MS = 10000; // a server's machine that is gone ends a long wait
const CUT_LEAST_MS = 500; // a request that waited so long was one to a pawld, or a gateway
const KEEP_MOST_MS = 24 * 3600 * 1000; // as long as any lease
const LATE_MS = 500; // to release a lock whose validity has ended
const PAUSE_LEAST_MS = 50; // between two attempts, doubled each time
const PAUSE_MOST_MS = 1000;
const WAIT_STEP_MS = 60000; // what one request waits at the most: a stopped server is noticed then
const LOOK_STEP_MS = 50000; // what one look of a watch waits; proxies cut after 60 s, commonly
const WATCH_STEP_MS = 500; // timers stop in suspend; so soon after it a lock is looked at again
const ALIVE_STEP_MS = 60000;
const CALLS_AT_ONCE = 8; // about the names of one lock
const EARLY_MS = 1; // a request may count as sent so much before it was
const BATCH_MAX = 64; // calls in one request
const BATCH_BYTES_MAX = 60000; // of its body; a pawld takes 64 KiB

/* ---- text of others -------------------------------------------------------------------------- */

// eslint-disable-next-line no-control-regex
const ODD = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/** A lone surrogate is no character; its bytes are those that UTF-8 would have for it. */
function bytesOf(character) {
    const code = character.codePointAt(0);
    if (code < 0xd800 || code > 0xdfff) return Buffer.from(character);
    return Buffer.from([0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]);
}

/**
 * `text`, fit for terminals and lines of logs: a server may be anybody's. Each byte of a control
 * character becomes \xNN, also of a change of the direction of writing.
 */
function plain(text) {
    const escape = (byte) => `\\x${byte.toString(16).padStart(2, '0')}`;
    return text.replace(ODD, (odd) => [...bytesOf(odd)].map(escape).join(''));
}

const PARTS_OF_JSON = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[[\]{}]/gs;
const DEPTH_MAX = 2048; // of an answer

const NO_TEXT = /\0|\p{Surrogate}/u; // no pawld writes them
const INTEGER_LENGTH_MAX = 20; // of 64 bits, with a sign

/**
 * A string or a number of an answer. A number with a fraction becomes an empty object, which means
 * nothing anywhere; null and false do. Throws SyntaxError
 * where all clients refuse the answer: numbers that have no room in 64 bits, and half characters.
 */
function checkPart(part) {
    const isText = part.startsWith('"');
    const isInteger = !isText && !/[.eE]/.test(part);
    if (isText ? part.includes('\\u') && NO_TEXT.test(JSON.parse(part)) : !Number.isFinite(Number(part)))
        throw new SyntaxError('a string or a number that no pawld writes');
    if (isInteger && (part.length > INTEGER_LENGTH_MAX || BigInt.asIntN(64, BigInt(part)) !== BigInt(part)))
        throw new SyntaxError('an integer of more than 64 bits');
    return isText || isInteger || /^-?0\d/.test(part) ? part : '{}';
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Text with none of these, and not deep, is what JSON.parse() makes of it. So is nearly each answer. */
const TO_CHECK = /[\\\x7f-\uffff]|\d[.eE]|\d{16}/;

/** An answer as JSON with plain strings; null: it is none. */
function parseAnswer(bytes) {
    try {
        const text = utf8.decode(bytes);
        const opened = text.match(/[[{]/g)?.length ?? 0;
        if (opened <= DEPTH_MAX && !TO_CHECK.test(text)) return JSON.parse(text);
        let depth = 0;
        const check = (part) => {
            if (part === '[' || part === '{') depth++;
            if (part === ']' || part === '}') depth--;
            if (depth > DEPTH_MAX) throw new SyntaxError('an answer is too deep');
            return /^[[\]{}]/.test(part) ? part : checkPart(part);
        };
        return JSON.parse(text.replace(PARTS_OF_JSON, check), (name, value) => {
            if (plain(name) !== name) throw new SyntaxError('a member has an odd name');
            return typeof value === 'string' ? plain(value) : value;
        });
    } catch {
        return null;
    }
}

/** A member of an answer; undefined: it is no text. */
const textOf = (value) => (typeof value === 'string' ? value : undefined);

/* ---- errors ---------------------------------------------------------------------------------- */

/** What all errors of this client have in common. `code` is a word for programs. */
export class PawlError extends Error {
    /**
     * @param {string} message
     * @param {{code?: string, cause?: unknown, problem?: object}} [details]
     */
    constructor(message, { code = '', cause, problem } = {}) {
        super(plain(message), cause === undefined ? undefined : { cause });
        this.name = this.constructor.name;
        this.code = code;
        /** The problem of the server (RFC 9457), if it sent one. @type {object|undefined} */
        this.problem = problem;
        /** The name of the lock, where one is known. @type {string|undefined} */
        this.resource = textOf(problem?.resource);
    }
}

/** `error`, which says that `names` could not be acquired, say. */
function about(error, verb, names) {
    if (!(error instanceof PawlError) || error.isNamed) return error;
    const more = names.length > 1 ? ` and ${names.length - 1} more` : '';
    error.message = plain(`cannot ${verb} ${names[0]}${more}: ${error.message}`);
    if (names.length === 1) error.resource ??= names[0];
    return named(error);
}

/** `error`, whose message has the name of the lock. */
function named(error) {
    Object.defineProperty(error, 'isNamed', { value: true });
    return error;
}

/** An argument is wrong, or the server says that one is: do not repeat. */
export class Invalid extends PawlError {}

/**
 * Another caller holds the lock, and held it until the wait ended: try later. `resource` and `owner`
 * name the lock and its holder, and `retryAfterMs` is the rest of the lease. Unknown values are
 * undefined.
 */
export class Held extends PawlError {
    constructor(message, details) {
        super(message, details);
        Object.assign(this, holderOf(details?.problem));
    }
}

/**
 * The lock is no longer held, or its validity ends soon: stop the work. `code` has the reason:
 * `lost` (the server reported the loss), `broken` (an operator force-released the lock), `expired`
 * (the validity has ended), `ending` (no server extended the lock, and the validity ends soon),
 * `refused` (the server refuses extensions; `cause` has the reason), `new-grant` (the lock was
 * acquired again, and another caller may have held it in between), `released`.
 */
export class LockLost extends PawlError {}

/** No server answered, or no server has a majority: try later. A lock stays held until its deadline. */
export class Unavailable extends PawlError {}

/**
 * The server or the client refused the call, and retrying will not help: read the message. If the
 * caller itself holds the lock, `code` is `nested`.
 */
export class Refused extends PawlError {}

/** The lock has reached its extension limit: acquire it again. It is held until its deadline. */
export class Exhausted extends PawlError {}

/** The answer did not come from a pawld: check the address. */
export class ProtocolError extends PawlError {}

function holderOf(problem = {}) {
    const { resource, owner, retry_after_ms: retryAfterMs } = problem;
    return {
        resource: textOf(resource),
        owner: textOf(owner),
        retryAfterMs: isCount(retryAfterMs) ? retryAfterMs : undefined,
    };
}

const PROBLEMS = new Map([
    ['held', Held],
    ['wait-timeout', Held],
    ['contended', Held],
    ['lock-lost', LockLost],
    ['lock-broken', LockLost],
    ['extensions-exhausted', Exhausted],
    ['no-quorum', Unavailable],
    ['too-slow', Unavailable],
    ['not-ready', Unavailable],
    ['no-memory', Unavailable],
    ['stopping', Unavailable],
    ['busy', Unavailable],
    ['too-many-waiters', Unavailable],
    ['request-timeout', Unavailable],
]);

/** None of a pawld: a gateway says that it waited too long, or another server answers. */
function isForeign({ status, json }) {
    return typeOf(json) === undefined && (status >= 300 || json === null);
}

const typeOf = (json) => /^urn:pawl:(.+)$/.exec(textOf(json?.type))?.[1];

/** A sentence that says more than the server's own, with the name; undefined: there is none. */
function sentenceOf(type, { resource, owner, by, retry_after_ms: afterMs }) {
    if (typeof resource !== 'string' || resource === '') return undefined;
    if (type === 'lock-broken') return `${resource} was broken by ${textOf(by) ?? 'an operator'}`;
    if (type === 'lock-lost')
        return (
            `${resource} is no longer held under this lock id and token: stop the work, and ` +
            'acquire it again'
        );
    if (type !== 'held' && type !== 'wait-timeout') return undefined;
    const left = isCount(afterMs) ? `, for ${(afterMs / 1000).toFixed(1)} s unless extended` : '';
    return `${resource} is held by ${textOf(owner) || 'another caller'}${left}`;
}

/** What a server says of a request, in the words of this client. */
const ownWords = (detail) =>
    detail.replace(/\bttl_ms\b/g, 'ttlMs').replace(/\bdelay_ms\b/g, 'delayMs').replace('The resource must', 'A name must');

/** The error that an answer stands for. */
function problemOf({ server, status, json }) {
    const type = typeOf(json);
    let kind = PROBLEMS.get(type);
    if (kind === undefined) {
        const isBusy = status >= 500 || BUSY.has(status); // of a proxy, too
        if (isBusy) kind = Unavailable;
        else if (type === undefined) kind = ProtocolError;
        else kind = status === 400 ? Invalid : Refused;
    }
    if (type === undefined)
        return new kind(`${server} returned an unexpected ${status}: is this a pawld?`, {
            code: kind === Unavailable ? 'no-answer' : 'protocol',
        });
    const codes = { 'lock-broken': 'broken', 'lock-lost': 'lost' };
    const details = { code: codes[type] ?? type, problem: json };
    const sentence = sentenceOf(type, json);
    if (sentence !== undefined) return named(new kind(sentence, details));
    return new kind(ownWords(textOf(json.detail) ?? type), details);
}

/* ---- clock ----------------------------------------------------------------------------------- */

/* Timers and performance.now() stand still while the machine is suspended; leases do not. On Linux
 * os.uptime() reads /proc/uptime: the boot clock, in steps of 10 ms. Elsewhere the wall clock tells
 * of a suspension, unless it is set back meanwhile. */
const hasBootClock = process.platform === 'linux' && isReadable('/proc/uptime');
const STEP_MS = hasBootClock ? 10 : 1;

function isReadable(file) {
    try {
        return readFileSync(file).length > 0;
    } catch {
        return false;
    }
}

function moment() {
    return {
        steady: performance.now(),
        other: hasBootClock ? os.uptime() * 1000 : Date.now(),
    };
}

let recent = moment();

/**
 * A moment of at most EARLY_MS ago, as a reading takes 15 µs. It is for requests and answers: one that
 * counts as earlier has a shorter validity.
 */
function earlyMoment() {
    if (performance.now() - recent.steady >= EARLY_MS) recent = moment();
    return recent;
}

/** At least the time since `since`: what the clock that went further says, and one step of it. */
function elapsedMs(since, now = moment()) {
    return Math.max(now.steady - since.steady, now.other - since.other + STEP_MS);
}

/** For waits and pauses, where nothing is lost by a suspension. */
const steadyMs = () => performance.now();

/* ---- arguments ------------------------------------------------------------------------------- */

function refuse(message) {
    throw new Invalid(message, { code: 'invalid' });
}

/** A misspelt option would be a default that nobody asked for. */
function checkOptions(options, known) {
    if (options === null || typeof options !== 'object') refuse('the options must be an object');
    for (const name of Object.keys(options))
        if (!known.includes(name)) refuse(`there is no option '${name}'; ${known.join(', ')} are`);
}

function checkMs(name, value, least, most) {
    const fits = Number.isInteger(value) || value === Infinity;
    if (value !== undefined && !(fits && value >= least && value <= most))
        refuse(`${name} must be a whole number of milliseconds, ${least} to ${most}`);
}

function checkSocket(text) {
    const path = text.slice(UNIX.length);
    if (!path.startsWith('/') || path === '/')
        refuse(
            `'${text}' has no absolute path; a socket is given as unix:/PATH, such as ` +
                'unix:/run/pawl/pawld.sock',
        );
    if (Buffer.byteLength(path) > SOCKET_PATH_MAX || path.includes('\0'))
        refuse(`'${text}' is too long: a socket's path has at most ${SOCKET_PATH_MAX} bytes`);
    return { text, secure: false, base: '', to: { socketPath: path, host: 'localhost' } };
}

function urlOf(text) {
    try {
        return new URL(text);
    } catch {
        if (/^https?:\/\/[^/]*:\d+\/*$/i.test(text))
            refuse(`'${text}' has an invalid port: a port must be 1 to 65535`);
        return null;
    }
}

function checkServer(text) {
    if (typeof text !== 'string') refuse(`a URL of a server must be a string, not ${String(text)}`);
    if (text.startsWith(UNIX)) return checkSocket(text);
    if (text.includes('@')) // it may be a password, which no sentence shows
        refuse('a server URL must have no user and no password; use a key instead');
    if (text.includes(','))
        refuse(
            `'${text}' has a comma: give each server separately; in PAWL_SERVER put a space ` +
                'between two servers',
        );
    const url = urlOf(text);
    const isPlain = url && /^https?:$/.test(url.protocol) && /^https?:\/\/[^/]/i.test(text);
    if (!isPlain || url.search || url.hash || !/^[!-~]+$/.test(text))
        refuse(`'${text}' is not a valid URL of a server, such as ${SERVER_DEFAULT}`);
    if (url.port === '0') refuse(`'${text}' has an invalid port: a port must be 1 to 65535`);
    const secure = url.protocol === 'https:';
    const port = Number(url.port) || (secure ? 443 : 80);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const base = url.pathname.replace(/\/+$/, '');
    return { text: url.href.replace(/\/+$/, ''), secure, base, to: { host, port } };
}

function checkServers(servers) {
    if (servers.length > SERVERS_MAX) refuse(`a client can have at most ${SERVERS_MAX} servers`);
    return servers.map(checkServer);
}

function checkFunction(name, value) {
    if (value !== undefined && typeof value !== 'function') refuse(`${name} is no function`);
}

function checkOwner(owner) {
    if (owner === undefined) return;
    if (typeof owner !== 'string' || Buffer.byteLength(owner) > OWNER_MAX)
        refuse(`owner must be a string of at most ${OWNER_MAX} bytes`);
}

function checkSignal(signal) {
    if (signal === undefined) return;
    if (typeof signal?.addEventListener !== 'function' || typeof signal.aborted !== 'boolean')
        refuse('signal is no AbortSignal');
}

/** The sentence does not show it. */
function checkKey(key) {
    if (typeof key !== 'string' || key.length > KEY_MAX || !/^[!-~]*$/.test(key))
        refuse(`a key must be one word of at most ${KEY_MAX} characters`);
}

/** The path of a lock, or of a semaphore. fetch() resolves dot segments, which would lead to another lock. */
function pathOf(name, kind = 'locks') {
    if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > NAME_MAX)
        refuse(`a name must be a string of 1 to ${NAME_MAX} bytes`);
    const segments = name.split('/');
    if (segments.some((segment) => segment === '.' || segment === '..' || segment === ''))
        refuse(`'${name}' has an empty, '.' or '..' segment`);
    try {
        return `/v1/${kind}/${segments.map(encodeURIComponent).join('/')}`;
    } catch {
        return refuse(`'${name}' is not valid Unicode`);
    }
}

const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

/* ---- signals of the caller ------------------------------------------------------------------- */

const heard = new WeakMap(); // what each signal calls

/**
 * Has `call` called when `signal` is aborted. Returns what ends that. A signal has one listener of
 * this client, however many locks and calls heed it: Node warns of more than ten.
 */
function onAbort(signal, call) {
    if (signal === undefined) return () => {};
    let calls = heard.get(signal);
    if (calls === undefined) {
        calls = new Set();
        heard.set(signal, calls);
        const tell = () => [...calls].forEach((one) => one());
        signal.addEventListener('abort', tell, { once: true });
    }
    calls.add(call);
    return () => calls.delete(call);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

/** Resolves after `ms`, or as soon as `signal` is aborted. */
function pause(ms, signal) {
    return new Promise((resolve) => {
        const end = () => {
            clearTimeout(timer);
            forget();
            resolve();
        };
        const timer = setTimeout(end, ms);
        const forget = onAbort(signal, end);
        if (signal?.aborted) end();
    });
}

/** How long to go on trying, and how long to pause before the next attempt. */
class Patience {
    constructor(untilMs) {
        this.untilMs = untilMs;
        this.pauseMs = PAUSE_LEAST_MS;
    }

    /** False: the time is over. */
    async pause(signal) {
        const leftMs = this.untilMs - steadyMs();
        if (leftMs <= 0) return false;
        await pause(Math.min(this.pauseMs, leftMs), signal);
        this.pauseMs = Math.min(this.pauseMs * 2 || PAUSE_LEAST_MS, PAUSE_MOST_MS);
        return steadyMs() < this.untilMs;
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

const BUSY = new Set([408, 429]);
const CUT = new Set(['ECONNRESET', 'EPIPE']);
const NOT_REACHED = new Set(
    ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
);

async function readBody(response) {
    const chunks = [];
    let bytes = 0;
    for await (const chunk of response) {
        bytes += chunk.length;
        if (bytes > ANSWER_MAX)
            throw new ProtocolError(`an answer has more than ${ANSWER_MAX} bytes`, {
                code: 'protocol',
            });
        chunks.push(chunk);
    }
    return parseAnswer(Buffer.concat(chunks));
}

/**
 * The end of a call that has no answer: its time is over, or its caller does not want it. An
 * AbortController would take a tenth of the time of a call.
 */
class Ending {
    #calls = [];
    #error; // why the call has no answer

    get ended() {
        return this.#error !== undefined;
    }

    end() {
        if (this.ended) return;
        this.#error = new Error('the call was ended');
        for (const call of this.#calls.splice(0)) call(this.#error);
    }

    /** Has `call` called with the error, now or when the call ends. */
    onEnd(call) {
        if (this.ended) call(this.#error);
        else this.#calls.push(call);
    }

    /** What `promise` becomes, and no later than the end: a body may never come to its own. */
    bound(promise) {
        return new Promise((resolve, reject) => {
            promise.then(resolve, reject);
            this.onEnd(reject);
        });
    }

    /** An end that comes when all of `endings` came: somebody waits for the others' answers. */
    static afterAll(endings) {
        const last = new Ending();
        let left = endings.length;
        const count = () => {
            if (--left === 0) last.end();
        };
        for (const ending of endings) ending.onEnd(count);
        return last;
    }
}

/** What an agent for https needs, from the files that the environment names; null: nothing. */
function tlsOfEnvironment() {
    const { PAWL_CA_FILE: ca, PAWL_CERT: cert, PAWL_CERT_KEY: key } = process.env;
    if (!ca && !cert) return null;
    try {
        return {
            ca: ca ? readFileSync(ca) : undefined,
            cert: cert ? readFileSync(cert) : undefined,
            key: cert ? readFileSync(key || cert) : undefined,
        };
    } catch (error) {
        return refuse(`PAWL_CA_FILE, PAWL_CERT or PAWL_CERT_KEY: ${error.message}`);
    }
}

function checkTls(tls) {
    try {
        createSecureContext(tls ?? {});
    } catch (error) {
        refuse(`ca, cert or key of tls: ${error.message}`);
    }
}

/** The parts of the DER value `der`, each with its tag and its content. */
function* partsOf(der) {
    for (let at = 0; at < der.length; ) {
        const tag = der[at];
        let length = der[at + 1];
        at += 2;
        if (length & 0x80) {
            const count = length & 0x7f;
            length = der.readUIntBE(at, count);
            at += count;
        }
        yield { tag, content: der.subarray(at, at + length) };
        at += length;
    }
}

const firstOf = (der) => partsOf(der).next().value.content;
const KEY_USAGE = Buffer.from([0x55, 0x1d, 0x0f]);

/** Whether the key usage of the certificate `der` has keyCertSign (RFC 5280, 4.2.1.3). */
function maySign(der) {
    const signed = [...partsOf(firstOf(firstOf(der)))];
    const extensions = signed.find(({ tag }) => tag === 0xa3);
    if (extensions === undefined) return false;
    for (const { content } of partsOf(firstOf(extensions.content))) {
        const parts = [...partsOf(content)];
        if (parts[0].content.equals(KEY_USAGE)) return (firstOf(parts.at(-1).content)[1] & 4) !== 0;
    }
    return false;
}

/**
 * An error where a certificate that is no authority signed `cert`. OpenSSL believes each one with
 * CA:TRUE, which openssl req -x509 gives also to certificates of programs. The last of the chain
 * signed itself.
 */
function checkIdentity(host, cert) {
    const error = checkServerIdentity(host, cert);
    let issuer = cert.issuerCertificate;
    while (error === undefined && issuer !== undefined && issuer !== issuer.issuerCertificate) {
        if (!maySign(issuer.raw))
            return new Error(
                'its certificate is not trusted: a certificate that is not a CA signed it ' +
                    '(server/TLS.md)',
            );
        issuer = issuer.issuerCertificate;
    }
    return error;
}

/** Has `request` fail where no connection comes about in time. */
function boundConnect(request) {
    request.on('socket', (socket) => {
        if (!socket.connecting) return;
        const late = () => {
            const error = new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`);
            request.destroy(Object.assign(error, { syscall: 'connect' }));
        };
        const timer = setTimeout(late, CONNECT_TIMEOUT_MS);
        const settle = () => clearTimeout(timer);
        socket.once('connect', settle).once('close', settle);
        socket.setKeepAlive(true, KEEPALIVE_IDLE_MS);
    });
}

/** One request, over an agent of this client: fetch() and the agents of Node may use a proxy. */
function send(server, agent, { method, path, headers, body, ending }) {
    const { request: start } = server.secure ? https : http;
    return new Promise((resolve, reject) => {
        const whole = { ...server.to, path: server.base + path, method, headers, agent };
        const request = start(whole, resolve);
        request.on('error', reject);
        ending.onEnd((error) => request.destroy(error));
        boundConnect(request);
        request.end(body);
    });
}

/** A call as part of a batch, in JSON; undefined: it comes alone, as it may wait for a lock. */
function batchedCall({ method, path, headers, body }) {
    const isOfOne = path.startsWith('/v1/locks/') && !path.includes('?');
    if (!isOfOne || body?.wait_ms > 0) return undefined;
    const token = headers?.['Fencing-Token'];
    return JSON.stringify({
        method,
        path,
        lock_id: headers?.['Lock-Id'],
        token: token === undefined ? undefined : Number(token),
        body,
    });
}

/** Whether an answer to a batch is one to each of its calls. A gateway may refuse batches alone. */
function isForAll({ status, json }) {
    if (status >= 500 || BUSY.has(status)) return true;
    return (status === 401 || status === 403) && typeOf(json) !== undefined;
}

/**
 * Gathers the calls that are made in one turn of the event loop, and sends them in one request. A
 * call that is the only one of its turn is sent as it is.
 */
class Gathering {
    #exchange; // sends one request, and resolves with its status and its JSON
    #calls = [];
    #works = true; // false: this server knows no batches

    constructor(exchange) {
        this.#exchange = exchange;
    }

    /** Resolves as the exchange of the call alone would. */
    ask(call) {
        const text = this.#works ? batchedCall(call) : undefined;
        if (text === undefined) return this.#exchange(call);
        return new Promise((resolve, reject) => {
            this.#calls.push({ call, text, resolve, reject });
            if (this.#calls.length === 1) setImmediate(() => this.#sendAll());
        });
    }

    #sendAll() {
        const calls = [];
        for (const one of this.#calls.splice(0))
            if (one.call.ending.ended) one.call.ending.onEnd(one.reject);
            else calls.push(one);
        while (calls.length > 0) {
            let count = 0;
            for (let bytes = 0; count < calls.length && count < BATCH_MAX; count++) {
                bytes += Buffer.byteLength(calls[count].text) + 1;
                if (bytes > BATCH_BYTES_MAX && count > 0) break;
            }
            this.#sendSome(calls.splice(0, count));
        }
    }

    #sendEach(calls) {
        for (const { call, resolve, reject } of calls) this.#exchange(call).then(resolve, reject);
    }

    async #sendSome(calls) {
        if (calls.length === 1) return this.#sendEach(calls);
        try {
            const answer = await this.#exchange({
                method: 'POST',
                path: '/v1/batch',
                text: `{"requests":[${calls.map(({ text }) => text).join()}]}`,
                ending: Ending.afterAll(calls.map(({ call }) => call.ending)),
            });
            const { responses } = answer.json ?? {};
            if (answer.status === 200 && responses?.length === calls.length)
                return calls.forEach(({ resolve }, i) =>
                    resolve({ status: responses[i]?.status, json: responses[i]?.body ?? null }),
                );
            if (isForAll(answer)) return calls.forEach(({ resolve }) => resolve(answer));
            this.#works = answer.status === 400; // what is wrong with one call is 400 for all
        } catch (error) {
            return calls.forEach(({ reject }) => reject(error));
        }
        return this.#sendEach(calls);
    }
}

/** The servers, and the one to ask next. */
class Servers {
    #servers;
    #current = 0;
    #agents;
    #headers;
    #gatherings; // of each server

    constructor(servers, callTimeoutMs, tls, key) {
        const secure = { checkServerIdentity: checkIdentity, ...tls, keepAlive: true };
        this.#servers = servers;
        this.#agents = [new http.Agent({ keepAlive: true }), new https.Agent(secure)];
        this.#headers = { 'Content-Type': 'application/json' };
        if (key !== '') this.#headers.Authorization = `Bearer ${key}`;
        this.callTimeoutMs = callTimeoutMs;
        this.#gatherings = servers.map(
            (server) => new Gathering((call) => this.#exchange(server, call)),
        );
    }

    /** One request and its answer. */
    async #exchange(server, { method, path, headers, body, text, ending }) {
        const response = await send(server, this.#agents[server.secure ? 1 : 0], {
            method,
            path,
            headers: { ...this.#headers, ...headers },
            body: text ?? (body === undefined ? undefined : JSON.stringify(body)),
            ending,
        });
        return { status: response.statusCode, json: await readBody(response) };
    }

    get count() {
        return this.#servers.length;
    }

    /** Whether both are the same servers. */
    equals(others) {
        const texts = (servers) => servers.map(({ text }) => text).sort().join(' ');
        return texts(this.#servers) === texts(others.#servers);
    }

    /** How long one attempt may take. In `ms` there is time for each server, and one twice. */
    attemptMs(ms) {
        return Math.max(ms / (this.#servers.length + 1), 1);
    }

    /**
     * Asks one server once. Throws Unavailable where no answer came; `reached` of the error says
     * whether the request may have got there. The reason of `signal` where that was aborted.
     * `onAsked` is given a promise that ends with the request itself: a batch goes on for its
     * other calls.
     */
    async ask({ method, path, body, headers, timeoutMs, signal, onAsked }) {
        const at = this.#current;
        const server = this.#servers[at];
        signal?.throwIfAborted();
        const ending = new Ending();
        const end = () => ending.end();
        const timer = setTimeout(end, timeoutMs);
        const forget = onAbort(signal, end);
        const sent = earlyMoment();
        try {
            const asked = this.#gatherings[at].ask({ method, path, headers, body, ending });
            onAsked?.(asked);
            const { status, json } = await ending.bound(asked);
            const tookMs = elapsedMs(sent, earlyMoment());
            const answer = { server: server.text, sent, tookMs, status, json };
            if (answer.status >= 500 || BUSY.has(answer.status)) this.#next(at);
            return answer;
        } catch (error) {
            signal?.throwIfAborted();
            if (error instanceof PawlError) throw error;
            this.#next(at);
            throw this.#noAnswer(server.text, ending.ended ? timeoutMs : 0, error);
        } finally {
            clearTimeout(timer);
            forget();
        }
    }

    /** Another call may have found out before that the server at `at` does not answer. */
    #next(at) {
        if (this.#current === at) this.#current = (at + 1) % this.#servers.length;
    }

    #noAnswer(server, waitedMs, error) {
        const connects = error.syscall === 'connect' || error.syscall === 'getaddrinfo';
        const inTime = `within ${Math.round(waitedMs)} ms`;
        const said = connects ? error.message : error.code ?? error.message;
        const unavailable = new Unavailable(
            `${server} does not answer: ${waitedMs > 0 ? inTime : said}`,
            { code: 'no-answer', cause: error },
        );
        const details = {
            reached: !connects && !NOT_REACHED.has(error.code),
            cut: waitedMs === 0 && !connects && CUT.has(error.code),
        };
        for (const [name, value] of Object.entries(details))
            Object.defineProperty(unavailable, name, { value });
        return unavailable;
    }

    /** Repeats until an answer is no reason to repeat, `ms` are over, or `goesOn` says no. */
    async askFor(ms, request, goesOn = () => true) {
        const untilMs = steadyMs() + ms;
        const patience = new Patience(untilMs);
        for (;;) {
            const leftMs = Math.max(untilMs - steadyMs(), 1);
            try {
                const timeoutMs = Math.min(this.attemptMs(ms), leftMs);
                const answer = await this.ask({ ...request, timeoutMs });
                if (answer.status < 300 && !isForeign(answer)) return answer;
                throw problemOf(answer);
            } catch (error) {
                if (!(error instanceof Unavailable)) throw error;
                if (!goesOn() || !(await patience.pause()) || !goesOn()) throw error;
            }
        }
    }
}

/** A name that is lost outweighs all, and all outweighs one that is unknown. */
function gravity(error) {
    if (error === undefined) return 0;
    if (error instanceof LockLost) return 3;
    return error instanceof Unavailable ? 1 : 2;
}

/** Calls `work` for each index below `count`, a few at once. Then throws the gravest error. */
async function forEachIndex(count, work) {
    if (count === 1) return work(0);
    let next = 0;
    let gravest;
    const worker = async () => {
        while (next < count) {
            const index = next++;
            try {
                await work(index);
            } catch (error) {
                if (gravity(error) > gravity(gravest)) gravest = error;
            }
        }
    };
    await Promise.all(Array.from({ length: Math.min(count, CALLS_AT_ONCE) }, worker));
    if (gravest !== undefined) throw gravest;
    return undefined;
}

/**
 * Releases the lock id `lockId` of all `names`, in `ms`, and has the names stay closed for `keepMs`.
 * True: all were held until now.
 */
async function releaseAll(servers, names, lockId, { ms = servers.callTimeoutMs, keepMs = 0, kind = 'locks' } = {}) {
    const untilMs = steadyMs() + ms;
    let all = true;
    await forEachIndex(names.length, async (index) => {
        const request = {
            method: 'DELETE',
            path: pathOf(names[index], kind) + (keepMs > 0 ? `?keep_ms=${keepMs}` : ''),
            headers: { 'Lock-Id': lockId },
        };
        try {
            const { json } = await servers.askFor(Math.max(untilMs - steadyMs(), 1), request);
            all &&= json?.released === true;
        } catch (error) {
            throw about(error, 'release', [names[index]]);
        }
    });
    return all;
}

/* ---- lock ------------------------------------------------------------------------------------ */

const RELEASED = Symbol('the holder released the lock');

const isToken = (value) => isCount(value) && value > 0;

/**
 * So long after its request the validity of an answer about a lease of `ttlMs` ends; undefined: it
 * makes no sense.
 */
function validityOf({ json, tookMs }, ttlMs) {
    const { validity_ms: validityMs, served_ms: servedMs } = json ?? {};
    if (!isCount(validityMs) || validityMs > ttlMs) return undefined;
    if (!isCount(servedMs) || servedMs > tookMs + SERVED_SLACK_MS) return undefined;
    return Math.min(servedMs, tookMs) + validityMs;
}

/** The lease of a grant for which `askedMs` were asked; undefined: it makes no sense. */
function ttlOf({ json }, askedMs = TTL_MOST_MS) {
    const ttlMs = json?.ttl_ms;
    return isCount(ttlMs) && ttlMs >= 1 && ttlMs <= askedMs ? ttlMs : undefined;
}

/** Whether `resource` is one of the seats of `name`. */
function isSeatOf(resource, name, seats) {
    const is = typeof resource === 'string' && resource.startsWith(`${name}#`);
    const seat = is ? resource.slice(name.length + 1) : '';
    return /^(\d|[1-9]\d)$/.test(seat) && Number(seat) < seats;
}

/** Throws ProtocolError where `json` is not about one of `names` under `lockId`: a gateway can mix up its callers. */
function checkAbout({ server, json }, lockId, names) {
    const { lock_id: otherId = lockId, resource = names[0] } = json ?? {};
    if (otherId !== lockId || !names.includes(resource))
        throw new ProtocolError(
            `${server} answers about another lock: a gateway between may have mixed up the answers of its callers`,
            { code: 'protocol' },
        );
}

/** What a grant says. Throws ProtocolError where that is not all that a grant says. */
function grantOf({ names: asked, seats, ttlMs: askedMs }, lockId, answer) {
    const { server, json } = answer;
    const names = seats === undefined ? asked : [json?.resource];
    if (seats !== undefined && !isSeatOf(names[0], asked[0], seats))
        throw new ProtocolError(`${server} granted a seat without a valid index`, {
            code: 'protocol',
        });
    const grants = names.length > 1 ? json?.grants : [{ resource: names[0], token: json?.token }];
    const tokenOf = (name) => grants.find((grant) => grant?.resource === name)?.token;
    const tokens = Array.isArray(grants) ? names.map(tokenOf) : [];
    checkAbout(answer, lockId, names);
    const ttlMs = ttlOf(answer, askedMs);
    const afterMs = ttlMs === undefined ? undefined : validityOf(answer, ttlMs);
    if (tokens.length === 0 || !tokens.every(isToken) || afterMs === undefined)
        throw new ProtocolError(`${server} granted a lock without a valid token or validity`, {
            code: 'protocol',
        });
    return { names, tokens, ttlMs, afterMs };
}

/**
 * A lock that was acquired. Client.acquire() and Client.withLock() make it. Whether it is held is
 * judged by the clock whenever that is asked. Once it was not held, it never is again.
 */
export class Lock {
    #servers;
    #names;
    #kind; // in paths: of a writer, rwlocks
    #tokens; // of each name
    #lockId;
    #ttlMs;
    #ends; // of each name: its validity ends so many milliseconds after that was sent
    #stopMs;
    #onNewGrant;
    #newGrant = false; // a token was taken that nobody was told of yet
    #controller; // of the signal, once somebody asked for it
    #reason; // why the signal is aborted
    #forget; // ends the attention to the signal of the caller
    #released = false; // release() was called
    #loss; // why it is not held; undefined: nothing is known against it
    #timer;
    #queue = Promise.resolve(); // the calls about this lock: one at a time
    #renewing = false;
    #extending = false; // by the renewal
    #retryMs = 0; // when the renewal tries again
    #pauseMs = PAUSE_LEAST_MS;

    /** For Client only. */
    constructor(servers, wanted, lockId, answer) {
        const { names, tokens, ttlMs, afterMs } = grantOf(wanted, lockId, answer);
        this.#servers = servers;
        this.#names = names;
        this.#kind = wanted.kind;
        this.#tokens = tokens;
        this.#lockId = lockId;
        this.#ttlMs = ttlMs;
        this.#ends = tokens.map(() => ({ sent: answer.sent, afterMs }));
        this.#stopMs = Math.min(wanted.stopMs ?? ttlMs / 10, ttlMs / 2);
        this.#onNewGrant = wanted.onNewGrant;
        this.#heed(wanted.signal);
        this.#watchFor(Math.max(Math.floor(afterMs - answer.tookMs), 0) || this.leftMs());
    }

    /** Whether it is known that the lock is not held. No clock is read. */
    static isKnownLost(lock) {
        return lock.#loss !== undefined;
    }

    /** @returns {string[]} */
    get names() {
        return [...this.#names];
    }

    /** The index of the seat of a semaphore, or of a reader; undefined: there is none. @returns {number} */
    get seat() {
        const mark = this.#names[0].indexOf('#');
        return mark < 0 ? undefined : Number(this.#names[0].slice(mark + 1));
    }

    /** The token of a lock with one name; undefined where it has several. @returns {number} */
    get token() {
        return this.#names.length === 1 ? this.#tokens[0] : undefined;
    }

    /** The token of each name. @returns {Map<string, number>} */
    get tokens() {
        return new Map(this.#names.map((name, index) => [name, this.#tokens[index]]));
    }

    /** @returns {string} */
    get lockId() {
        return this.#lockId;
    }

    /** The lease as it was acquired, in milliseconds. @returns {number} */
    get ttlMs() {
        return this.#ttlMs;
    }

    /**
     * Aborted as soon as the lock is known to be lost, and `stopMs` before its validity ends where
     * it could not be extended. Then the reason is a LockLost. Aborted too with the `signal` that
     * was given to acquire, and by release(). It needs a free event loop: `held` does not.
     * @returns {AbortSignal}
     */
    get signal() {
        if (this.#controller === undefined) {
            this.#controller = new AbortController();
            setMaxListeners(0, this.#controller.signal); // the work may have any number of calls
            if (this.#reason !== undefined) this.#controller.abort(this.#made(this.#reason));
        }
        return this.#controller.signal;
    }

    /** Milliseconds until the validity ends; 0: it did, or the lock was lost. @returns {number} */
    leftMs() {
        if (this.#loss !== undefined) return 0;
        const leftMs = this.#untilEndMs();
        if (leftMs === 0) this.#lose(this.#lost('the validity of the lock @ ended', 'expired'));
        return leftMs;
    }

    /** The same, also of a lock that is lost. */
    #untilEndMs(now = moment()) {
        const leftMs = this.#ends.map(({ sent, afterMs }) => afterMs - elapsedMs(sent, now));
        return Math.max(Math.floor(Math.min(...leftMs)), 0);
    }

    /** `loss` as an error. That of a release is made where somebody looks at it: it takes longer than all else. */
    #made(loss) {
        if (loss !== RELEASED) return loss;
        if (this.#loss === RELEASED) this.#loss = this.#lost('the lock @ was released', 'released');
        return this.#loss;
    }

    /** The error with `sentence`, in which @ stands for the names. */
    #lost(sentence, code, cause) {
        const message = sentence.replace('@', () => this.#names.join(', '));
        const error = new LockLost(message, { code, cause });
        if (this.#names.length === 1) [error.resource] = this.#names;
        return named(error);
    }

    /** True while the lock is held, by the clock. @returns {boolean} */
    get held() {
        return this.leftMs() > 0;
    }

    /** Throws LockLost where the lock is not held, or the reason of `signal` if that is aborted. */
    check() {
        if (!this.held) throw this.#made(this.#loss);
        if (this.#reason !== undefined) throw this.#made(this.#reason);
    }

    /**
     * Extends all names: by `ttlMs` from now on, or by the lease where it is not given. Takes no
     * longer than the client's call timeout.
     *
     * Throws LockLost. Throws Unavailable and Exhausted: the deadline stands. Throws Refused,
     * ProtocolError, Invalid.
     * @param {{ttlMs?: number}} [options]
     * @returns {Promise<{newGrant: boolean}>} newGrant: the tokens may be higher. It is true only
     *     where acquire was given `onNewGrant`; otherwise the lock is lost then. A new grant of one
     *     name is reported by the next success where another name was not extended.
     */
    async extend(options = {}) {
        checkOptions(options, ['ttlMs']);
        checkMs('ttlMs', options.ttlMs, 1, Number.MAX_SAFE_INTEGER);
        return this.#alone(() =>
            this.#extend(options.ttlMs ?? this.#ttlMs, this.#servers.callTimeoutMs),
        );
    }

    /**
     * Extends in the background from now on, each time a third of the lease has passed, until the
     * lock is released or lost. withLock() does that by itself. The timers keep no process alive.
     */
    renew() {
        this.#renewing = true;
        this.#watch();
    }

    /** Extends no more in the background. An extension that is under way goes on. */
    stopRenewing() {
        this.#renewing = false;
    }

    /**
     * Releases all names. The lock is not held from the call on. Waits for an extension that is
     * under way. Safe to repeat. Takes the call timeout at the most, and half a second where the
     * validity has ended.
     *
     * Throws Unavailable: not known; the lease ends by itself.
     * @param {{keepMs?: number}} [options] keepMs: others stay out for so long, but no longer than
     *     the lock had left. So work that was quick keeps its slot.
     * @returns {Promise<boolean>} it was held until now
     */
    async release(options = {}) {
        checkOptions(options, ['keepMs']);
        checkMs('keepMs', options.keepMs, 0, KEEP_MOST_MS);
        const isRepeated = this.#released;
        this.#released = true;
        if (this.held) this.#lose(RELEASED);
        return this.#alone(() => {
            const mostMs = this.#servers.callTimeoutMs;
            const lateMs = this.#untilEndMs(earlyMoment()) + LATE_MS; // there is nothing to wait for then
            const ms = isRepeated ? mostMs : Math.min(mostMs, lateMs);
            const { keepMs } = options;
            return releaseAll(this.#servers, this.#names, this.#lockId, { ms, keepMs, kind: this.#kind });
        });
    }

    #alone(work) {
        const done = this.#queue.then(work);
        this.#queue = done.catch(() => {});
        return done;
    }

    #heed(signal) {
        const abort = () => this.#abort(signal.reason);
        this.#forget = onAbort(signal, abort);
        if (signal?.aborted) abort();
    }

    #lose(loss) {
        if (this.#loss !== undefined) return;
        this.#loss = loss;
        clearTimeout(this.#timer);
        this.#forget();
        this.#abort(loss);
    }

    /** The first reason stays. */
    #abort(reason) {
        if (this.#reason !== undefined) return;
        this.#reason = reason;
        this.#controller?.abort(this.#made(reason));
    }

    /* ---- extension */

    async #extend(ttlMs, ms) {
        if (!this.held) throw this.#made(this.#loss);
        try {
            await forEachIndex(this.#names.length, (index) => this.#extendName(index, ttlMs, ms));
        } catch (error) {
            throw this.held ? error : this.#made(this.#loss);
        }
        this.#watch();
        const newGrant = this.#newGrant; // of this call, or of one that failed for another name
        this.#newGrant = false;
        if (newGrant) this.#onNewGrant(this);
        return { newGrant };
    }

    /** One that is lost is the lock lost at once: the other names may take long. */
    async #extendName(index, ttlMs, ms) {
        const request = {
            method: 'PATCH',
            path: pathOf(this.#names[index], this.#kind),
            body: { ttl_ms: ttlMs },
            headers: {
                'Lock-Id': this.#lockId,
                'Fencing-Token': String(this.#tokens[index]),
            },
        };
        try {
            this.#take(index, ttlMs, await this.#servers.askFor(ms, request, () => this.held));
        } catch (error) {
            if (error instanceof LockLost) this.#lose(error);
            throw about(error, 'extend', [this.#names[index]]);
        }
    }

    #take(index, ttlMs, answer) {
        const { server, sent, status, json } = answer;
        const isNew = status === 201;
        checkAbout(answer, this.#lockId, [this.#names[index]]);
        const afterMs = validityOf(answer, ttlMs);
        const isTokenRight = !isNew || (isToken(json.token) && json.token >= this.#tokens[index]);
        if (afterMs === undefined || !isTokenRight)
            throw new ProtocolError(`${server} extended a lock without a valid validity`, { code: 'protocol' });
        if (!this.held) throw this.#made(this.#loss); // the answer came too late
        if (isNew && this.#onNewGrant === undefined)
            throw this.#lost(
                'the lock @ was acquired again: another caller may have held it in between',
                'new-grant',
            );
        if (isNew) {
            this.#tokens[index] = json.token;
            this.#newGrant = true;
        }
        this.#ends[index] = { sent, afterMs };
    }

    /* ---- renewal */

    /** Looks at the lock now, and again when something is due. Timers may be late: see held. */
    #watch() {
        this.#watchFor(this.leftMs());
    }

    /** The same, where the validity ends in `leftMs`. */
    #watchFor(leftMs) {
        clearTimeout(this.#timer);
        if (leftMs === 0) return;
        if (leftMs <= this.#stopMs && this.#reason === undefined)
            this.#abort(this.#lost('the validity of the lock @ ends soon', 'ending'));
        if (this.#loss !== undefined) return; // who heard the signal released it
        let nextMs = leftMs > this.#stopMs ? leftMs - this.#stopMs : leftMs;
        if (this.#renewing && !this.#extending) {
            const dueMs = Math.max(leftMs - (this.#ttlMs * 2) / 3, this.#retryMs - steadyMs());
            if (dueMs <= 0) void this.#renewOnce(leftMs);
            else nextMs = Math.min(nextMs, dueMs);
        }
        this.#timer = setTimeout(() => this.#watch(), Math.min(Math.ceil(nextMs), WATCH_STEP_MS));
        this.#timer.unref();
    }

    async #renewOnce(leftMs) {
        this.#extending = true;
        const ms = Math.min(leftMs, this.#servers.callTimeoutMs);
        try {
            await this.#alone(() => this.#extend(this.#ttlMs, ms));
            this.#pauseMs = PAUSE_LEAST_MS;
        } catch (error) {
            if (error instanceof Unavailable) {
                this.#retryMs = steadyMs() + this.#pauseMs;
                this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MOST_MS);
            } else {
                this.#giveUp(error);
            }
        }
        this.#extending = false;
        this.#watch();
    }

    /** The lock is held until its deadline. There is time until then to stop the work. */
    #giveUp(cause) {
        this.#renewing = false;
        const sentence = 'the lock @ is not extended any more: ';
        const loss = this.#lost(sentence + cause.message, 'refused', cause);
        this.#abort(loss);
    }
}

/* ---- client ---------------------------------------------------------------------------------- */

const ACQUIRE_OPTIONS = [
    'ttlMs',
    'waitMs',
    'owner',
    'signal',
    'stopMs',
    'onWaiting',
    'onNewGrant',
    'permits',
    'delayMs',
    'mode',
];

function checkWanted(names, options) {
    checkOptions(options, ACQUIRE_OPTIONS);
    const list = Array.isArray(names) ? [...names] : [names];
    if (list.length < 1 || list.length > NAMES_MAX) refuse(`a lock must have 1 to ${NAMES_MAX} names`);
    const isSemaphore = options.permits !== undefined;
    if (isSemaphore && !(isCount(options.permits) && 1 <= options.permits && options.permits <= PERMITS_MAX))
        refuse(`permits must be 1 to ${PERMITS_MAX}`);
    if (isSemaphore && list.length > 1) refuse('a semaphore has one name');
    const { mode } = options;
    if (mode !== undefined && mode !== 'read' && mode !== 'write') refuse("mode is 'read' or 'write'");
    if (mode !== undefined && (isSemaphore || list.length > 1))
        refuse('a read-write lock has one name, and no permits');
    const asked = mode !== undefined ? 'rwlocks' : isSemaphore ? 'semaphores' : 'locks';
    const paths = list.map((name) => pathOf(name, asked));
    checkMs('ttlMs', options.ttlMs, 1, Number.MAX_SAFE_INTEGER);
    checkMs('delayMs', options.delayMs, 0, Number.MAX_SAFE_INTEGER);
    checkMs('waitMs', options.waitMs, 0, Infinity);
    checkMs('stopMs', options.stopMs, 0, Number.MAX_SAFE_INTEGER);
    checkOwner(options.owner);
    checkSignal(options.signal);
    checkFunction('onWaiting', options.onWaiting);
    checkFunction('onNewGrant', options.onNewGrant);
    const path = list.length > 1 ? '/v1/locks' : paths[0];
    // A writer is extended and released by its name. A reader has a seat, which is a lock.
    const kind = mode === 'write' ? 'rwlocks' : 'locks';
    return { ...options, names: list, path, kind, seats: mode === 'read' ? READERS_MAX : options.permits };
}

/** Throws why `lock` is not held. That it was released is no reason. */
function checkKept(lock) {
    try {
        if (!lock.held) lock.check();
    } catch (loss) {
        if (loss.code !== 'released') throw loss;
    }
}

const blocks = new AsyncLocalStorage(); // the locks of the withLock() that the code runs in

/** Throws Refused where the work of withLock() would wait for the lock that it runs under. */
function checkOwn(servers, { names, waitMs }) {
    if (waitMs === 0) return;
    for (const block of blocks.getStore() ?? []) {
        const name = names.find((one) => block.lock.names.includes(one));
        if (name === undefined || !block.servers.equals(servers) || !block.lock.held) continue;
        const error = new Refused(
            `this withLock() already holds ${name}, and the call would wait for ` +
                'itself: release the lock first, or do not wait (waitMs: 0)',
            { code: 'nested' },
        );
        error.resource = name;
        throw named(error);
    }
}

/**
 * A call that waits at a server: attempts, until one ends it or its time is over. A server that
 * answered before is waited for until the end of the wait. No answer from the start on: only for a
 * call's timeout.
 */
class Waiting {
    #servers;
    #signal;
    #firstMs; // the end of it where no server answers
    #askedMs = 0; // when the last attempt began
    #waitMs = 0; // what it was to wait
    answered = false; // a pawld or its gateway did: then it is worth to wait for it

    constructor(servers, untilMs, signal) {
        this.#servers = servers;
        this.untilMs = untilMs;
        this.#signal = signal;
        this.#firstMs = steadyMs() + servers.callTimeoutMs;
        this.patience = new Patience(this.#firstMs);
    }

    /** How long an attempt may wait now, `mostMs` at the most. */
    leftMs(mostMs) {
        return Math.min(Math.max(Math.ceil(this.untilMs - steadyMs()), 0), mostMs);
    }

    /** Whether the last attempt waited at a pawld. What ends such a wait is a gateway. */
    #didWait() {
        return this.#waitMs > 0 && steadyMs() - this.#askedMs >= CUT_LEAST_MS;
    }

    /** One attempt, which waits for `waitMs`. Throws what an answer without a `fine` status is. */
    async ask(request, waitMs, fine) {
        this.#waitMs = waitMs;
        this.#askedMs = steadyMs();
        const timeoutMs = waitMs + this.#servers.attemptMs(this.#servers.callTimeoutMs);
        let answer;
        try {
            answer = await this.#servers.ask({ ...request, timeoutMs, signal: this.#signal });
        } catch (error) {
            this.answered ||= error?.cut === true && this.#didWait();
            throw error;
        }
        const foreign = isForeign(answer);
        const isFine = !foreign && fine.includes(answer.status);
        let problem = isFine ? undefined : problemOf(answer);
        if (foreign && problem instanceof ProtocolError && (this.answered || this.#didWait()))
            problem = new Unavailable(problem.message, { code: 'no-answer' }); // of a gateway
        this.answered ||= !foreign || problem instanceof Unavailable;
        if (problem !== undefined) throw problem;
        return answer;
    }

    /**
     * Pauses before the next attempt. False: there is none. A wait that a gateway cut at its very
     * end is followed by one more attempt, which says how the lock is.
     */
    async goesOn() {
        const did = this.#didWait();
        if (did) this.patience.pauseMs = 0; // it was no hot loop, and its place is kept for a moment
        if (this.answered) this.patience.untilMs = Math.max(this.#firstMs, this.untilMs);
        return (await this.patience.pause(this.#signal)) || (did && this.answered);
    }
}

let random = Buffer.alloc(0); // for lock ids: one call for many, as it takes as long as for one

function newLockId() {
    if (random.length < LOCK_ID_BYTES) random = randomBytes(LOCK_ID_BYTES * BATCH_MAX);
    const id = random.toString('base64url', 0, LOCK_ID_BYTES);
    random = random.subarray(LOCK_ID_BYTES);
    return id;
}

/** One acquisition: attempts under one lock id, until one is granted or the time is over. */
class Acquisition {
    #servers;
    #wanted;
    #waiting;
    #lockId = newLockId();
    #beganMs = steadyMs();
    #inDoubt = false; // an attempt may have left the lock behind
    #told; // the next attempt waits: who holds the lock was said, or is not wanted
    #asked; // ends with the last request

    constructor(servers, wanted, untilMs) {
        this.#servers = servers;
        this.#wanted = wanted;
        this.#waiting = new Waiting(servers, untilMs, wanted.signal);
        this.#told = wanted.onWaiting === undefined && servers.count === 1;
    }

    /** Returns a lock, whose validity may have ended already: then it was released. */
    async run() {
        try {
            const lock = await this.#attempts();
            if (Lock.isKnownLost(lock)) await this.#cleanUp();
            return lock;
        } catch (error) {
            if (this.#inDoubt) await this.#cleanUp();
            throw error;
        }
    }

    /**
     * Nobody else knows the lock id: what was left behind would stay until its lease ends. A
     * request that is under way could still be granted after the release.
     */
    async #cleanUp() {
        const untilMs = steadyMs() + this.#servers.callTimeoutMs;
        await this.#asked?.catch(() => {});
        const leftMs = Math.max(untilMs - steadyMs(), LATE_MS);
        const { names, permits, mode } = this.#wanted; // of a semaphore, any seat may be left behind
        const left = permits ? Array.from({ length: permits }, (_, k) => `${names[0]}#${k}`) : names;
        const kind = mode === undefined ? 'locks' : 'rwlocks';
        await releaseAll(this.#servers, left, this.#lockId, { ms: leftMs, kind }).catch(() => {});
    }

    /* Somebody else's lock is waited for as a server that answered. */
    async #attempts() {
        for (;;) {
            this.#wanted.signal?.throwIfAborted();
            try {
                return await this.#attempt();
            } catch (error) {
                if (error instanceof Held) {
                    if (steadyMs() >= this.#waiting.untilMs) throw error;
                    this.#waiting.patience.pauseMs = PAUSE_LEAST_MS;
                    if (this.#tellHolder(error)) continue;
                } else if (!(error instanceof Unavailable)) {
                    throw error;
                }
                if (!(await this.#waiting.goesOn())) throw error;
            }
        }
    }

    async #attempt() {
        const { ttlMs: ttl_ms, delayMs, owner, names, path, permits, mode } = this.#wanted;
        const delay_ms = delayMs || undefined; // a server of before knows none
        const waitMs = this.#waitMs();
        const resources = names.length > 1 ? names : undefined;
        const request = {
            method: 'POST',
            path,
            headers: { 'Waited-Ms': Math.floor(steadyMs() - this.#beganMs) },
            body: { lock_id: this.#lockId, wait_ms: waitMs, ttl_ms, delay_ms, owner, resources, permits, mode },
            onAsked: (asked) => (this.#asked = asked),
        };
        let answer;
        try {
            answer = await this.#waiting.ask(request, waitMs, [200, 201]);
        } catch (error) {
            const isTold = error instanceof PawlError && !(error instanceof Unavailable);
            if (!isTold || error instanceof ProtocolError) this.#inDoubt ||= error?.reached ?? true;
            throw error;
        }
        this.#inDoubt = true;
        return new Lock(this.#servers, this.#wanted, this.#lockId, answer);
    }

    /**
     * The first attempt waits for nothing where somebody wants to hear who is in the way, and where
     * there are several servers: it finds out soon which of them answers.
     */
    #waitMs() {
        return this.#told ? this.#waiting.leftMs(WAIT_STEP_MS) : 0;
    }

    /** False: it was told before. */
    #tellHolder(error) {
        if (this.#told) return false;
        this.#told = true;
        const tell = this.#wanted.onWaiting;
        this.#wanted.onWaiting = undefined;
        tell?.(holderOf(error.problem));
        return true;
    }
}

function defaultServer() {
    try {
        accessSync(SOCKET_DEFAULT.slice(UNIX.length), fsConstants.W_OK);
        return SOCKET_DEFAULT;
    } catch {
        return SERVER_DEFAULT;
    }
}

/* ---- watching -------------------------------------------------------------------------------- */

/**
 * How a lock is. `token` is that of the grant that has the lock, and `owner` its holder's label;
 * both are undefined where nobody holds the lock.
 * @typedef {{held: boolean, token?: number, owner?: string}} State
 */

/**
 * The lock `name` as an answer tells it. Undefined: the masters differ on the holder's token, as a grant is
 * on its way, or ended halfway.
 */
function stateOf({ server, json }, name) {
    checkAbout({ server, json }, undefined, [name]);
    if (json?.held === false) return { held: false };
    if (json?.held === true && json.token === null) return undefined;
    if (json?.held !== true || !isToken(json.token))
        throw new ProtocolError(
            `${server} reported a lock without a valid holder or token`,
            { code: 'protocol' },
        );
    return { held: true, token: json.token, owner: textOf(json.owner) ?? '' };
}

function lookPath(path, known, waitMs) {
    return known === undefined ? path : `${path}?unless=${known.token ?? 'free'}&wait_ms=${waitMs}`;
}

/**
 * The first state of a lock that is not `known`; undefined: the time is over. A server that answers
 * sooner than it was asked to, and with nothing new, is asked again after a pause, as one that fails.
 */
async function look(servers, { name, path }, known, untilMs, signal) {
    const waiting = new Waiting(servers, untilMs, signal);
    let told = servers.count === 1; // the next attempt waits: which server answers is known
    waiting.answered = known !== undefined;
    for (;;) {
        const waits = told && known !== undefined;
        const waitMs = waits ? waiting.leftMs(LOOK_STEP_MS) : 0;
        let failure;
        try {
            const request = { method: 'GET', path: lookPath(path, known, waitMs) };
            const state = stateOf(await waiting.ask(request, waitMs, [200]), name);
            told = true;
            const isNew = known === undefined || state?.token !== known.token;
            if (state !== undefined && isNew) return state;
            if (steadyMs() >= untilMs) return undefined;
            if (known !== undefined && !waits) continue; // it did not wait: the next one does
        } catch (error) {
            if (!(error instanceof Unavailable)) throw error;
            failure = error;
        }
        if (await waiting.goesOn()) continue;
        if (failure !== undefined) throw failure;
        return undefined;
    }
}

/** Any number of locks may be asked for at the same time with one client. */
export class Client {
    #servers;

    /**
     * Throws Invalid.
     * @param {object} [options]
     * @param {string[]} [options.servers] URLs such as "http://127.0.0.1:7380", or
     *     "unix:/run/pawl/pawld.sock", the socket of pawld --listen. The next one is asked when one
     *     does not answer. Without them: those of PAWL_SERVER, with spaces between;
     *     or unix:/run/pawl/pawld.sock, where this process may connect to that socket; or
     *     http://127.0.0.1:7380
     * @param {number} [options.callTimeoutMs] how long a call may take, beyond what it waits for;
     *     5000 by default
     * @param {string} [options.key] "pawl_...", where the servers ask for one. Without it: that of
     *     PAWL_KEY, or none. It is sent with each call; use https beyond this machine
     * @param {{ca?: string|Buffer, cert?: string|Buffer, key?: string|Buffer}} [options.tls] for
     *     https://, in PEM: who is believed, and what is shown. Without it: the files that
     *     PAWL_CA_FILE, PAWL_CERT and PAWL_CERT_KEY name, or what Node believes
     */
    constructor(options = {}) {
        checkOptions(options, ['servers', 'callTimeoutMs', 'key', 'tls']);
        const { servers = (process.env.PAWL_SERVER ?? '').split(/\s+/).filter(Boolean) } = options;
        const { callTimeoutMs = CALL_TIMEOUT_DEFAULT_MS } = options;
        const { key = process.env.PAWL_KEY ?? '' } = options;
        if (!Array.isArray(servers)) refuse('servers must be an array of URLs');
        checkMs('callTimeoutMs', callTimeoutMs, 1, CALL_TIMEOUT_MOST_MS);
        const checked = checkServers(servers.length > 0 ? servers : [defaultServer()]);
        checkKey(key);
        const secure = checked.some((server) => server.secure);
        const tls = options.tls ?? (secure ? tlsOfEnvironment() : null);
        checkTls(tls);
        this.#servers = new Servers(checked, callTimeoutMs, tls, key);
    }

    /**
     * Acquires a lock. It is not extended by itself: see Lock.renew() and Lock.extend(). Repeats
     * where an answer is lost, under the same lock id, so that no lock is left behind that nobody
     * knows of. Where no server answers at all, it gives up after the call timeout.
     *
     * The work of withLock() that waits for its own lock is Refused: it would wait without end.
     *
     * Throws Held, Unavailable, Refused, Invalid, ProtocolError, or the reason of `signal`. What an
     * attempt may have left behind is released before, which takes at most the call timeout.
     * @param {string|string[]} names one name, or 2 to 64 that are acquired all or none
     * @param {object} [options]
     * @param {number} [options.permits] the name is of a semaphore with so many seats, 1 to 64, and
     *     one of them is acquired: see Lock.seat
     * @param {string} [options.mode] 'read' or 'write': the name is of a read-write lock, with many
     *     readers or one writer
     * @param {number} [options.ttlMs] the lease; the fleet's default without it
     * @param {number} [options.delayMs] how long others stay out after a lease that ends by itself;
     *     0 by default. A release lets them in at once
     * @param {number} [options.waitMs] how long to wait where another one holds it; Infinity by
     *     default: without end; 0: not at all
     * @param {string} [options.owner] a label that others see
     * @param {AbortSignal} [options.signal] ends the wait, and is passed on to Lock.signal
     * @param {number} [options.stopMs] how long before the end of the validity Lock.signal is
     *     aborted; a tenth of the lease by default, and half of it at the most
     * @param {(holder: {resource?: string, owner?: string, retryAfterMs?: number}) => void}
     *     [options.onWaiting] called at most once, before the wait begins
     * @param {(lock: Lock) => void} [options.onNewGrant] An extension may be a new grant: somebody
     *     else may have held the lock in between. Without this function the lock is lost then. With
     *     it the new tokens are taken, and it is called: claim with them, and read again what the
     *     work depends on.
     * @returns {Promise<Lock>}
     */
    async acquire(names, options = {}) {
        const wanted = checkWanted(names, options);
        checkOwn(this.#servers, wanted);
        const untilMs = steadyMs() + (wanted.waitMs ?? Infinity);
        try {
            return await this.#acquire(wanted, untilMs);
        } catch (error) {
            throw about(error, 'acquire', wanted.names);
        }
    }

    async #acquire(wanted, untilMs) {
        for (;;) {
            const lock = await new Acquisition(this.#servers, wanted, untilMs).run();
            if (!Lock.isKnownLost(lock)) return lock;
            if (steadyMs() >= untilMs)
                throw new Unavailable('its validity had ended when the answer came', {
                    code: 'too-late',
                });
        }
    }

    /**
     * The states of a lock, for `for await (const state of client.watch('leader'))`. The first one is
     * how the lock is now, and the next ones come as soon as it changes. No lock is taken.
     *
     * Only the last change is told where several came at once. A lock that was released and is held
     * again has a higher token. The holder may be gone when its state is told: a resource that checks
     * tokens tells for sure.
     *
     * Once a server has answered, failures of servers and gateways end no watch. Throws Invalid.
     * Iterating throws Unavailable, Refused, Invalid, ProtocolError, or the reason of `signal`.
     * @param {string} name
     * @param {object} [options]
     * @param {number} [options.waitMs] how long to watch; Infinity by default: without end; 0: the
     *     state now, and no more
     * @param {AbortSignal} [options.signal] ends the watch
     * @returns {AsyncGenerator<State, void, void>}
     */
    watch(name, options = {}) {
        checkOptions(options, ['waitMs', 'signal']);
        checkMs('waitMs', options.waitMs, 0, Infinity);
        checkSignal(options.signal);
        return this.#states(name, pathOf(name), options);
    }

    async *#states(name, path, { waitMs = Infinity, signal }) {
        const untilMs = steadyMs() + waitMs;
        let known;
        for (;;) {
            try {
                known = await look(this.#servers, { name, path }, known, untilMs, signal);
            } catch (error) {
                throw about(error, 'watch', [name]);
            }
            if (known === undefined) return;
            yield known;
        }
    }

    /**
     * Calls `work` under a lock, which is extended in the background, and released at the end. The
     * release takes at most the call timeout, and half a second where the validity has ended. One
     * that fails is not told: the lease ends by itself.
     * The process stays alive until then. The work may release the lock itself, as its last step.
     *
     * Throws what acquire() throws, and what `work` throws. Throws LockLost where the lock was lost
     * before the work ended.
     * @template T
     * @param {string|string[]} names
     * @param {object} options as for acquire(); may be left out
     * @param {(lock: Lock) => Promise<T>|T} work
     * @returns {Promise<T>} what `work` returned
     */
    async withLock(names, options, work) {
        if (typeof options === 'function') return this.withLock(names, {}, options);
        if (typeof work !== 'function') refuse('the work is no function');
        const lock = await this.acquire(names, options);
        lock.renew();
        const alive = setInterval(() => {}, ALIVE_STEP_MS); // the work may wait for the signal only
        try {
            const own = [...(blocks.getStore() ?? []), { lock, servers: this.#servers }];
            const result = await blocks.run(own, work, lock);
            checkKept(lock);
            return result;
        } finally {
            await lock.release().catch(() => {});
            clearInterval(alive);
        }
    }
}
