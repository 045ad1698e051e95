/* Locks as lists: the short ones of the overview, and all of them with search and order. */
import { h } from '../shared/dom.js';
import { inPath } from '../shared/http.js';
import { table } from '../shared/table.js';
import { clock, count, duration, several } from '../shared/words.js';
import { heldFor, isSeat, locks, mayWantMore, plainName, remaining, search, seatOf, wantMore } from './locks.js';

const SHOWN = 100; // rows at first, and more with each press

export const lockLink = (name) => {
    const index = seatOf(name);
    return [
        h('a', { class: 'code', href: `#/locks/${inPath(name)}` }, plainName(name)),
        index !== null && h('span', { class: 'seat' }, `seat ${index}`),
    ];
};

/** "over" where the grant was there before the page looked. */
export function heldWords(lock) {
    const { ms, exact } = heldFor(lock);
    if (!exact && ms < 1000) return 'just seen';
    return `${exact ? '' : 'over '}${duration(Math.floor(ms / 1000) * 1000)}`;
}

export const remainingWords = (lock) => {
    const ms = remaining(lock);
    return ms === 0 ? 'ending' : duration(Math.ceil(ms / 1000) * 1000);
};

const orders = {
    waiters: { title: 'Most waiters', sorts: (a, b) => b.waiters - a.waiters || heldFor(b).ms - heldFor(a).ms },
    held: { title: 'Held longest', sorts: (a, b) => heldFor(b).ms - heldFor(a).ms },
    ends: { title: 'Next to expire', sorts: (a, b) => remaining(a) - remaining(b) },
    name: { title: 'Name', sorts: (a, b) => (a.resource < b.resource ? -1 : 1) },
};

let order = 'waiters';
let shown = SHOWN;

/** How complete that is, in a sentence. */
function extent() {
    const { items, prefix, complete, at } = locks;
    const which = prefix ? ` whose name begins with “${prefix}”` : '';
    if (at === 0) return 'Loading the locks …';
    if (complete) return `${several(items.size, 'lock')}${which}, as of ${clock(at)}.`;
    return `${several(items.size, 'lock')}${which}, as of ${clock(at)}. There are more locks. The page sorts only the locks that it has loaded. Search by prefix, or load more.`;
}

export const locksProblem = () =>
    locks.problem && h('p', { class: 'fault', role: 'alert' },
        locks.problem.type === 'not-allowed' && locks.prefix === ''
            ? 'This key is limited to some prefixes. Search on the page Locks with one of these prefixes.'
            : locks.problem.message);

const ranking = (title, rows, words, none) =>
    h('section', { key: title },
        h('h2', null, title),
        rows.length === 0
            ? h('p', { class: 'quiet' }, none)
            : h('ul', { class: 'ranking' }, rows.map((lock) =>
                h('li', { key: lock.resource }, h('span', null, lockLink(lock.resource)), h('span', { class: 'number' }, words(lock)),
                    lock.owner && h('span', { class: 'sub' }, lock.owner)))));

/** The first five in each order: what an operator looks for first. */
export function rankingsView() {
    /* A lease that is over by the clock of the page was extended or released since. */
    const all = [...locks.items.values()].filter((lock) => remaining(lock) > 0);
    const first = (by, list) => list.toSorted(orders[by].sorts).slice(0, 5);
    const note = !locks.complete && all.length > 0 && h('p', { class: 'quiet' }, `Of the first ${several(all.length, 'lock')}; `, h('a', { href: '#/locks' }, 'search the others'), '.');
    return [
        locksProblem(),
        h('div', { class: 'columns' },
            ranking('Waited for', first('waiters', all.filter(({ waiters }) => waiters > 0)), ({ waiters }) => `${count(waiters)} waiting`, 'No call waits for a lock here.'),
            ranking('Held longest', first('held', all), heldWords, 'No lock is held.'),
            ranking('Next to expire', first('ends', all), remainingWords, 'No lock is held.')),
        note,
    ];
}

