/* The state that the events lead to: who believes what, since when; messages on their way; what masters hold. */
import { sentence } from './sentences.js';
import { CLIENTS, MASTER, cast } from './world.js';

/* As in api/story/event.h. */
export const MESSAGES = ['acquire', 'release', 'answer', 'read', 'write', 'result', 'lock request', 'rejoin', 'restamp', 'handshake', 'probe', 'reply', 'released', 'extend', 'break', 'another call'];
const FACTS = 9;
const PROBE = 10;
const REPLY = 11;
export const WRITE = 4;
const ACTIVE = 5; /* FENCE_MASTER_ACTIVE */

const list = (length) => Array.from({ length }, () => []);
const last = (all) => all[all.length - 1];

export class Model {
    constructor(masters, actors) {
        Object.assign(this, {
            masters, cast: actors ?? cast(CLIENTS, 1, masters), isRecorded: actors !== undefined, beliefs: [], pauses: new Map(), waits: [], looks: [], messages: new Map(), grants: [],
            holds: list(masters), states: list(masters), downs: list(masters), cuts: list(masters), marks: [], writes: [],
            isGuarded: true, balance: 100, refused: 0, lost: 0, overlaps: 0, log: [], told: [],
        });
    }

    isPaused(client) {
        return last(this.pauses.get(client) ?? [])?.to === null;
    }

    isDown(master) {
        return last(this.downs[master])?.to === null;
    }

    isCut(master) {
        return last(this.cuts[master])?.to === null;
    }

    /** Messages of clients that a reader may hold up. */
    onTheWay() {
        return [...this.messages.values()].filter(({ state, what }) => state === 'sent' && what < 6);
    }

    hear(event) {
        const text = event.text ?? sentence(event);
        HEARD[event.kind]?.(this, event);
        this.log.push(event);
        if (text && (event.kind === 'says' || !this.isRecorded)) this.told.push({ event, text });
    }
}

const close = (spans, at) => {
    const open = last(spans);
    if (open && open.to === null) open.to = at;
};

const open = (spans, at, more = {}) => {
    close(spans, at);
    spans.push({ from: at, to: null, ...more });
};

const arrive = (state) => (model, { id, at }) => {
    const message = model.messages.get(id);
    if (message) Object.assign(message, { state, arrives: at });
};

const mark = (text) => (model, event) => model.marks.push({ at: event.at, lane: event.who, text: text(event) });

const closeWait = (model, client, at) => {
    for (const wait of model.waits) if (wait.who === client && wait.to === null) wait.to = at;
};

const HEARD = {
    sent(model, { at, who, whom, what, id, token, value }) {
        const asked = what === REPLY ? token : what;
        if (asked === FACTS || asked === PROBE) return; /* each half second: nothing to see */
        model.messages.set(id, { id, who, whom, what, sent: at, arrives: value, state: 'sent' });
    },
    arrived: arrive('arrived'),
    lost: arrive('lost'),
    delayed: (model, { id, value }) => Object.assign(model.messages.get(id) ?? {}, { arrives: value }),
    asks: (model, { at, who, what }) => model.waits.push({ who, mode: what, from: at, to: null }),
    granted: (model, { at, who, token }) => model.grants.push({ at, who, token }),
    believes(model, { at, who, what, token, value }) {
        closeWait(model, who, at);
        model.beliefs.push({ who, mode: what, token, from: at, until: value, to: null });
    },
    overlap: (model, { value }) => (model.overlaps += value),
    looked: (model, { at, who }) => model.looks.push({ at, who }),
    ended(model, { at, who }) {
        closeWait(model, who, at);
        for (const belief of model.beliefs) if (belief.who === who && belief.to === null) belief.to = at;
    },
    accepted(model, { at, whom, what, token, value }) {
        model.balance = value;
        model.writes.push({ at, who: whom, what, token, balance: value, ok: true });
    },
    stale(model, { at, whom, what, token, value }) {
        model.refused++;
        model.writes.push({ at, who: whom, what, token, against: value, ok: false });
    },
    'lost-update': (model, { at, whom }) => {
        model.lost++;
        model.writes.push({ at, who: whom, what: WRITE, lost: true });
    },
    holds(model, { at, who, what, token, value }) {
        open(model.holds[who - MASTER], at, { mask: what, token, until: value });
    },
    state(model, { at, who, what, value }) {
        const states = model.states[who - MASTER];
        close(states, at);
        if (what !== ACTIVE) states.push({ from: at, to: null, state: what, reason: value });
    },
    paused(model, { at, who }) {
        if (!model.pauses.has(who)) model.pauses.set(who, []);
        open(model.pauses.get(who), at);
    },
    resumed: (model, { at, who }) => close(model.pauses.get(who) ?? [], at),
    killed: (model, { at, who }) => open(model.downs[who - MASTER], at),
    started: (model, event) => begin(model, event, 'starts'),
    wiped: (model, event) => begin(model, event, 'wiped'),
    'failed-over': (model, event) => begin(model, event, 'failed over'),
    clock: mark(({ value }) => `clock ${value > 0 ? '+' : '−'}${Math.abs(value) / 1000} s`),
    cut: (model, { at, who }) => open(model.cuts[who - MASTER], at),
    joined: (model, { at, who }) => close(model.cuts[who - MASTER], at),
    says(model, { at, text }) {
        const [, i, what] = /^master (\d+):? (?!stops)(.*)/.exec(text) ?? [];
        if (i < model.masters) model.marks.push({ at, lane: MASTER + Number(i), text: what });
    },
    guard(model, event) {
        model.isGuarded = event.value === 1;
        if (event.at > 0) mark(({ value }) => (value ? 'guard on' : 'guard off'))(model, event);
    },
};

function begin(model, event, text) {
    close(model.downs[event.who - MASTER], event.at);
    mark(() => text)(model, event);
}
