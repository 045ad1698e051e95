/* The held locks that the page knows: asked for page by page, and kept up by events. */
import { json, Problem } from '../shared/http.js';
import { onEvent } from './events.js';
import { judge } from './state.js';

const LIMIT = 1000; // of a page
const PAGES = 500; // asked for at most: a page may be empty though more follow
const KEPT = 20000; // locks in memory

export const locks = {
    prefix: '',
    wanted: LIMIT, // so many are asked for
    items: new Map(), // by name
    complete: false, // there are no others with the prefix
    at: 0, // when the listing was asked for
    problem: null,
    pages: 0, // that the last look took
};

/** When a grant began, by name and token. exact: an event told; else it was there by then. */
const began = new Map();
const grant = ({ resource, token }) => `${resource} ${token}`;

const seat = /#(\d+)$/;
export const isSeat = ({ resource }) => seat.test(resource);
/** "imports#0" is the seat 0 of "imports"; a lock has no seat. */
export const seatOf = (name) => (seat.test(name) ? Number(seat.exec(name)[1]) : null);
export const plainName = (name) => name.replace(seat, '');

function see(lock, at) {
    locks.items.set(lock.resource, { ...lock, at });
    if (!began.has(grant(lock))) began.set(grant(lock), { at, exact: false });
}

/** What is left of a lease, by the clock of the page. */
export const remaining = ({ remaining_ms: ms, at }, now = Date.now()) => Math.max(0, ms - (now - at));

export function heldFor(lock, now = Date.now()) {
    const since = began.get(grant(lock));
    return since ? { ms: now - since.at, exact: since.exact } : { ms: 0, exact: false };
}

/** Names that are held no more are dropped, with what was noted of them. */
function keepOnly(found) {
    for (const name of [...locks.items.keys()]) if (!found.has(name)) locks.items.delete(name);
    const held = new Set([...locks.items.values()].map(grant));
    for (const name of [...began.keys()]) if (!held.has(name)) began.delete(name);
}

const path = (prefix, cursor) =>
    `/v1/locks?${new URLSearchParams({ prefix, limit: LIMIT, ...(cursor ? { cursor } : {}) })}`;

/** Walks the listing from its beginning until as many as are wanted were found. */
async function walk(prefix) {
    const found = new Set();
    let cursor = null;
    let pages = 0;
    while (pages++ < PAGES) {
        const page = await json(path(prefix, cursor));
        const at = Date.now();
        if (prefix !== locks.prefix) return;
        page.locks.forEach((lock) => {
            found.add(lock.resource);
            see(lock, at);
        });
        cursor = page.next_cursor;
        if (cursor === null || found.size >= locks.wanted) break;
    }
    keepOnly(found);
    locks.complete = cursor === null;
    locks.pages = pages;
}

export async function refreshLocks() {
    const { prefix } = locks;
    try {
        await walk(prefix);
        locks.problem = null;
        locks.at = Date.now();
    } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        judge(problem);
        locks.problem = problem;
    }
}

/** A search that took many pages is not made again so soon. */
export const listingMs = () => 5000 * Math.max(1, locks.pages / 2);

export function search(prefix) {
    Object.assign(locks, { prefix, wanted: LIMIT, complete: false, at: 0, problem: null });
    forgetLocks();
}

export function wantMore() {
    locks.wanted = Math.min(KEPT, locks.wanted + LIMIT);
}

export const mayWantMore = () => !locks.complete && locks.wanted < KEPT;

export function forgetLocks() {
    locks.items.clear();
    began.clear();
    locks.at = 0;
}

/** Grants that came and went between two listings are forgotten here. */
const BEGAN_MAX = 50000;

const ends = new Set(['released', 'expired', 'lost', 'broken']);

onEvent((event) => {
    const known = locks.items.get(event.resource);
    if (event.kind === 'granted' && began.size < BEGAN_MAX) began.set(grant(event), { at: event.at, exact: true });
    if (ends.has(event.kind)) began.delete(grant(event));
    if (event.kind === 'extended' && known?.token === event.token) see({ ...known, remaining_ms: event.validity_ms }, event.at);
    if (event.kind === 'granted' && event.resource.startsWith(locks.prefix) && locks.items.size < locks.wanted)
        see({ resource: event.resource, token: event.token, owner: event.owner ?? '', remaining_ms: event.validity_ms, waiters: 0 }, event.at);
    if (ends.has(event.kind) && known && !(known.token > event.token)) locks.items.delete(event.resource);
});
