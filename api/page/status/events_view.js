/* What happened, newest first: all of it, or one minute, one kind, some names. */
import { h } from '../shared/dom.js';
import { table } from '../shared/table.js';
import { clock, clockMs, count, several } from '../shared/words.js';
import { events, isTrouble, kept } from './events.js';
import { lockLink } from './locks_view.js';

const SHOWN = 100;
const TROUBLE_SHOWN = 6; // on the overview, beside the refusals
const REFUSED_SHOWN = 3;
const tones = { granted: () => 'well', lost: () => 'bad', broken: () => 'bad', expired: () => 'care', gap: () => 'care' };
tones.refused = ({ holder }) => (holder ? 'care' : 'bad'); // a lock in demand is no fault
tones.master = ({ state }) => (state === 'active' ? 'well' : 'bad');
tones.fleet = ({ state }) => (state === 'ready' ? 'well' : 'bad');
const lossWords = { 'lock-lost': 'the lease had ended', 'lock-broken': 'an operator broke the grant' };
const kinds = ['granted', 'extended', 'released', 'expired', 'lost', 'broken', 'waiting', 'refused', 'master', 'fleet', 'gap'];

const filter = { kind: '', name: '', time: '' };
let shown = SHOWN;

/** What an event says that has no column. */
const details = {
    lost: ({ reason }) => lossWords[reason] ?? reason,
    refused: ({ reason, holder }) => (holder ? `held by ${holder}` : reason),
    master: ({ master, address, state, reason }) => `master ${master}, ${address}: ${[state, reason].filter(Boolean).join(', ')}`,
    fleet: ({ state }) => state,
    gap: ({ missed }) => (missed ? `${several(missed, 'event')} missing` : 'earlier events are missing'),
};

const kindCell = (event) => {
    const detail = details[event.kind]?.(event);
    return [
        h('span', { class: `state ${tones[event.kind]?.(event) ?? ''}` }, event.kind),
        detail && h('span', { class: 'sub' }, detail),
    ];
};

const columns = [
    { title: 'Time', cell: ({ at }) => h('time', { class: 'nowrap', datetime: new Date(at).toISOString() }, clockMs(at)) },
    { title: 'What', heads: true, cell: kindCell },
    { title: 'Name', cell: ({ resource }) => (resource ? lockLink(resource) : '–'), names: true },
    { title: 'Token', number: true, cell: ({ token }) => count(token) },
    { title: 'Owner', cell: ({ owner }) => owner || '–' },
    { title: 'Server', cell: ({ server }) => (server === undefined || server === '' ? '–' : h('span', { class: 'code nowrap' }, server)) },
];

const none = () =>
    events.missing ? 'This server sends no events.' : events.live ? 'There were no events since this page was opened.' : 'This page receives no events at the moment.';

export const eventsTable = (rows, caption, withNames = true) =>
    table({ caption, columns: columns.filter(({ names }) => withNames || !names), rows, key: ({ number }) => number, empty: none() });

const passes = (event) =>
    (filter.kind === '' || event.kind === filter.kind || (filter.kind === 'trouble' && isTrouble(event))) &&
    (filter.name === '' || (event.resource ?? '').startsWith(filter.name)) &&
    (filter.time === '' || clock(event.at).startsWith(filter.time));

const field = (id, label, control) => h('p', { key: id }, h('label', { for: id }, label), control);

function controls(again) {
    const set = (name) => ({ target }) => {
        filter[name] = target.value.trim();
        shown = SHOWN;
        again();
    };
    const option = (value, title) => h('option', { value, selected: filter.kind === value }, title);
    return h('div', { class: 'controls' },
        field('time', 'Time, such as 14:03', h('input', { id: 'time', class: 'time', value: filter.time, autocomplete: 'off', spellcheck: 'false', maxlength: '8', oninput: set('time') })),
        field('kind', 'What', h('select', { id: 'kind', onchange: set('kind') }, option('', 'Everything'), option('trouble', 'Trouble'), kinds.map((kind) => option(kind, kind)))),
        h('p', { class: 'wide', key: 'name' }, h('label', { for: 'name' }, 'Names that begin with'), h('input', { id: 'name', type: 'search', value: filter.name, spellcheck: 'false', oninput: set('name') })));
}

/** How far back the page knows, and where to look for the rest. */
function extent(found, all) {
    if (events.begun === 0) return none();
    const { older, items } = events;
    const whole = older.length > 0 || items.length < events.count ? `, of which all since ${clock(items[0].at)}, and trouble before that` : '';
    return `${several(found, 'event')} of ${count(all)} since the page began to listen at ${clock(events.begun)}${whole}. The audit log of each pawld has what happened before (--audit-log).`;
}

export function eventsView(again) {
    const all = kept();
    const found = all.filter(passes);
    const rows = found.slice(-shown).reverse();
    return [
        h('h1', null, 'Events'),
        controls(again),
        h('p', { class: 'quiet', role: 'status' }, extent(found.length, all.length)),
        rows.length > 0 && eventsTable(rows, 'Events, newest first'),
        found.length > rows.length && h('p', null, h('button', { type: 'button', onclick: () => ((shown += SHOWN), again()) }, 'Show older')),
    ];
}

const isGreeting = ({ kind, state }) => kind === 'fleet' && state === 'ready';

/** The last losses, breaks and changes of masters, and the last refusals: these are many where a lock is in demand, and leave room for the others. */
export const troubleView = () => {
    if (events.missing) return null;
    const all = kept().filter((event) => isTrouble(event) && event.kind !== 'expired' && !isGreeting(event));
    const last = (refused, most) => all.filter(({ kind }) => (kind === 'refused') === refused).slice(-most);
    const rows = [...last(false, TROUBLE_SHOWN), ...last(true, REFUSED_SHOWN)].sort((a, b) => b.number - a.number);
    return [h('h2', null, 'Recent problems'), rows.length > 0 ? eventsTable(rows, 'Recent problems, newest first') : h('p', { class: 'quiet' }, `No problems since this page was opened${events.begun ? ` at ${clock(events.begun)}` : ''}.`)];
};
