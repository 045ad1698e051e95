/* What the page /story knows of a scene, for scripts/demo.d/scene:
 *
 *   scene.mjs steps NAME              its operations, a line each: AT_MS OP WHOM VALUE, and how many
 *                                     milestones the story had told before; the last line has all
 *   scene.mjs tell NAME START_US      reads events, and tells them in the words of the page
 *   scene.mjs compare NAME EVENTS AUDIT   what was granted, written and refused, in order, beside the story
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import readline from 'node:readline';

import { reached, SCENES } from '../../api/page/story/scenes.js';
import { sentence } from '../../api/page/story/sentences.js';
import { load, play, read } from '../../api/page/story/world.js';

const root = path.join(import.meta.dirname, '../..');
const WRITE = 4;
const READS = 1; /* the mode of a reader */

const [verb, name, ...words] = process.argv.slice(2);
const world = await load(readFileSync(path.join(process.env.PAWL_BUILD ?? path.join(root, 'build'), 'api/story/story.wasm')));
const scene = world.scenes.find((each) => each.name === name);
const story = [];
play(world, scene, (rows) => story.push(...read(rows, world.kinds)));

const isMilestone = ({ kind, what }) => ['believes', 'looked', 'stale', 'ended'].includes(kind) || (kind === 'accepted' && what === WRITE);

function readEvent(line) {
    const [at, kind, who, whom, what, id, token, value] = line.split(' ');
    return { at: Number(at), kind, who: Number(who), whom: Number(whom), what: Number(what), id: Number(id), token: Number(token), value: Number(value) };
}

const LETTERS = 'ABC';

/** What was granted, written and refused, with tokens as places in their order: another fleet counts from another number. */
function outcome(events) {
    const tokens = [...new Set(events.filter(({ kind }) => kind === 'granted').map(({ token }) => token))].sort((a, b) => a - b);
    const place = (token) => tokens.indexOf(token) + 1;
    const rows = {
        granted: ({ whom, token }) => `token ${place(token)} is granted to ${LETTERS[whom]}`,
        accepted: ({ whom, what, token, value }) => what === WRITE && `${value} is written by ${LETTERS[whom]} with token ${place(token)}`,
        stale: ({ whom, token, value }) => `token ${place(token)} of ${LETTERS[whom]} is refused: ${place(value)} was there`,
    };
    return events.map((event) => rows[event.kind]?.(event)).filter(Boolean);
}

/** A second client that believes to have the lock, as the page tells of it. */
function overlap(event, beliefs) {
    if (event.kind === 'ended') beliefs.delete(event.who);
    if (event.kind !== 'believes') return null;
    const [other] = [...beliefs.values()].filter(({ who, what }) => who !== event.who && (what !== READS || event.what !== READS));
    beliefs.set(event.who, event);
    return other && { ...event, kind: 'overlap', whom: other.who, token: other.token, value: other.value > event.at ? 1 : 0 };
}

/** The grants in the order of pawld's audit log, each with the token that its client was told. */
function inOrder(events, audit) {
    const told = (whom) => events.filter((event) => event.kind === 'granted' && event.whom === whom);
    const asked = new Map(); /* a writer has a line for each seat */
    for (const { event, owner, request_id: id, time } of audit) if (event === 'grant' && LETTERS.includes(owner) && !asked.has(id)) asked.set(id, { whom: LETTERS.indexOf(owner), at: Date.parse(time) * 1000 });
    const counts = [0, 0, 0];
    const grants = [...asked.values()].map(({ whom, at }) => ({ ...told(whom)[counts[whom]++], at }));
    return [...events.filter(({ kind }) => kind !== 'granted'), ...grants].sort((a, b) => a.at - b.at);
}

const verbs = {
    steps() {
        const counted = (ms) => story.filter((event) => event.at < ms * 1000 && isMilestone(event)).length;
        for (const { ms, op, whom, value } of scene.steps) console.log(ms, op, whom, value, counted(ms));
        console.log(scene.end, 'end', 0, 0, counted(scene.end));
    },
    async tell() {
        const told = [];
        const { title, lead } = SCENES[name];
        const shown = new Set();
        const beliefs = new Map();
        const say = (event) => {
            told.push({ event });
            const text = sentence(event);
            if (text) console.log(`${(event.at / 1e6).toFixed(2).padStart(6)} s  ${text}`);
            for (const { text: said } of reached(SCENES[name], told).filter(({ text: each }) => !shown.has(each))) {
                shown.add(said);
                console.log(`          -- ${said}`);
            }
        };
        console.log(`${title}: ${lead}\nHere the tokens may skip numbers: each try of a client that waits may use one up.\n`);
        for await (const line of readline.createInterface({ input: process.stdin })) {
            const event = readEvent(line);
            event.at -= Number(words[0]);
            if (event.kind === 'believes') event.value -= Number(words[0]);
            say(event);
            const second = overlap(event, beliefs);
            if (second) say(second);
        }
    },
    compare() {
        const lines = (file) => readFileSync(file, 'utf8').trim().split('\n');
        const real = outcome(inOrder(lines(words[0]).map(readEvent), lines(words[1]).map((line) => JSON.parse(line))));
        const wanted = outcome(story);
        const same = real.join('\n') === wanted.join('\n');
        console.log(same ? `\nAs in the story:\n  ${real.join('\n  ')}` : `\nNot as in the story. Here:\n  ${real.join('\n  ')}\nIn the story:\n  ${wanted.join('\n  ')}`);
        process.exitCode = same ? 0 : 1;
    },
};
await verbs[verb]();
