/* The lanes of time, as SVG: clients, pawld, masters and the database from top to bottom, time from
 * left to right. */
import { h } from '../shared/dom.js';
import { WRITE } from './model.js';
import { DATABASE, MASTER, PAWLD } from './world.js';

export const SECOND = 40; /* pixels */
const SPAN = 60;          /* seconds that are drawn at most */
const RECORDED = 1600;    /* pixels that a recorded scene takes, however long it is */
const PAD = 8;
const CLIENT_HIGH = 58;
const PAWLD_HIGH = 34;
const MASTER_HIGH = 40;
const DATABASE_HIGH = 58;
const WORDY = 60;         /* pixels: a span has its word if it is as long */
const TICK = 35;          /* pixels between two ticks, at least */
const CLIENT_COLOURS = 3;

const colour = (client) => `c${client % CLIENT_COLOURS}`;

/** Pixels a second. */
export const scaleOf = ({ recorded, end }) => (recorded ? RECORDED / (end / 1000) : SECOND);

/** Where the lane of each actor is, and what it is called. */
export function lanesOf({ clients, servers, masters, database }) {
    const lanes = [];
    let top = 0;
    const add = (actor, name, high) => {
        lanes.push({ actor, name, top, high, line: top + high / 2 });
        top += high;
    };
    for (const { actor, name } of clients) add(actor, name, CLIENT_HIGH);
    for (const { actor, name } of servers) add(actor, name, PAWLD_HIGH);
    for (const { actor, name } of masters) add(actor, name, MASTER_HIGH);
    add(database.actor, database.name, DATABASE_HIGH);
    return { lanes, high: top + 22, of: (actor) => lanes.find((lane) => lane.actor === actor) };
}

/** From which second on the picture shows. */
export const firstShown = (now, scale) => (scale === SECOND ? Math.max(0, Math.ceil(now / 1000 - SPAN)) : 0);

/** @end: of the script, in ms; the picture has room for it from the start where it is short. */
export function picture(model, now, end, scale = SECOND) {
    const { lanes, high, of } = lanesOf(model.cast);
    const first = firstShown(now, scale);
    const after = 40 / scale;
    const shownEnd = Math.max(now / 1000 + after, Math.min(end / 1000, first + SPAN + 2 * after));
    const wide = Math.round((shownEnd - first) * scale) + 3 * PAD;
    const nowUs = now * 1000;
    const x = (us) => Math.round((PAD + (us / 1e6 - first) * scale) * 10) / 10;
    const seen = (to) => (to ?? nowUs) >= first * 1e6;
    const draw = { model, nowUs, x, of, seen, wordyUs: (WORDY / scale) * 1e6 };
    return h('svg', { class: 'lanes', width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: 'img', 'aria-label': 'Lanes of time. The list of events below tells the same in words.' },
        patterns(),
        lanes.map(({ line, actor }) => h('line', { key: `lane${actor}`, class: 'lane', x1: 0, x2: wide, y1: line, y2: line })),
        seconds(first, shownEnd, x, high, scale),
        masterParts(draw), messages(draw), clientParts(draw), pawldParts(draw), databaseParts(draw), markParts(draw),
        h('line', { class: 'now', x1: x(nowUs), x2: x(nowUs), y1: 0, y2: high - 16 }));
}

