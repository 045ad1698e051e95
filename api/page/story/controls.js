/* The controls of the world: a row of buttons for each client and each master. */
import { h } from '../shared/dom.js';
import { MESSAGES } from './model.js';
import { nameOf } from './sentences.js';
import { CLIENTS, DATABASE, MASTER } from './world.js';

const LATE_MS = 8000;
const CLOCK_MS = 30000;
const HOLDUP_MS = 5000;
const MODES = ['takes the lock', 'reads', 'writes'];

/** Buttons of an actor; their names for those who hear them have the actor, too. */
const buttonsOf = (actor) => (text, onclick) => h('button', { type: 'button', onclick, 'aria-label': `${nameOf(actor)}: ${text}` }, text);

const row = (actor, state, ...buttons) => h('li', { key: actor },
    h('span', { class: 'actor' }, nameOf(actor).replace('the ', '')), h('span', { class: 'unit' }, state), h('span', { class: 'row' }, buttons));

function clientRow(run, model, client, modes) {
    const button = buttonsOf(client);
    const paused = model.isPaused(client);
    const mode = modes[client];
    const select = h('select', { 'aria-label': `What ${nameOf(client)} does`, onchange: ({ target }) => (modes[client] = Number(target.value)) },
        MODES.map((text, value) => h('option', { value, selected: value === mode }, text)));
    return row(client, paused ? 'paused' : 'runs', select,
        button('Once', () => run.do('task', client, modes[client])),
        button('Again and again', () => run.do('loop', client, modes[client])),
        button('No more', () => run.do('loop', client, -1)),
        paused ? button('Go on', () => run.do('resume', client)) : button('Pause', () => run.do('pause', client)),
        button(`Next write ${LATE_MS / 1000} s late`, () => run.do('hold', client, LATE_MS)));
}

function masterRow(run, model, i) {
    const master = MASTER + i;
    const button = buttonsOf(master);
    const down = model.isDown(i);
    const cut = model.isCut(i);
    return row(master, down ? 'down' : cut ? 'cut off' : 'up',
        down ? button('Start', () => run.do('start', master)) : button('Kill', () => run.do('kill', master)),
        button('Wipe', () => run.do('wipe', master)),
        button('Fail over', () => run.do('fail-over', master)),
        cut ? button('Join', () => run.do('join', master)) : button('Cut off', () => run.do('cut', master)),
        button(`Clock +${CLOCK_MS / 1000} s`, () => run.do('clock', master, CLOCK_MS)),
        button(`Clock −${CLOCK_MS / 1000} s`, () => run.do('clock', master, -CLOCK_MS)));
}

/* Each message of a client that is on its way. The pointer may drag its line to the right as well. */
function wayRow(run, model) {
    const all = model.onTheWay();
    return h('li', { key: 'way' }, h('span', { class: 'actor' }, 'network'), h('span', { class: 'unit' }, `${all.length} on the way`),
        h('span', { class: 'row' }, all.map(({ id, who, whom, what }) =>
            h('button', { key: id, type: 'button', onclick: () => run.do('delay', id, HOLDUP_MS) }, `${MESSAGES[what]}, ${nameOf(who)} to ${nameOf(whom)}: ${HOLDUP_MS / 1000} s later`))));
}

export const controls = (run, model, modes) => h('ul', { class: 'actors' },
    Array.from({ length: CLIENTS }, (_, c) => clientRow(run, model, c, modes)),
    Array.from({ length: model.masters }, (_, i) => masterRow(run, model, i)),
    row(DATABASE, model.isGuarded ? 'guard on' : 'guard off',
        buttonsOf(DATABASE)(model.isGuarded ? 'Guard off' : 'Guard on', () => run.do('guard', DATABASE, model.isGuarded ? 0 : 1))),
    wayRow(run, model));
