/* A client that writes down when it believed to hold a lock, for tests that look for two believers
 * at a time. It acquires PAWL_NAME of PAWL_SERVER again and again for PAWL_SECONDS. To
 * PAWL_BELIEF_FILE it appends a line "BEGIN_US END_US TOKEN LOCK_ID" every few milliseconds while
 * the client says that the lock is held.
 *
 * Times are microseconds of CLOCK_BOOTTIME. A line claims no time outside of the belief. */
import { appendFileSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import * as pawl from '../../../api/client/node/pawl.mjs';

const { PAWL_NAME, PAWL_SECONDS, PAWL_BELIEF_FILE } = process.env;
const TTL_LEAST_MS = 1000;
const TTL_MOST_MS = 2000;
const WORK_MOST_MS = 3000;
const STEP_MS = 5; // between two looks
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

/** Believes for `workMs`, or as long as the client does. */
async function believe(lock, workMs) {
    const endMs = performance.now() + workMs;
    let beginUs = notBeforeNowUs();
    while (performance.now() < endMs) {
        const { token, lockId } = lock;
        const nowUs = notAfterNowUs(); // before the look: what is held then was held now
        if (!lock.held) return;
        if (nowUs > beginUs) {
            appendFileSync(PAWL_BELIEF_FILE, `${beginUs} ${nowUs} ${token} ${lockId}\n`);
            beginUs = nowUs;
        }
        await sleep(STEP_MS);
    }
}

async function holdOnce(client) {
    const ttlMs = between(TTL_LEAST_MS, TTL_MOST_MS);
    const lock = await client.acquire(PAWL_NAME, { ttlMs, waitMs: 1000, owner: `${process.pid}` });
    lock.renew();
    await believe(lock, between(0, WORK_MOST_MS));
    if (Math.random() < 0.5) {
        await lock.release();
    } else {
        lock.stopRenewing();
        await believe(lock, Infinity);
    }
}

const client = new pawl.Client({ callTimeoutMs: 2000 });
const endMs = performance.now() + Number(PAWL_SECONDS) * 1000;
while (performance.now() < endMs) {
    try {
        await holdOnce(client);
    } catch (error) {
        const isUsual = [pawl.Held, pawl.LockLost, pawl.Unavailable].some(
            (kind) => error instanceof kind,
        );
        if (!isUsual) throw error;
        await sleep(STEP_MS);
    }
}
