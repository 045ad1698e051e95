/* The status page of pawld: what it shows where, and how often it asks. */
import { h } from '../shared/dom.js';
import { hasKey } from '../shared/http.js';
import { keyButton } from '../shared/key.js';
import { beat, drawer, paced, place, shell } from '../shared/shell.js';
import { clock } from '../shared/words.js';
import { countersView, forgetCounters, refreshCounters } from './counters_view.js';
import { events, followEvents, restartEvents } from './events.js';
import { eventsView, troubleView } from './events_view.js';
import { forgetLock, lockView, openLock, refreshLock } from './lock_view.js';
import { forgetLocks, listingMs, locks, refreshLocks } from './locks.js';
import { locksView, rankingsView, semaphoresView } from './locks_view.js';
import { mastersView } from './masters.js';
import { ratesView, scrape } from './rates.js';
import { askFleet, refresh, state } from './state.js';
import { verdict, verdictView } from './verdict.js';

const FLEET_MS = 2000;
const METRICS_MS = 5000;
const COUNTERS_MS = 5000;
const EVENTS_MS = 250; // nobody reads faster, and a table of events takes long to draw

const ways = [
    ['', 'Overview'],
    ['locks', 'Locks'],
    ['semaphores', 'Semaphores'],
    ['counters', 'Counters'],
    ['events', 'Events'],
];

const overview = () => [verdictView(), !state.locked && [rankingsView(), troubleView(), mastersView(), ratesView()]];

/** For each place: what it shows, what it asks for, and how often. */
const views = {
    '': { show: overview, ask: refreshLocks, everyMs: listingMs },
    locks: { show: () => locksView(askNow, draw), ask: refreshLocks, everyMs: listingMs },
    lock: { show: (name) => lockView(name, draw), ask: refreshLock, everyMs: () => FLEET_MS },
    semaphores: { show: semaphoresView, ask: refreshLocks, everyMs: listingMs },
    counters: { show: () => countersView(askNow), ask: refreshCounters, everyMs: () => COUNTERS_MS },
    events: { show: () => eventsView(draw) },
};

function here() {
    const [first, rest] = place();
    if (first === 'locks' && rest) return [views.lock, rest];
    return [views[first] ?? views[''], rest];
}

function fresh() {
    if (state.silent) return ['bad', state.heardAt ? `no answer since ${clock(state.heardAt)}` : 'no answer'];
    if (state.locked) return ['', 'not signed in'];
    return events.live ? ['live', 'live'] : ['', `asks every ${FLEET_MS / 1000} s`];
}

const signedOut = () => [verdictView(), h('p', null, 'This page needs a key.')];

function footer() {
    const { fleet } = state;
    return fleet && h('footer', null, `pawld ${fleet.version}, ${fleet.workers} ${fleet.workers === 1 ? 'worker' : 'workers'}, ${fleet.connections} connections. Fleet ${fleet.fleet_id?.slice(0, 8) ?? 'not known yet'}. `,
        h('a', { href: '/openapi.json' }, 'OpenAPI'), ' · ', h('a', { href: '/story' }, 'The story of a stale write'));
}

function drawAll() {
    const [view, rest] = here();
    const [stateClass, words] = fresh();
    document.title = `${verdict().tone === 'bad' ? '✕ ' : ''}Pawl, ${location.host}`;
    shell({
        name: 'pawld',
        ways,
        state: words,
        stateClass,
        button: (state.locked || hasKey()) && keyButton(askFleet, keyChanged), // a server without keys asks for none
        view: [state.locked && view !== views[''] ? signedOut() : view.show(rest), footer()],
    });
}

const draw = drawer(drawAll);

let turnFleet = () => {};
let askedAt = 0;

async function askView(now = false) {
    const [view, rest] = here();
    if (!view.ask || state.locked || state.silent) return;
    if (!now && Date.now() - askedAt < view.everyMs() - 50) return;
    askedAt = Date.now();
    await view.ask(rest);
    draw();
}

function askNow() {
    draw();
    askView(true).catch((error) => console.error(error));
}

/** What one key saw is not for the next. */
function keyChanged() {
    forgetLock();
    forgetLocks();
    forgetCounters();
    restartEvents();
    state.fleet = null;
    state.locked = false;
    turnFleet();
    draw();
}

/** The reader goes on at the top of the new place. */
function moved() {
    const [view, rest] = here();
    if (view === views.lock) openLock(rest);
    drawAll();
    scrollTo(0, 0);
    document.getElementById('main').focus();
    askNow();
}

addEventListener('hashchange', () => {
    if (location.hash === '' || location.hash.startsWith('#/')) moved();
});

openLock(here()[0] === views.lock ? here()[1] : '');
drawAll();
turnFleet = beat(async () => {
    await refresh();
    draw();
    await askView();
}, FLEET_MS);
beat(async () => {
    if (state.fleet && !state.locked && !state.silent) await scrape().catch(() => {});
    draw();
}, METRICS_MS);
setInterval(draw, 1000); // what is left of leases
followEvents({ prefix: () => locks.prefix, locked: () => state.locked, changed: paced(draw, EVENTS_MS) });