const patterns = () => h('defs', null,
    h('pattern', { id: 'late', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
        h('rect', { class: 'late-stripe', width: 2.5, height: 6 })));

/** The round number of microseconds, 1, 2 or 5 of something, that takes TICK pixels or more. */
function tickUs(scale) {
    const least = (TICK / scale) * 1e6;
    const ten = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((times) => times * ten).find((us) => us >= least);
}

function seconds(first, end, x, high, scale) {
    const ticks = [];
    const step = tickUs(scale);
    const name = (us) => (step < 1e5 ? `${us / 1000} ms` : `${us / 1e6} s`);
    for (let k = Math.ceil((first * 1e6) / step); k * step <= end * 1e6; k++) {
        if (k % 2 === 0) ticks.push(h('text', { class: 'second', x: x(k * step), y: high - 3 }, name(k * step)));
        ticks.push(h('line', { class: 'tick', x1: x(k * step), x2: x(k * step), y1: 0, y2: high - 16 }));
    }
    return h('g', { 'aria-hidden': 'true' }, ticks);
}

const bar = (draw, from, to, top, high, name, title) => {
    const left = Math.max(draw.x(from), 0);
    return h('rect', { class: name, x: left, y: top, width: Math.max(draw.x(to) - left, 1), height: high }, title && h('title', null, title));
};

const label = (draw, at, y, text, name = '') => h('text', { class: `label ${name}`, x: Math.max(draw.x(at), 2) + 3, y }, text);

/* ---- clients ---------------------------------------------------------------------------------- */

const MODES = ['token', 'reads, token', 'writes, token'];

function belief(draw, { who, mode, token, from, until, to }) {
    const { line } = draw.of(who);
    const end = to ?? draw.nowUs;
    return [
        bar(draw, from, Math.min(end, until), line - 9, 18, `belief ${colour(who)}`, `valid until ${(until / 1e6).toFixed(1)} s`),
        end > until && bar(draw, until, end, line - 9, 18, 'late'),
        end >= until && h('line', { class: `until ${colour(who)}`, x1: draw.x(until), x2: draw.x(until), y1: line - 14, y2: line + 14 }),
        label(draw, from, line - 14, `${MODES[mode]} ${token}`),
        end > until && label(draw, until, line + 24, 'validity over, not noticed', 'bad'),
    ];
}

function clientParts(draw) {
    const { model } = draw;
    return h('g', null,
        model.waits.filter(({ to }) => draw.seen(to)).map(({ who, from, to }) => bar(draw, from, to ?? draw.nowUs, draw.of(who).line - 1.5, 3, `wait ${colour(who)}`)),
        model.beliefs.filter(({ to }) => draw.seen(to)).map((each) => belief(draw, each)),
        [...model.pauses].flatMap(([actor, pauses]) => pauses.filter(({ to }) => draw.seen(to)).map(({ from, to }) => [
            bar(draw, from, to ?? draw.nowUs, draw.of(actor).line - 5, 10, 'pause'),
            label(draw, from, draw.of(actor).line + Math.min(24, draw.of(actor).high / 2 - 3), 'paused'),
        ])),
        model.looks.filter(({ at }) => draw.seen(at)).map(({ at, who }) => h('path', { class: 'look', d: `M${draw.x(at) - 4} ${draw.of(who).line}l3 4l6 -8` }, h('title', null, 'looks at its clock: still valid'))));
}

/* ---- messages --------------------------------------------------------------------------------- */

function messages(draw) {
    const shown = [];
    for (const { id, who, whom, what, sent, arrives, state } of draw.model.messages.values()) {
        if (!draw.seen(arrives)) continue;
        const part = state === 'sent' ? Math.min(1, Math.max(0, (draw.nowUs - sent) / Math.max(1, arrives - sent))) : 1;
        const [x1, y1, y2] = [draw.x(sent), draw.of(who).line, draw.of(whom).line];
        const x2 = draw.x(sent + (arrives - sent) * part);
        const client = Math.min(who, whom) < PAWLD ? colour(Math.min(who, whom)) : 'inner';
        shown.push(h('line', { key: id, class: `message ${client} ${state}`, 'data-message': state === 'sent' && what < 6 ? id : null, x1, y1, x2, y2: y1 + (y2 - y1) * part }));
    }
    return h('g', null, shown);
}

/* ---- pawld and masters ------------------------------------------------------------------------ */

/* The first of two grants that are close has the word. */
const pawldParts = (draw) => h('g', null, draw.model.grants.filter(({ at }) => draw.seen(at)).map(({ at, who, token }, k, all) => [
    h('circle', { class: 'grant', cx: draw.x(at), cy: draw.of(who).line, r: 4 }),
    !(k > 0 && who === all[k - 1].who && at - all[k - 1].at < draw.wordyUs) && label(draw, at, draw.of(who).line - 5, `grants ${token}`),
]));

function held(draw, line, { mask, token, from, to, until }) {
    const others = mask >> PAWLD ? [{ actor: null, name: 'another client' }] : [];
    const holders = [...draw.model.cast.clients.filter(({ actor }) => mask & (1 << actor)), ...others];
    const end = Math.min(to ?? draw.nowUs, until);
    return [
        holders.map(({ actor, name }, k) => bar(draw, from, end, line - 6 + (k * 12) / holders.length, 12 / holders.length, `hold ${actor === null ? 'other' : colour(actor)}`, `${name}, number ${token}`)),
        holders.length > 0 && end - from > draw.wordyUs && label(draw, from, line + 17, `${token}`, 'small'),
    ];
}

const STATES = ['no connection', 'waiting', 'checked', 'rejoining', 'refused', 'active'];

function masterParts(draw) {
    const { model, seen } = draw;
    const spans = (all, i, name, text) => all[i].filter(({ to }) => seen(to)).map((span) => [
        bar(draw, span.from, span.to ?? draw.nowUs, draw.of(MASTER + i).line - 13, 26, name),
        text(span) && (span.to ?? Infinity) - span.from > draw.wordyUs && label(draw, span.from, draw.of(MASTER + i).line + 12, text(span), 'small'),
    ]);
    return h('g', null, model.holds.map((holds, i) => h('g', null,
        spans(model.states, i, 'outside', ({ state, from }) => (draw.x(from) > 2 * PAD ? STATES[state] : '')),
        spans(model.cuts, i, 'severed', () => ''),
        spans(model.downs, i, 'down', () => ''),
        holds.filter(({ to }) => seen(to)).map((hold) => h('g', null, held(draw, draw.of(MASTER + i).line, hold))))));
}

/* ---- the database ----------------------------------------------------------------------------- */

function databaseParts(draw) {
    const { line } = draw.of(DATABASE);
    return h('g', null, draw.model.writes.filter(({ at }) => draw.seen(at)).map(({ at, who, what, token, ok, lost, against, balance }) => {
        const x = draw.x(at);
        if (lost) return label(draw, at, line + 25, 'an update is lost', 'bad');
        if (!ok) return [
            h('path', { class: 'refusal', d: `M${x - 5} ${line - 5}l10 10m0 -10l-10 10` }),
            label(draw, at, line + 25, `${token} refused: ${against} was here`, 'bad'),
        ];
        if (what !== WRITE) return h('circle', { class: `read ${colour(who)}`, cx: x, cy: line, r: 3.5 });
        return [h('circle', { class: `write ${colour(who)}`, cx: x, cy: line, r: 5.5 }), label(draw, at, line - 9, `${balance}`)];
    }));
}

const markParts = (draw) => h('g', null, draw.model.marks.filter(({ at }) => draw.seen(at)).map(({ at, lane, text }) => [
    h('line', { class: 'mark', x1: draw.x(at), x2: draw.x(at), y1: draw.of(lane).line - 12, y2: draw.of(lane).line + 12 }),
    label(draw, at, draw.of(lane).line - 9, text, 'small'),
]));
