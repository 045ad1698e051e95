/* What happened, newest first: all of it, or one minute, one kind, some names. */
import { h } from '../shared/dom.js';
import { table } from '../shared/table.js';
import { clock, clockMs, count, several } from '../shared/words.js';
import { events } from './events.js';
import { lockLink } from './locks_view.js';

const SHOWN = 200;
const trouble = new Set(['lost', 'broken', 'refused', 'expired', 'master', 'fleet', 'gap']);
const tones = { granted: 'well', lost: 'bad', refused: 'bad', broken: 'bad', expired: 'care', gap: 'care', master: 'care', fleet: 'care' };
const kinds = ['granted', 'extended', 'released', 'expired', 'lost', 'broken', 'waiting', 'refused', 'master', 'fleet', 'gap'];

const filter = { kind: '', name: '', minute: '' };
let shown = SHOWN;

/** Members that have no column, in words: "highest token 34". */
const named = new Set(['kind', 'id', 'number', 'at', 'resource', 'token', 'owner', 'server', 'validity_ms']);
const others = (event) =>
    Object.entries(event)
        .filter(([name, value]) => !named.has(name) && value !== null && value !== '' && typeof value !== 'object')
        .map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)
        .join(', ');

const kindCell = (event) => [
    h('span', { class: `state ${tones[event.kind] ?? ''}` }, event.kind),
    others(event) && h('span', { class: 'sub' }, others(event)),
];

const columns = [
    { title: 'Time', cell: ({ at }) => h('time', { class: 'nowrap', datetime: new Date(at).toISOString() }, clockMs(at)) },
    { title: 'What', heads: true, cell: kindCell },
    { title: 'Name', cell: ({ resource }) => (resource ? lockLink(resource) : '–'), names: true },
    { title: 'Token', number: true, cell: ({ token }) => count(token) },
    { title: 'Owner', cell: ({ owner }) => owner || '–' },
    { title: 'Server', cell: ({ server }) => (server === undefined || server === '' ? '–' : h('span', { class: 'code' }, server)) },
];

const none = () =>
    events.missing ? 'This server tells no events.' : events.live ? 'Nothing happened since the page began to listen.' : 'The page does not hear events now.';

export const eventsTable = (rows, caption, withNames = true) =>
    table({ caption, columns: columns.filter(({ names }) => withNames || !names), rows, key: ({ number }) => number, empty: none() });

const passes = (event) =>
    (filter.kind === '' || event.kind === filter.kind || (filter.kind === 'trouble' && trouble.has(event.kind))) &&
    (filter.name === '' || (event.resource ?? '').startsWith(filter.name)) &&
    (filter.minute === '' || clock(event.at).startsWith(filter.minute));

const field = (id, label, control) => h('p', { key: id }, h('label', { for: id }, label), control);

function controls(again) {
    const set = (name) => ({ target }) => {
        filter[name] = target.value;
        shown = SHOWN;
        again();
    };
    const option = (value, title) => h('option', { value, selected: filter.kind === value }, title);
    return h('div', { class: 'controls' },
        field('minute', 'In the minute', h('input', { id: 'minute', type: 'time', value: filter.minute, oninput: set('minute') })),
        field('kind', 'What', h('select', { id: 'kind', onchange: set('kind') }, option('', 'Everything'), option('trouble', 'Trouble'), kinds.map((kind) => option(kind, kind)))),
        h('p', { class: 'wide', key: 'name' }, h('label', { for: 'name' }, 'Names that begin with'), h('input', { id: 'name', type: 'search', value: filter.name, spellcheck: 'false', oninput: set('name') })));
}

export function eventsView(again) {
    const found = events.items.filter(passes);
    const rows = found.slice(-shown).reverse();
    const first = events.items[0];
    return [
        h('h1', null, 'Events'),
        controls(again),
        h('p', { class: 'quiet', role: 'status' }, first ? `${several(found.length, 'event')} of ${count(events.items.length)} since ${clock(first.at)}.` : none()),
        first && eventsTable(rows, 'Events, newest first'),
        found.length > rows.length && h('p', null, h('button', { type: 'button', onclick: () => ((shown += SHOWN), again()) }, 'Show older')),
    ];
}

/** The last losses, refusals and breaks. */
export const troubleView = () => {
    const last = events.items.filter(({ kind }) => kind === 'lost' || kind === 'refused' || kind === 'broken').slice(-6).reverse();
    return events.missing ? null : [h('h2', null, 'Lost, broken or refused'), last.length > 0 ? eventsTable(last, 'Lost, broken or refused') : h('p', { class: 'quiet' }, 'None since the page began to listen.')];
};
