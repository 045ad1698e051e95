/* The page of one lock: who holds it, under which token, for how long, and who waits. */
import { h } from '../shared/dom.js';
import { inPath, json, Problem } from '../shared/http.js';
import { count, duration, several } from '../shared/words.js';
import { breakLock } from './breaking.js';
import { events, kept } from './events.js';
import { eventsTable } from './events_view.js';
import { heldFor, locks, plainName, remaining, seatOf } from './locks.js';
import { heldWords } from './locks_view.js';
import { judge } from './state.js';

const SHOWN = 50; // of its events

let lock = null; // of GET /v1/locks/{name}, and when it was asked
let problem = null;
let broken = ''; // what became of the last break

export function forgetLock() {
    lock = null;
    problem = null;
    broken = '';
}

export function openLock(name) {
    if (lock?.resource !== name) forgetLock();
}

export async function refreshLock(name) {
    try {
        const answer = await json(`/v1/locks/${inPath(name)}`);
        lock = { ...answer, resource: name, at: Date.now() };
        problem = null;
    } catch (failed) {
        if (!(failed instanceof Problem)) throw failed;
        judge(failed);
        problem = failed;
    }
}

const waiting = () => (lock.waiters === 1 ? 'One call waits for this lock here.' : lock.waiters > 0 ? `${count(lock.waiters)} calls wait for this lock here.` : 'No call waits for this lock here.');

function summary() {
    if (!lock.held) return 'The lock is free.';
    const left = remaining(lock);
    return [
        'Held by ', h('b', null, lock.owner || 'a holder without a label'), ' under token ', h('b', null, count(lock.token)),
        left > 0 ? `. It ends in ${duration(Math.ceil(left / 1000) * 1000)}, unless it is extended. ` : '. Its lease is ending. ', waiting(),
    ];
}

/** What events and the listing told, beside the answer. */
function facts(name, own) {
    const since = lock.held ? heldFor(lock) : null;
    const seen = own.filter(({ kind, token }) => kind === 'extended' && token === lock.token).length;
    const index = seatOf(name);
    return [
        index !== null && ['Semaphore', [h('span', { class: 'code' }, plainName(name)), `, seat ${index}`]],
        lock.held && ['Owner', lock.owner || '–'],
        lock.key && ['Key', h('span', { class: 'code' }, lock.key)],
        lock.held && ['Token', h('span', { class: 'token' }, lock.token === null ? 'the masters differ' : String(lock.token))],
        lock.held && ['Held', since.ms > 0 ? [heldWords(lock), !since.exact && h('span', { class: 'quiet' }, ': the page found it held')] : 'just seen'],
        lock.held && ['Expires in', duration(remaining(lock))],
        lock.held && events.live && ['Extended', `${several(seen, 'time')} that this page saw`],
        lock.held && ['Waiting', several(lock.waiters, 'call')],
    ].filter(Boolean);
}

const breaker = (again) =>
    lock.held && lock.token !== null && h('p', null,
        h('button', { type: 'button', class: 'break', onclick: () => breakLock(lock, (words) => ((broken = words), again()), again) }, 'Break this lock …'));

export function lockView(name, again) {
    const own = kept().filter(({ resource }) => resource === name).slice(-SHOWN);
    const known = lock ?? locks.items.get(name);
    if (!lock && known) lock = { held: true, ...known };
    return [
        h('p', { class: 'back', key: 'back' }, h('a', { href: seatOf(name) === null ? '#/locks' : '#/semaphores' }, seatOf(name) === null ? '← Locks' : '← Semaphores')),
        h('h1', { class: 'lock', key: 'name' }, plainName(name), seatOf(name) !== null && h('span', { class: 'seat' }, `seat ${seatOf(name)}`)),
        problem && h('p', { class: 'fault', role: 'alert' }, problem.message),
        h('p', { class: 'lead', role: 'status', key: 'done' }, broken),
        lock && h('p', { class: 'lead', key: 'summary' }, summary()),
        lock && h('dl', { class: 'facts', key: 'facts' }, facts(name, own).map(([term, words]) => [h('dt', null, term), h('dd', null, words)])),
        lock && breaker(again),
        h('h2', null, 'Events'),
        eventsTable(own.reverse(), 'Events of this lock', false),
    ];
}
