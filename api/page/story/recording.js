/* A scene that the simulator recorded (tests/sim/world/scene.h): the page shows the events, and changes nothing. */
import { cast } from './world.js';

const HEAD = 'pawl-scene 1';
const LINES_MAX = 200000;
const SHOWN_MS = 20000; /* the whole of it takes as long at true speed */

function readEvent(line) {
    const [at, kind, ...rest] = line.split(' ');
    if (kind === 'says') return { at: Number(at), kind, text: rest.join(' ').trim() };
    const [who, whom, what, id, token, value] = rest.map(Number);
    return { at: Number(at), kind, who, whom, what, id, token, value };
}

/** The scene in a file; null: the file is none. */
export function readScene(text) {
    const [head, title, actors, ...lines] = text.trimEnd().split('\n');
    const [, clients, servers, masters] = (actors ?? '').split(' ').map(Number);
    if (head !== HEAD || !title.startsWith('title ') || !(masters > 0) || lines.length === 0 || lines.length > LINES_MAX) return null;
    const events = lines.map(readEvent);
    if (events.some(({ at, kind, value, text: said }) => !Number.isFinite(at) || (kind === 'says' ? !said : !Number.isFinite(value)))) return null;
    const last = events[events.length - 1].at / 1000;
    return { recorded: events, title: title.slice(6), cast: cast(clients, servers, masters, true), masters, end: last * 1.05, steps: [] };
}

/** Plays a recording as Run plays a script. */
export class Recording {
    constructor(script, { begin, tell }) {
        Object.assign(this, { script, begin, tell, own: 0, rate: script.end / SHOWN_MS });
        this.restart();
    }

    restart() {
        this.now = 0;
        this.next = 0;
        this.begin();
    }

    get isOver() {
        return this.now >= this.script.end;
    }

    to(ms) {
        const until = Math.min(ms, this.script.end);
        const { recorded } = this.script;
        if (until < this.now) this.restart();
        while (this.next < recorded.length && recorded[this.next].at <= until * 1000) this.tell(recorded[this.next++]);
        this.now = until;
    }
}
