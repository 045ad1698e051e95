// The locks that scripts/sets compares. Each is made with the ports of its servers, as one client reaches
// them, and has
//
//     acquire(name)   { token, release() }; throws where the lock cannot be had just now
//
// token is undefined where the lock has none.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client } from '../../api/client/node/pawl.mjs';

const LEASE_MS = 2000; // the shortest that etcd grants with its defaults
const KEEP_MS = 500;   // between two signs of life to etcd, while a client waits and while it holds
const CALL_MS = 10000; // for which a call may last, waiting included
const AGAIN_MS = 30;   // between two tries, at most twice this

const again = () => sleep(AGAIN_MS * (1 + Math.random()));

function pawl({ ports }) {
    const client = new Client({ servers: ports.map((port) => `http://127.0.0.1:${port}`) });
    return {
        async acquire(name) {
            const lock = await client.acquire(name, { ttlMs: LEASE_MS, waitMs: CALL_MS });
            return { token: lock.token, release: () => lock.release() };
        },
    };
}

/** A lease that is kept alive, and the lock service of etcd, as `etcdctl lock` uses both. */
function etcd({ ports: [port], guarded }) {
    const encode = (text) => Buffer.from(text).toString('base64');
    const call = async (path, body, ms = CALL_MS) => {
        const response = await fetch(`http://127.0.0.1:${port}/v3/${path}`, {
            method: 'POST',
            body: JSON.stringify(body),
            signal: AbortSignal.timeout(ms),
        });
        if (!response.ok) throw new Error(`etcd: ${response.status}`);
        return response.json();
    };
    // The create_revision of the key that the lock stands for. A lock that ended meanwhile has none.
    const tokenOf = async (key) => {
        const { kvs } = await call('kv/range', { key });
        if (!kvs) throw new Error('etcd: the lock ended before its token was read');
        return Number(kvs[0].create_revision);
    };
    return {
        async acquire(name) {
            const { ID } = await call('lease/grant', { TTL: LEASE_MS / 1000 });
            const keeping = setInterval(() => call('lease/keepalive', { ID }, LEASE_MS).catch(() => {}), KEEP_MS);
            const end = async (key) => {
                clearInterval(keeping);
                if (key) await call('lock/unlock', { key });
                await call('lease/revoke', { ID });
            };
            try {
                const { key } = await call('lock/lock', { name: encode(name), lease: ID });
                return { token: guarded ? await tokenOf(key) : undefined, release: () => end(key) };
            } catch (error) {
                await end().catch(() => {});
                throw error;
            }
        },
    };
}

const TAKE = `
    if not redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then return 0 end
    return redis.call('incr', KEYS[2])`;
const LEAVE = "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0";

/** A value of the client's own with NX and PX, and a compared DEL, on the Redis that is master now. The token
 * is a counter beside the lock, raised in the same script. */
function redisson({ ports, peers, current }) {
    const { Redis } = peers('ioredis');
    const servers = ports.map((port) => {
        const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, commandTimeout: LEASE_MS });
        redis.on('error', () => {});
        return redis;
    });
    const master = () => servers[Number(readFileSync(current, 'utf8'))];
    return {
        async acquire(name) {
            const value = randomUUID();
            for (;;) {
                const redis = master();
                const token = await redis.eval(TAKE, 2, name, `${name}:token`, value, LEASE_MS);
                if (token > 0) return { token, release: () => redis.eval(LEAVE, 1, name, value) };
                await again();
            }
        },
    };
}

/** The package, which tries again as it is told to. */
function redlock({ ports, peers }) {
    const { Redis } = peers('ioredis');
    const { default: Redlock } = peers('redlock');
    const servers = ports.map((port) => {
        const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, commandTimeout: LEASE_MS / 4 });
        redis.on('error', () => {});
        return redis;
    });
    const locks = new Redlock(servers, { retryCount: 100, retryDelay: AGAIN_MS, retryJitter: AGAIN_MS });
    locks.on('error', () => {});
    return {
        async acquire(name) {
            const lock = await locks.acquire([name], LEASE_MS);
            return { release: () => lock.release() };
        },
    };
}

/** peers: where the packages of npm are that some locks are made with. */
export function lockOf(kind, options) {
    const peers = options.peers && createRequire(join(options.peers, 'package.json'));
    return { pawl, etcd, redisson, redlock }[kind]({ ...options, peers });
}
