/* What each recipe has to do. A store is an object of async functions:
 *
 *     claim(name, token)           raises the guard, and returns the number that stands there, or 0
 *     write(name, token, number)   writes it under the token
 *     read(name), overwrite(name, number)   as a program does that knows no tokens
 *
 * claim and write throw Stale where the recipe refuses. A recipe that reads and then writes if unchanged
 * has one more function, not async: afterRead(act) has it act once, between its next read and write. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { end, startPawld } from './servers.mjs';

export class Stale extends Error {}

const WRITERS = 4;
const RACE_MS = 3500;
const TTL_MS = 200;
const WAIT_MS = 1000;
const LATE_PART = 0.3; // of the pauses; they last longer than the lease
const TOKEN_MAX = Number.MAX_SAFE_INTEGER;

const between = (least, most) => least + Math.random() * (most - least);
const isLate = () => Math.random() < LATE_PART;
const pause = (late) => sleep(late ? between(1.2 * TTL_MS, 3 * TTL_MS) : between(0, 0.05 * TTL_MS));

const refuses = (promise) => assert.rejects(promise, Stale);

const rules = {
    async first_claim_finds_nothing(store, name) {
        assert.equal(await store.claim(name, 1), 0);
    },
    async holder_writes_twice_under_one_token(store, name) {
        await store.claim(name, 7);
        await store.claim(name, 7);
        await store.write(name, 7, 70);
        await store.write(name, 7, 71);
        assert.equal(await store.claim(name, 7), 71);
    },
    async claim_keeps_what_was_written(store, name) {
        await store.claim(name, 1);
        await store.write(name, 1, 10);
        assert.equal(await store.claim(name, 2), 10);
        assert.equal(await store.read(name), 10);
    },
    async refused_write_leaves_nothing(store, name) {
        await store.claim(name, 3);
        await store.write(name, 3, 30);
        await store.claim(name, 4);
        await refuses(store.write(name, 3, 31));
        await refuses(store.claim(name, 3));
        assert.equal(await store.read(name), 30);
        await store.write(name, 4, 40);
        assert.equal(await store.read(name), 40);
    },
    async ten_is_higher_than_nine(store, name) {
        await store.claim(name, 9);
        await store.claim(name, 10);
        await refuses(store.write(name, 9, 90));
        await refuses(store.claim(name, 9));
        await store.write(name, 10, 100);
    },
    async highest_token_is_judged_to_its_last_digit(store, name) {
        await store.claim(name, TOKEN_MAX - 1);
        await store.claim(name, TOKEN_MAX);
        await refuses(store.write(name, TOKEN_MAX - 1, 1));
        await refuses(store.claim(name, TOKEN_MAX - 1));
        await store.write(name, TOKEN_MAX, 2);
        assert.equal(await store.claim(name, TOKEN_MAX), 2);
    },
};

/* For recipes of which the step is a read and a write if unchanged. */
const rulesBetween = {
    async claim_after_the_read_refuses_the_write(store, name) {
        await store.claim(name, 1);
        await store.write(name, 1, 10);
        store.afterRead(() => store.claim(name, 2));
        await refuses(store.write(name, 1, 11));
        assert.equal(await store.read(name), 10);
    },
    async claim_after_the_read_refuses_the_first_claim(store, name) {
        store.afterRead(() => store.claim(name, 2));
        await refuses(store.claim(name, 1));
        await store.write(name, 2, 20);
    },
    async claim_returns_what_was_written_after_its_read(store, name) {
        await store.claim(name, 1);
        store.afterRead(() => store.write(name, 1, 10));
        assert.equal(await store.claim(name, 2), 10);
        assert.equal(await store.read(name), 10);
    },
};

async function acquire(locks, name) {
    const answer = await fetch(`${locks}/${name}`, { method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ ttl_ms: TTL_MS, wait_ms: WAIT_MS }) });
    const grant = await answer.json();
    if (answer.status === 503) { // a disk of a busy machine was slow
        await sleep(TTL_MS);
        return null;
    }
    assert.ok(answer.status === 201 || answer.status === 409, JSON.stringify(grant));
    return answer.status === 201 ? grant : null;
}

async function release(locks, name, grant) {
    const answer = await fetch(`${locks}/${name}`, { method: 'DELETE',
        headers: { 'Lock-Id': grant.lock_id, 'Fencing-Token': String(grant.token) } });
    await answer.arrayBuffer();
}

/** Adds 1 under a grant, with one pause before the claim and one before the write. */
async function addGuarded(store, name, token) {
    const late = isLate();
    const first = Math.random() < 0.3;
    await pause(late && first);
    const number = await store.claim(name, token);
    await pause(late && !first);
    await store.write(name, token, number + 1);
}

async function addUnguarded(store, name) {
    const number = await store.read(name);
    await pause(isLate());
    await store.overwrite(name, number + 1);
}

/** Writers add 1 to one number until the time is up: {done, refused, lost}. */
async function race(store, locks, name, add) {
    const stopAt = performance.now() + RACE_MS;
    const tally = { done: 0, refused: 0 };
    const writer = async () => {
        while (performance.now() < stopAt) {
            const grant = await acquire(locks, name);
            if (!grant) {
                continue;
            }
            try {
                await add(store, name, grant.token);
                tally.done++;
            } catch (error) {
                if (!(error instanceof Stale)) {
                    throw error;
                }
                tally.refused++;
            }
            await release(locks, name, grant);
        }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
    return { ...tally, lost: tally.done - await store.read(name) };
}

async function lateWritersLoseNothing(store) {
    const locks = await startPawld();
    const [guarded, unguarded] = await Promise.all([
        race(store, locks, 'guarded', addGuarded),
        race(store, locks, 'unguarded', addUnguarded),
    ]);
    console.log(`with the recipe: ${guarded.done} written, ${guarded.refused} refused, ${guarded.lost} lost`);
    console.log(`without it: ${unguarded.done} written, ${unguarded.lost} lost`);
    assert.equal(guarded.lost, 0, 'the recipe lost updates');
    assert.ok(guarded.refused > 0, 'nobody was late: the race shows nothing');
    assert.ok(unguarded.lost > 0, 'nothing is lost without the recipe: the race shows nothing');
}

/** A hook for afterRead: {set, run}. What is set is run once. */
export function once() {
    let next = null;
    return {
        set: (act) => {
            next = act;
        },
        run: async () => {
            const act = next;
            next = null;
            await act?.();
        },
    };
}

/** Runs all on the store, and ends the program. */
export async function judge(store) {
    let failed = 0;
    const attempt = async (name, rule) => {
        try {
            await rule();
            console.log(`ok: ${name}`);
        } catch (error) {
            failed++;
            console.log(`FAILED: ${name}: ${error.stack}`);
        }
    };
    const all = store.afterRead ? { ...rules, ...rulesBetween } : rules;
    for (const [name, rule] of Object.entries(all)) {
        await attempt(name, () => rule(store, name));
    }
    await attempt('late_writers_lose_nothing', () => lateWritersLoseNothing(store));
    end();
    process.exit(failed ? 1 : 0);
}
