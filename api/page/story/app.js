/* The page of the story: a scene or free play, its lanes, and its words. */
import { h, render } from '../shared/dom.js';
import { controls } from './controls.js';
import { firstShown, lanesOf, picture, scaleOf } from './lanes.js';
import { Model } from './model.js';
import { readScene, Recording } from './recording.js';
import { freePlay, fromAddress, Run, toAddress } from './run.js';
import { reached, SCENES } from './scenes.js';
import { isViolation, weight } from './sentences.js';
import { load } from './world.js';

const FRAME_MS = 40;
const LOG_SHOWN = 100;
const SHORT_MS = 2000;
const STEPS = 200; /* of the slider, where a scene was recorded */
const SPEEDS = [[0.25, '¼ speed'], [1, 'real time'], [2, 'twice as fast'], [6, 'six times as fast']];
const FREE = {
    title: 'Free play',
    lead: 'Clients acquire the lock again and again. At any moment you can pause clients, stop masters, and delay messages.',
};
const RECORDED = 'The simulator recorded the actions of its servers, masters and clients. The servers run the real core. The sentences come from the trace of the core.';
const KICKER = 'Why a lock needs a fencing token';
const SIGNS = [['sign-valid', 'lock held, valid'], ['sign-late', 'no longer valid, not noticed'], ['sign-pause', 'paused'], ['sign-look', 'checks its clock'], ['sign-grant', 'pawld grants'], ['sign-read', 'claim and read'], ['sign-write', 'write'], ['sign-refusal', 'rejected']];

const page = { world: null, run: null, model: null, playing: false, speed: 2, modes: [0, 0, 0], frame: 0, asked: 0 };

/* ---- runs ------------------------------------------------------------------------------------- */

/** A run whose changes are in the address. */
function changeable(run) {
    const act = run.do.bind(run);
    run.do = (...words) => {
        act(...words);
        keepAddress();
        draw();
    };
    return run;
}

function start(script, playing) {
    const heard = {
        begin: () => (page.model = new Model(script.masters, script.cast)),
        tell: (event) => page.model.hear(event),
    };
    const run = script.recorded ? new Recording(script, heard) : changeable(new Run(page.world, script, heard));
    Object.assign(page, { run, playing, modes: [0, 0, 0] });
    globalThis.story = page; /* for the console, and for tests */
    page.frame = performance.now();
    if (!playing && (script.name || script.recorded)) run.to(script.end);
    draw();
    follow();
    move();
}

const keepAddress = () => history.replaceState(null, '', toAddress(page.run.script, page.run.own));

function go(hash) {
    history.pushState(null, '', hash);
    fromHere();
}

/** Moves by itself, unless the reader wants no motion: then the whole scene is there at once. */
const mayMove = () => !matchMedia('(prefers-reduced-motion: reduce)').matches;
const fromHere = () => start(fromAddress(location.hash, page.world), mayMove());

async function openFile(file) {
    const script = file && readScene(await file.text());
    page.refused = file && !script ? file.name : null;
    if (script) start(script, mayMove());
    else draw();
}

const anySeed = () => crypto.getRandomValues(new Uint32Array(1))[0] >>> 8;

function playFreely(masters) {
    const script = freePlay(anySeed(), masters);
    history.pushState(null, '', toAddress(script, 1));
    start(script, true);
}

/* ---- time ------------------------------------------------------------------------------------- */

/** One frame is asked for at a time, and none while nothing moves. */
function move() {
    if (page.playing && !page.asked) page.asked = requestAnimationFrame(tick);
}

function tick(at) {
    const passed = at - page.frame;
    page.asked = 0;
    if (page.playing && passed >= FRAME_MS) {
        page.frame = at;
        page.run.to(page.run.now + Math.min(passed, 250) * page.speed * (page.run.rate ?? 1));
        if (page.run.isOver) page.playing = false;
        draw();
    }
    move();
}

function toggle() {
    if (page.run.isOver) page.run.restart();
    page.playing = !page.playing;
    page.frame = performance.now();
    draw();
    move();
}

function seek(ms) {
    page.playing = false;
    page.run.to(ms);
    draw();
    follow();
}

/* ---- what is shown ---------------------------------------------------------------------------- */

const isFree = (script) => !script.name && script.story === undefined && !script.recorded;

