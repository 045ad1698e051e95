/* What happened, as the server tells it: the last events, and how to stay with them. */
import { hasKey } from '../shared/http.js';
import { readStream } from './stream.js';

const KEPT = 5000; // events in memory, and as many older ones of trouble
const AGAIN_MS = [1000, 2000, 5000, 10000];
const UNKNOWN_MS = 60000; // a server without events is asked again so seldom

export const events = {
    live: false,
    missing: false, // the server has no events
    items: [], // the newest last
    older: [], // before these: trouble only
    begun: 0, // when the page began to listen
    count: 0, // all that came
};

const trouble = new Set(['lost', 'broken', 'refused', 'expired', 'master', 'fleet', 'gap']);
export const isTrouble = ({ kind }) => trouble.has(kind);

/** All that the page still has. */
export const kept = () => (events.older.length > 0 ? [...events.older, ...events.items] : events.items);

let control = null;
let wake = null;
let lastId = '';
let ended = 0; // streams that ended without an event, one after the other
const listeners = [];

/** `listener` is called with each event. */
export const onEvent = (listener) => listeners.push(listener);

/** Makes of `at` milliseconds since 1970. */
const timeOf = (at) => (typeof at === 'number' ? at : Date.parse(at));

function take({ id, kind, data }) {
    let told;
    try {
        told = JSON.parse(data);
    } catch {
        return;
    }
    if (id) lastId = id;
    ended = 0;
    const event = { ...told, kind, id, at: timeOf(told.at) || Date.now(), number: events.count++ };
    events.items.push(event);
    if (events.items.length > KEPT * 1.1) {
        events.older.push(...events.items.splice(0, events.items.length - KEPT).filter(isTrouble));
        events.older.splice(0, events.older.length - KEPT);
    }
    listeners.forEach((listener) => listener(event));
}

/** Sleeps, unless it is woken: by another key, say. */
const pause = (ms) =>
    new Promise((resolve) => {
        wake = resolve;
        setTimeout(resolve, ms);
    });

async function follow(prefix, changed) {
    control = new AbortController();
    const path = `/v1/events?prefix=${encodeURIComponent(prefix)}`;
    const opened = () => {
        Object.assign(events, { live: true, missing: false, begun: events.begun || Date.now() });
        changed();
    };
    const event = (each) => {
        take(each);
        changed();
    };
    try {
        await readStream({ path, lastId, opened, event, signal: control.signal });
    } catch ({ status }) {
        events.missing = status === 404;
    }
    const was = events.live;
    events.live = false;
    if (was) changed();
}

/** Stays with the events for as long as the page is there. `locked`: a key is needed. */
export async function followEvents({ prefix, locked, changed }) {
    for (;;) {
        if (!locked() || hasKey()) await follow(prefix(), changed);
        await pause(events.missing ? UNKNOWN_MS : AGAIN_MS[Math.min(ended++, AGAIN_MS.length - 1)]);
    }
}

/** Begins again: with another key or prefix. Nothing of the other key is kept. */
export function restartEvents() {
    lastId = '';
    ended = 0;
    Object.assign(events, { items: [], older: [], begun: 0, count: 0, missing: false });
    control?.abort();
    wake?.();
}
