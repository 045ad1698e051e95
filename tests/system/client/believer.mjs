/* The believer of the Node client (README.md). Times are microseconds of CLOCK_BOOTTIME, which Node
 * has no call for: they are bounded from both sides, and a line claims no time outside of the belief. */
import { appendFileSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import * as pawl from '../../../api/client/node/pawl.mjs';

const { PAWL_NAME, PAWL_SECONDS, PAWL_BELIEF_FILE } = process.env;
const TTL_LEAST_MS = 1000;
const TTL_MOST_MS = 2000;
const HOLD_MOST_MS = 3000;
const STEP_MS = 10; // between two looks
const RUNS_OUT = 0.1; // the part of the locks that are not released
const TICKS = 10; // of /proc/uptime that are looked at
const TICK_US = 10000;

const between = (least, most) => Math.round(least + Math.random() * (most - least));
const steadyUs = () => Number(process.hrtime.bigint() / 1000n);
const uptimeUs = () => Math.round(Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 1e6);

/** The boot clock is ahead of Node's by at least `least` and at most `most`. It looks at the ticks,
 * so the bounds differ by little more than two readings take. */
function findOffsets() {
    let least = -Infinity;
    let most = Infinity;
    for (let tick = 0; tick < TICKS; tick++) {
        let before = steadyUs();
        const last = uptimeUs();
        let next = last;
        while (next === last) {
            most = Math.min(most, last + TICK_US - before);
            before = steadyUs();
            next = uptimeUs();
        }
        least = Math.max(least, next - steadyUs());
    }
    return { least, most };
}

const offsets = findOffsets();
const notBeforeNowUs = () => steadyUs() + offsets.most;
const notAfterNowUs = () => steadyUs() + offsets.least;

const write = (...words) => appendFileSync(PAWL_BELIEF_FILE, `${words.join(' ')}\n`);

/** Believes for `workMs`, or as long as the client does. */
async function believe(lock, workMs) {
    const endMs = performance.now() + workMs;
    let beginUs = notBeforeNowUs();
    for (;;) {
        const { token, lockId } = lock;
        const nowUs = notAfterNowUs(); // before the look: what is held then was held now
        if (!lock.held) {
            write('LOST', notBeforeNowUs(), token, lockId);
            return;
        }
        if (nowUs > beginUs) {
            write(beginUs, nowUs, token, lockId);
            beginUs = notBeforeNowUs();
        }
        if (performance.now() >= endMs) return;
        await sleep(STEP_MS); // and look once more: the process may have been stopped
    }
}

async function holdOnce(client) {
    const ttlMs = between(TTL_LEAST_MS, TTL_MOST_MS);
    const lock = await client.acquire(PAWL_NAME, { ttlMs, waitMs: 2000, owner: `${process.pid}` });
    if (Math.random() < RUNS_OUT) {
        await believe(lock, Infinity);
        return;
    }
    lock.renew();
    await believe(lock, HOLD_MOST_MS * Math.random() ** 6);
    await lock.release();
}

const client = new pawl.Client({ callTimeoutMs: 2000 });
const endMs = performance.now() + Number(PAWL_SECONDS) * 1000;
while (performance.now() < endMs) {
    try {
        await holdOnce(client);
    } catch (error) {
        const isUsual = [pawl.Held, pawl.LockLost, pawl.Unavailable, pawl.Exhausted].some(
            (kind) => error instanceof kind,
        );
        if (!isUsual) throw error;
        await sleep(STEP_MS);
    }
}
