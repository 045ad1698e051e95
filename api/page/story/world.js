/* The world of the story: the module that is made of the core, api/story/play.h. */

/* As in api/story/event.h. */
export const CLIENTS = 3;
export const PAWLD = 8;
export const DATABASE = 9;
export const MASTER = 16;
export const EVENT_NUMBERS = 8;
const OTHER_SERVER = 10; /* of recorded scenes (tests/sim/world/scene.c) */
const LETTERS = 'ABC';

/** Who takes part, from top to bottom, and what each is called. The simulator counts from 0, and so does its trace. */
export function cast(clients, servers, masters, counts) {
    const many = (count, first, name) => Array.from({ length: count }, (_, k) => ({ actor: first(k), name: name(k) }));
    return {
        clients: many(clients, (c) => c, (c) => `client ${counts ? c : LETTERS[c]}`),
        servers: many(servers, (s) => (s === 0 ? PAWLD : OTHER_SERVER + s - 1), (s) => (counts ? `server ${s}` : 'pawld')),
        masters: many(masters, (i) => MASTER + i, (i) => `master ${counts ? i : i + 1}`),
        database: { actor: DATABASE, name: counts ? 'account' : 'database' },
    };
}

/** A world made of the bytes of story.wasm. */
export async function load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    const { exports } = instance;
    exports._initialize?.();
    const numbers = () => new Int32Array(exports.memory.buffer);
    const text = (at) => {
        const memory = new Uint8Array(exports.memory.buffer);
        return new TextDecoder().decode(memory.subarray(at, memory.indexOf(0, at)));
    };
    const namesOf = (name) => {
        const all = [];
        for (let at = name(0); at !== 0; at = name(all.length)) all.push(text(at));
        return all;
    };
    const script = (at) => {
        const [name, seed, masters, end, count] = numbers().subarray(at / 4, at / 4 + 5);
        const step = (k) => {
            const [ms, op, whom, value] = numbers().subarray(at / 4 + 5 + 4 * k, at / 4 + 9 + 4 * k);
            return { ms, op: ops[op], whom, value };
        };
        return { name: text(name), seed: seed >>> 0, masters, end, steps: Array.from({ length: count }, (_, k) => step(k)) };
    };
    const ops = namesOf(exports.story_op_name);
    const kinds = namesOf(exports.story_event_name);

    /** The events so far that were not taken, as rows of EVENT_NUMBERS. */
    const take = () => {
        const from = exports.story_events() / 4;
        const taken = numbers().slice(from, from + exports.story_events_count() * EVENT_NUMBERS);
        exports.story_taken();
        return taken;
    };

    return {
        ops,
        kinds,
        scenes: Array.from({ length: exports.story_scenes() }, (_, n) => script(exports.story_scene(n))),
        ofSeed: (seed) => script(exports.story_seed_script(seed)),
        open(seed, masters) {
            if (exports.story_open(seed, masters) !== 0) throw new Error('no such world');
        },
        /** Does an operation now. False: there is no such operation, actor or value. */
        op: ({ op, whom, value }) => exports.story_op(ops.indexOf(op), whom, value) === 0,
        /** Goes on until then, or until the story is over; gives rows of events to take. */
        run(until, give) {
            let came;
            let before;
            do {
                before = came;
                came = exports.story_run(until);
                give(take());
            } while (came < until && came !== before);
            return came;
        },
    };
}

/** Rows of numbers as events. */
export function read(rows, kinds) {
    const events = [];
    for (let k = 0; k < rows.length; k += EVENT_NUMBERS) {
        const [at, kind, who, whom, what, id, token, value] = rows.subarray(k, k + EVENT_NUMBERS);
        events.push({ at, kind: kinds[kind], who, whom, what, id, token, value });
    }
    return events;
}

/** Plays a script from its beginning to its end. */
export function play(world, { seed, masters, end, steps }, give) {
    world.open(seed, masters);
    for (const step of steps) {
        world.run(step.ms, give);
        world.op(step);
    }
    world.run(end, give);
}
