/* A run of the story: a seed, the operations so far, and how far it has come. The same seed and
 * operations play it again, so the address has both. */
import { read } from './world.js';

const END_MAX = 20 * 60 * 1000; /* STORY_RUN_MS_MAX of api/story/world.h */
const STEPS_MAX = 400;          /* in an address */

const whole = (text, least, most) => (/^-?\d+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : null);

/** "500.pause.0.0" as a step; null: it is none. */
function readStep(text, ops) {
    const [ms, op, whom, value, ...more] = text.split('.');
    const step = { ms: whole(ms, 0, END_MAX), op, whom: whole(whom, 0, 2 ** 31 - 1), value: whole(value, -(2 ** 31), 2 ** 31 - 1) };
    return ops.includes(op) && more.length === 0 && !Object.values(step).includes(null) ? step : null;
}

const writeStep = ({ ms, op, whom, value }) => [ms, op, whom, value].join('.');

/** What an address asks for; without a meaning, the first scene. */
export function fromAddress(hash, world) {
    const fields = new URLSearchParams(hash.replace(/^#/, ''));
    const seed = whole(fields.get('seed') ?? '', 0, 2 ** 32 - 1);
    const ofSeed = whole(fields.get('story') ?? '', 0, 2 ** 32 - 1);
    if (ofSeed !== null) return { ...world.ofSeed(ofSeed), story: ofSeed };
    const scene = world.scenes.find(({ name }) => name === fields.get('scene'));
    if (scene || seed === null) {
        const found = scene ?? world.scenes[0];
        const guard = { ms: 0, op: 'guard', whom: 9, value: 0 };
        return fields.get('guard') === '0' ? { ...found, steps: [guard, ...found.steps], unguarded: true } : found;
    }
    const texts = (fields.get('steps') ?? '').split('_').filter(Boolean).slice(0, STEPS_MAX);
    const steps = texts.map((text) => readStep(text, world.ops)).filter(Boolean).sort((a, b) => a.ms - b.ms);
    return { name: '', seed, masters: fields.get('masters') === '5' ? 5 : 3, end: whole(fields.get('end') ?? '', 1000, END_MAX) ?? END_MAX, steps };
}

export function toAddress(script, ownSteps) {
    if (script.story !== undefined && ownSteps === 0) return `#story=${script.story}`;
    if (script.name && ownSteps === 0) return `#scene=${script.name}${script.unguarded ? '&guard=0' : ''}`;
    const end = script.end < END_MAX ? `&end=${script.end}` : '';
    return `#seed=${script.seed}&masters=${script.masters}${end}&steps=${script.steps.map(writeStep).join('_')}`;
}

/** A new script of free play: clients A and B work, again and again. */
export const freePlay = (seed, masters) => ({
    name: '', seed, masters, end: END_MAX,
    steps: [{ ms: 300, op: 'loop', whom: 0, value: 0 }, { ms: 900, op: 'loop', whom: 1, value: 0 }],
});

/** Plays a script. `tell` hears each event, once; `begin` is called where all begins again. */
export class Run {
    constructor(world, script, { begin, tell }) {
        Object.assign(this, { world, script: { ...script, steps: [...script.steps] }, begin, tell, own: 0 });
        this.restart();
    }

    restart() {
        this.now = 0;
        this.next = 0;
        this.world.open(this.script.seed, this.script.masters);
        this.begin();
    }

    get isOver() {
        return this.now >= this.script.end;
    }

    /** Goes on until then; back to there, from the beginning, where that is past. */
    to(ms) {
        const until = Math.min(Math.round(ms), this.script.end);
        const give = (rows) => read(rows, this.world.kinds).forEach(this.tell);
        if (until < this.now) this.restart();
        const { steps } = this.script;
        while (this.next < steps.length && steps[this.next].ms <= until) {
            const step = steps[this.next++];
            this.world.run(step.ms, give);
            this.world.op(step);
        }
        this.now = this.world.run(until, give);
    }

    /** Does an operation now. What the script would do later still comes. */
    do(op, whom, value = 0) {
        const step = { ms: this.now, op, whom, value };
        this.script.steps.splice(this.next, 0, step);
        this.own++;
        this.to(this.now);
    }
}
