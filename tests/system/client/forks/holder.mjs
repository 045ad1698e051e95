/**
 * A holder of locks that starts processes, with the client for Node: see holder.py, whose input and
 * output it has. Node forks no process of itself: a child is a program that begins anew.
 * usage: holder.mjs spawn|fork|cluster DIRECT_URL
 */
import { fork, spawn } from 'node:child_process';
import cluster from 'node:cluster';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const { Client } = await import(`${process.env.PAWL_CLIENTS}/node/pawl.mjs`);

const TTL_MS = 30000;
const DUE_MS = (TTL_MS * 2) / 3 - 500; // an extension is due with so little left
const CHILD_MS = Number(process.env.PAWL_FORKS_SECONDS) * 1000;
const EXTENDED_MS = 10000;
const CALL_MS = 20000; // a child is waited for in the middle of one
const HERE = fileURLToPath(import.meta.url);

/** The child: it uses a client of its own, and ends. */
async function beChild(url, name) {
    process.send('up');
    const client = new Client({ servers: [url] });
    await client.withLock(`${name}/${process.pid}`, { ttlMs: 5000 }, (lock) => lock.check());
    if (cluster.isWorker) cluster.worker.disconnect();
    else process.disconnect?.();
}

const starts = {
    spawn: () => spawn('/bin/true', { stdio: 'ignore' }),
    fork: (url, name) => fork(HERE, ['child', url, name]),
    cluster: (url, name) => {
        cluster.setupPrimary({ exec: HERE, args: ['child', url, name] });
        return cluster.fork().process;
    },
};

async function startChild(kind, url, name) {
    const child = starts[kind](url, name);
    const up = new Promise((resolve) => {
        child.on(kind === 'spawn' ? 'spawn' : 'message', resolve);
    });
    const ended = new Promise((resolve) => {
        child.on('exit', (code) => resolve(code === 0 ? [] : [`the child ended with ${code}`]));
    });
    await Promise.race([ended, up]); // the start of an interpreter is not Pawl's
    const late = sleep(CHILD_MS, ['the child did not end in time'], { ref: false });
    const found = await Promise.race([ended, late]);
    child.kill('SIGKILL');
    return found;
}

async function failuresOfParent(lock) {
    if (!lock.held) return ['the lock is not held'];
    await lock.extend({ ttlMs: DUE_MS });
    const untilMs = Date.now() + EXTENDED_MS;
    while (lock.leftMs() <= DUE_MS + 500 && !lock.signal.aborted && Date.now() < untilMs)
        await sleep(2);
    const found = lock.leftMs() > DUE_MS + 500 ? [] : ['the lock is not extended'];
    return (await lock.release()) ? found : [...found, 'the lock was released'];
}

let lines; // of the input; a child leaves it alone
const readLine = async () => (await lines.next()).value ?? process.exit(0);
const tell = (who, found) => process.stdout.write(`${who} ${found.join('; ') || 'ok'}\n`);

async function playRound(kind, url, moment, name) {
    const client = new Client({ callTimeoutMs: CALL_MS });
    let lock;
    let call;
    if (moment === 'waiting') {
        call = client.acquire(name, { ttlMs: TTL_MS, waitMs: Infinity });
    } else {
        lock = await client.acquire(name, { ttlMs: TTL_MS });
        if (moment === 'extending') await lock.extend({ ttlMs: DUE_MS });
        if (moment === 'releasing') call = lock.release();
        else lock.renew();
    }
    await readLine();
    tell('child', await startChild(kind, url, name));
    await readLine();
    if (moment === 'releasing') return (await call) ? [] : ['the lock was released'];
    if (moment === 'waiting') {
        lock = await call;
        lock.renew();
    }
    return failuresOfParent(lock);
}

if (process.argv[2] === 'child') {
    await beChild(...process.argv.slice(3));
} else {
    const [kind, url] = process.argv.slice(2);
    lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
    for (;;) {
        const [moment, name] = (await readLine()).split(' ');
        try {
            tell('parent', await playRound(kind, url, moment, name));
        } catch (error) {
            tell('parent', [`${error.name}: ${error.message}`]);
        }
    }
}
