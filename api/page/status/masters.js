/* The masters, a row for each: its state, and why. */
import { h } from '../shared/dom.js';
import { table } from '../shared/table.js';
import { duration, seconds } from '../shared/words.js';
import { state } from './state.js';

const tones = { active: 'well', returning: 'care', rejoining: 'care', waiting: 'care', refused: 'bad', down: 'bad' };
const words = { active: 'votes' };

const stateCell = ({ state: name, reason }) => [
    h('span', { class: `state ${tones[name]}` }, words[name] ?? name),
    reason && h('span', { class: 'sub nowrap' }, reason),
];

/** What to do about it stands with the verdict. */
const addressCell = ({ address, last_failure: failure, state: name }) => [
    h('span', { class: 'code nowrap' }, address),
    name === 'down' && failure && h('span', { class: 'sub' }, `Last failure: ${failure}`),
];

const serverCell = ({ server, version, module }) =>
    server ? h('span', { class: 'nowrap' }, `${server} ${version}`, module && h('span', { class: 'unit' }, ' with module')) : '–';

const persistenceCell = ({ persistence, durable }) =>
    persistence ? h('span', { class: 'nowrap' }, persistence, durable === false && h('span', { class: 'unit' }, ', not durable')) : '–';

const columns = [
    { title: '#', number: true, cell: ({ member }) => member },
    { title: 'Master', heads: true, cell: addressCell },
    { title: 'State', cell: stateCell },
    { title: 'Since', number: true, cell: ({ state_for_ms: ms }) => duration(ms) },
    { title: 'Round trip', number: true, cell: ({ round_trip_us: us, state: name }) => (us && name !== 'down' ? seconds(us / 1e6) : '–') },
    { title: 'Server', cell: serverCell },
    { title: 'Persistence', cell: persistenceCell },
];

export const mastersView = () =>
    state.fleet && [
        h('h2', null, 'Masters'),
        table({ caption: 'Masters', columns, rows: state.fleet.masters, key: ({ member }) => member }),
    ];
