/* The driver of the client for Node: ../README.md has the commands. */
import process from 'node:process';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

const clients = process.env.PAWL_CLIENTS ?? new URL('../../../api/client', import.meta.url).pathname;
const { Client } = await import(`${clients}/node/pawl.mjs`);
const LEFT_OUT = {
    counter: 'the client for Node has no counters', inspect: 'the client for Node has watch() in its place',
    fork: 'tests/system/client/forks', fork_in_block: 'tests/system/client/forks',
    end: 'process.exit() ends a program of Node at once', close: 'agents of Node close idle connections', group: 'the client for Node sends a batch',
};
const KINDS = {
    Held: 'held', Invalid: 'invalid', LockLost: 'lost', ProtocolError: 'protocol', Refused: 'refused',
    Exhausted: 'exhausted', Unavailable: 'unavailable', TimeoutError: 'cancelled',
};
let client;
let lock;

/** The options that are not "-". */
function given(options) {
    const some = Object.entries(options).filter(([, text]) => text !== '-');
    return Object.fromEntries(some.map(([name, text]) => [name, ['owner', 'mode'].includes(name) ? text : Number(text)]));
}

const tokens = () => [...lock.tokens.values()].join(' ');

async function watch(waitMs, count, name) {
    const told = [];
    for await (const { held, token, owner } of client.watch(name, given({ waitMs }))) {
        told.push(held ? `held ${token} ${owner}` : 'free');
        if (told.length === Number(count)) break;
    }
    return told.join(', ');
}

const stopped = (signal) => new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', resolve);
});

const commands = {
    client(callTimeoutMs, servers, key) {
        const some = servers === '-' ? {} : { servers: servers.split(' ') };
        client = new Client({ ...some, callTimeoutMs: Number(callTimeoutMs), key });
    },
    async acquire(waitMs, ttlMs, owner, ...names) {
        lock = await client.acquire(names, given({ waitMs, ttlMs, owner }));
        return tokens();
    },
    async seat(waitMs, ttlMs, permits, name) {
        lock = await client.acquire(name, given({ waitMs, ttlMs, permits }));
        return `${lock.seat} ${tokens()}`;
    },
    async rwlock(waitMs, ttlMs, mode, name) {
        lock = await client.acquire(name, given({ waitMs, ttlMs, mode }));
        return mode === 'read' ? `${lock.seat} ${tokens()}` : tokens();
    },
    async delayed(delayMs, ttlMs, name) {
        lock = await client.acquire(name, given({ delayMs, ttlMs }));
        return tokens();
    },
    keep: (keepMs) => lock.release(given({ keepMs })),
    async extend(ttlMs) {
        await lock.extend(given({ ttlMs }));
        return tokens();
    },
    release: () => lock.release(),
    left: () => lock.leftMs(),
    renew: () => lock.renew(),
    async stopped() {
        await stopped(lock.signal);
        return lock.leftMs();
    },
    nested: (waitMs, name) => client.withLock(name, { ttlMs: 5000 }, async () => {
        await client.acquire(name, given({ waitMs }));
    }),
    cancel: (ms, name) => client.acquire(name, { signal: AbortSignal.timeout(Number(ms)) }),
    watch,
    /** Whoever wanted the work no longer does. */
    leave: (name) => client.withLock(name, { ttlMs: 5000 }, async () => {
        const signal = AbortSignal.timeout(300);
        await sleep(60000, undefined, { signal }).catch(() => signal.throwIfAborted());
    }),
    interrupt: (name) => client.withLock(name, { ttlMs: 5000, signal: AbortSignal.timeout(300) }, () => {}),
    handle: () => void process.on('SIGUSR1', () => {}),
    threads: () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length,
};

for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split('\t');
    let [kind, value, text] = command in commands ? ['ok', '', ''] : ['none', '', LEFT_OUT[command] ?? ''];
    try {
        value = (await commands[command]?.(...words)) ?? '';
    } catch (error) {
        kind = error.code === 'new-grant' ? error.code : KINDS[error.name] ?? `another error: ${error.stack}`;
        text = `${error.message} ${error.code} ${error.owner} ${error.resource} ${inspect(error.problem)}`;
    }
    process.stdout.write([kind, value, text].map((one) => `${one}`.replaceAll('\n', ' ')).join('\t') + '\n');
}
process.exit();