/** An instant, in ms; those of a short scene are told to the microsecond. */
const instant = ({ recorded, end }, ms, digits) => (recorded && end < SHORT_MS ? `${ms.toFixed(digits + 1)} ms` : `${(ms / 1000).toFixed(digits)} s`);

const way = (href, text, current) => h('li', null, h('a', { href, 'aria-current': current ? 'page' : null, onclick: (event) => { event.preventDefault(); go(href); } }, text));

function head({ script }) {
    const scenes = page.world.scenes.map(({ name }) => way(`#scene=${name}`, SCENES[name].title, script.name === name));
    return h('header', null,
        h('p', { class: 'name' }, 'Pawl', h('span', { class: 'host' }, 'the story')),
        h('nav', { 'aria-label': 'Scenes' }, h('ul', null, scenes,
            h('li', null, h('a', { href: '#seed=1', 'aria-current': isFree(script) ? 'page' : null, onclick: (event) => { event.preventDefault(); playFreely(3); } }, FREE.title)))));
}

function player(run) {
    const { script, now } = run;
    const step = script.recorded ? script.end / STEPS : 100;
    const most = isFree(script) ? Math.max(now, 1000) : script.end;
    return h('div', { class: 'controls player' },
        h('button', { type: 'button', class: 'first', onclick: toggle }, page.playing ? 'Stop' : run.isOver ? 'Play again' : 'Play'),
        h('button', { type: 'button', onclick: () => seek(0) }, 'To the start'),
        h('button', { type: 'button', onclick: () => seek(run.now + step) }, 'Step'),
        h('div', { class: 'wide' }, h('label', { for: 'time' }, `Time: ${instant(script, now, 1)}`),
            h('input', { id: 'time', type: 'range', min: 0, max: most, step, oninput: ({ target }) => seek(Number(target.value)) })),
        h('div', null, h('label', { for: 'speed' }, 'Speed'),
            h('select', { id: 'speed', onchange: ({ target }) => (page.speed = Number(target.value)) },
                SPEEDS.map(([value, text]) => h('option', { value, selected: value === page.speed }, text)))),
        script.name && run.own === 0 && h('button', { type: 'button', onclick: () => go(`#scene=${script.name}${script.unguarded ? '' : '&guard=0'}`) },
            script.unguarded ? 'Play with the guard' : 'Play without the guard'),
        isFree(script) && [3, 5].map((masters) => h('button', { type: 'button', onclick: () => playFreely(masters) }, `New, ${masters} masters`)),
        isFree(script) && h('button', { type: 'button', onclick: () => go(`#story=${anySeed()}`) }, 'Random scene'));
}

function figure(run) {
    const { lanes, high } = lanesOf(page.model.cast);
    return h('div', { class: 'figure' },
        h('svg', { class: 'names', width: 74, height: high, 'aria-hidden': 'true' }, lanes.map(({ name, line }) => h('text', { x: 0, y: line + 4 }, name))),
        h('div', { class: 'sheet', id: 'sheet', tabindex: 0, role: 'region', 'aria-label': 'Lanes of time' },
            picture(page.model, run.now, isFree(run.script) ? 20000 : run.script.end, scaleOf(run.script))));
}

const fact = (name, value, weighs) => h('div', null, h('dt', null, name), h('dd', { class: weighs ?? null }, value));

const facts = (model) => h('dl', { class: 'sums' },
    fact('balance', model.balance),
    fact('stale requests rejected', model.refused),
    fact('updates lost', model.lost, model.lost > 0 ? 'fault' : null),
    fact('two valid holders', model.overlaps > 0 ? 'yes' : 'no', model.overlaps > 0 ? 'fault' : null),
    fact('guard', model.isGuarded ? 'on' : 'off'));

function log(model, script) {
    const told = model.told.slice(-LOG_SHOWN);
    return h('ol', { class: 'log', tabindex: 0, 'aria-label': 'Events, the latest first' }, told.reverse().map(({ event, text }) =>
        h('li', { class: weight(event) }, h('span', { class: 'unit number' }, instant(script, event.at / 1000, 2)), ' ', text)));
}

function words({ script }) {
    const scene = SCENES[script.name];
    if (!scene) return [];
    const lines = reached(scene, page.model.told);
    return h('ol', { class: 'lines', 'aria-live': 'polite' }, lines.map(({ text }, k) => h('li', { class: k === lines.length - 1 ? 'latest' : null }, text)));
}