const columns = (again) => {
    const sort = (by) => ({
        sort: () => {
            order = by;
            again();
        },
        sorted: order === by ? (by === 'ends' || by === 'name' ? 'ascending' : 'descending') : null,
    });
    return [
        { title: 'Name', heads: true, cell: ({ resource }) => lockLink(resource), ...sort('name') },
        { title: 'Owner', cell: ({ owner, key }) => [owner || '–', key && h('span', { class: 'sub' }, `key ${key}`)] },
        { title: 'Token', number: true, cell: ({ token }) => count(token) },
        { title: 'Held', number: true, cell: heldWords, ...sort('held') },
        { title: 'Expires in', number: true, cell: remainingWords, ...sort('ends') },
        { title: 'Waiting', number: true, cell: ({ waiters }) => (waiters ? count(waiters) : '–'), ...sort('waiters') },
    ];
};

let timer = 0;

/** Asks once the reader has stopped typing. */
function typed(event, again) {
    const { value } = event.target;
    clearTimeout(timer);
    timer = setTimeout(() => {
        shown = SHOWN;
        search(value.trim());
        again();
    }, 250);
}

const searchField = (again) =>
    h('p', { class: 'wide' }, h('label', { for: 'prefix' }, 'Names that begin with'),
        h('input', { id: 'prefix', type: 'search', value: locks.prefix, autocomplete: 'off', spellcheck: 'false', maxlength: '255', oninput: (event) => typed(event, again) }));

const orderField = (again) =>
    h('p', null, h('label', { for: 'order' }, 'Order'),
        h('select', { id: 'order', onchange: ({ target }) => ((order = target.value), again()) },
            Object.entries(orders).map(([by, { title }]) => h('option', { value: by, selected: by === order }, title))));

export function locksView(ask, again) {
    const more = () => {
        if (shown < locks.items.size) shown += SHOWN * 5;
        else wantMore();
        ask();
    };
    const rows = [...locks.items.values()].sort(orders[order].sorts).slice(0, shown);
    const hiddenRows = locks.items.size - rows.length;
    return [
        h('h1', null, 'Locks'),
        h('div', { class: 'controls' }, searchField(ask), orderField(again)),
        locksProblem(),
        h('p', { class: 'quiet', role: 'status' }, extent(), hiddenRows > 0 && ` The first ${count(rows.length)} are listed.`),
        locks.at > 0 && table({ caption: 'Held locks', columns: columns(again), rows, key: ({ resource }) => resource, empty: locks.problem ? null : 'No lock is held.' }),
        (hiddenRows > 0 || mayWantMore()) && locks.at > 0 && h('p', null, h('button', { type: 'button', onclick: more }, hiddenRows > 0 ? 'Show more' : 'Load more')),
    ];
}

/** Seats of the listing, by the name of their semaphore. */
export function semaphoresView() {
    const seats = [...locks.items.values()].filter(isSeat);
    const names = [...new Set(seats.map(({ resource }) => plainName(resource)))].sort();
    const of = (name) => seats.filter(({ resource }) => plainName(resource) === name).sort((a, b) => seatOf(a.resource) - seatOf(b.resource));
    const seatColumns = [
        { title: 'Seat', number: true, heads: true, cell: ({ resource }) => h('a', { href: `#/locks/${inPath(resource)}` }, String(seatOf(resource))) },
        { title: 'Owner', cell: ({ owner }) => owner || '–' },
        { title: 'Token', number: true, cell: ({ token }) => count(token) },
        { title: 'Held', number: true, cell: heldWords },
        { title: 'Expires in', number: true, cell: remainingWords },
    ];
    return [
        h('h1', null, 'Semaphores'),
        locksProblem(),
        h('p', { class: 'quiet', role: 'status' }, locks.at === 0 ? 'Loading the seats …' : `${several(seats.length, 'seat')} of ${several(names.length, 'semaphore')} held, among ${extent()}`),
        names.map((name) => h('section', { key: name },
            h('h2', { class: 'code' }, name),
            table({ caption: `Seats of ${name}`, columns: seatColumns, rows: of(name), key: ({ resource }) => resource }))),
    ];
}