/** The line that is on, above the picture. The list below has it for those who hear it. */
function current({ script }) {
    const { told } = page.model;
    const lines = SCENES[script.name] ? reached(SCENES[script.name], told) : told;
    const text = lines[lines.length - 1]?.text ?? '';
    return h('p', { class: isViolation(text) ? 'now-told bad' : 'now-told', 'aria-hidden': 'true' }, text);
}

const legend = () => h('ul', { class: 'legend', 'aria-label': 'Signs in the picture' }, SIGNS.map(([sign, text]) => h('li', null, h('span', { class: `sign ${sign}`, 'aria-hidden': 'true' }), text)));

function titles({ name, story, recorded, title }) {
    if (recorded) return { title, lead: RECORDED };
    return SCENES[name] ?? (story === undefined ? FREE : { ...FREE, title: `Story ${story}` });
}

const changes = (run) => [
    h('h2', null, 'Change the run'),
    h('p', { class: 'quiet' }, 'Each change takes effect at once. The URL of this page replays this run with the same seed, changes and events.'),
    controls(run, page.model, page.modes),
];

function foot({ recorded, seed }) {
    const origin = recorded ? 'This scene is recorded and cannot be changed.' : `Seed ${seed}. The page runs the real core, compiled to WebAssembly. Clients, network and clocks are simulated.`;
    return h('footer', null, h('p', null, origin),
        h('p', null, h('label', { for: 'scene' }, 'Open a scene of the simulator: '), h('input', { id: 'scene', type: 'file', accept: '.txt,.scene,text/plain', onchange: ({ target }) => openFile(target.files[0]) })),
        page.refused && h('p', { class: 'bad', role: 'alert' }, `${page.refused} is not a scene of the simulator. Write a scene with build/tests/mutants --shrink --scene FILE MUTANT.`));
}

function draw() {
    const { run, model } = page;
    const { title, lead } = titles(run.script);
    render(document.getElementById('page'), head(run),
        h('main', { id: 'main' },
            h('p', { class: 'quiet kicker' }, KICKER), h('h1', null, title), h('p', { class: 'lead' }, lead),
            player(run), current(run), figure(run), legend(), words(run),
            !run.script.recorded && [facts(model), changes(run)],
            h('h2', null, 'Events'), log(model, run.script)),
        foot(run.script));
    document.getElementById('time').value = run.now;
    document.title = `${title} – Pawl: the story`;
    if (page.playing) follow();
}

/** The sheet follows the time. */
function follow() {
    const sheet = document.getElementById('sheet');
    const { run, model } = page;
    const scale = scaleOf(run.script);
    const last = model.told[model.told.length - 1];
    const shown = run.isOver && last ? Math.min(run.now, last.event.at / 1000) : run.now; /* not the quiet behind the last event */
    const at = (shown / 1000 - firstShown(run.now, scale)) * scale;
    sheet.scrollLeft = at - sheet.clientWidth * 0.8;
}

/* ---- dragging a message later ----------------------------------------------------------------- */

addEventListener('pointerdown', (event) => {
    const id = event.target.dataset?.message;
    if (!id || page.run.script.recorded) return;
    const from = event.clientX;
    const drop = ({ clientX }) => {
        const later = Math.round(((clientX - from) / scaleOf(page.run.script)) * 1000);
        if (later > 0) page.run.do('delay', Number(id), later);
    };
    addEventListener('pointerup', drop, { once: true });
});

/* ---- the beginning ---------------------------------------------------------------------------- */

/** The module. Some web servers unpack such a file themselves: then it does not begin as a packed one does. */
async function fetchModule() {
    const response = await fetch(new URL('story.wasm.gz', import.meta.url));
    const bytes = response.ok ? await response.arrayBuffer() : new ArrayBuffer(0);
    const isPacked = bytes.byteLength > 0 && new Uint8Array(bytes)[0] === 0x1f;
    return isPacked ? new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer() : bytes;
}

const bytes = await fetchModule();
if (bytes.byteLength === 0) {
    render(document.getElementById('page'), h('main', null, h('h1', null, 'The story is not in this build'),
        h('p', null, 'pawld was built without clang, lld and wasi-libc. Run scripts/setup, and build again.')));
} else {
    page.world = await load(bytes);
    addEventListener('popstate', fromHere);
    fromHere();
}
