/* Draws a scene of the story as a picture of its own, with the code of the page:
 *
 *     node api/story/picture.mjs gc-pause > fence/pictures/gc-pause.svg
 *
 * sim.story fails where a picture in fence/pictures is not what this program draws. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

import { lanesOf, picture } from '../page/story/lanes.js';
import { Model } from '../page/story/model.js';
import { load, play, read } from '../page/story/world.js';
import { h } from '../page/shared/dom.js';

const NAMES_WIDE = 78;
const root = path.join(import.meta.dirname, '../..');

/* The colours of the page, and the rules for what is in the lanes. */
function styles() {
    const text = (file) => readFileSync(path.join(root, 'api/page', file), 'utf8');
    const rules = [...text('shared/style.css').matchAll(/^(?::root|@media \(prefers-color-scheme: dark\)) \{\n[^]*?^\}/gm)].map(([rule]) => rule);
    const own = text('story/story.css').replace(/^@media \(max-width[^]*$/m, '').replace(/^\.(player|figure|sheet|sums|actors|log|lines|kicker|now-told|legend|sign)[^{]*\{[^}]*\}/gm, '');
    return [...rules, own, '.paper { fill: var(--paper); }', 'svg { font-family: system-ui, sans-serif; }'].join('\n').replace(/\s+/g, ' ');
}

const escaped = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');

function write(node) {
    if (typeof node !== 'object') return escaped(node);
    const fields = Object.entries(node.properties).filter(([name, value]) => name !== 'key' && name !== 'data-message' && value !== null && value !== false);
    const inner = node.children.map(write).join('');
    return `<${node.name}${fields.map(([name, value]) => ` ${name}="${escaped(value)}"`).join('')}>${inner}</${node.name}>`;
}

/** The picture of a scene, as text. */
export function draw(world, scene) {
    const model = new Model(scene.masters);
    play(world, scene, (rows) => read(rows, world.kinds).forEach((event) => model.hear(event)));
    const { lanes, high } = lanesOf(model.cast);
    const sheet = picture(model, scene.end, scene.end);
    const wide = sheet.properties.width + NAMES_WIDE;
    const names = h('g', { class: 'names', transform: 'translate(4 0)' }, lanes.map(({ name, line }) => h('text', { y: line + 4 }, name)));
    sheet.properties = { ...sheet.properties, x: NAMES_WIDE };
    const whole = h('svg', { xmlns: 'http://www.w3.org/2000/svg', width: wide, height: high, viewBox: `0 0 ${wide} ${high}` },
        h('rect', { class: 'paper', width: wide, height: high }), names, sheet);
    return `${write(whole).replace('>', `><style>${styles()}</style>`)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const world = await load(readFileSync(path.join(process.env.PAWL_BUILD ?? path.join(root, 'build'), 'api/story/story.wasm')));
    const scene = world.scenes.find(({ name }) => name === process.argv[2]);
    if (!scene) {
        console.error(`usage: picture.mjs ${world.scenes.map(({ name }) => name).join(' | ')}`);
        process.exit(2);
    }
    process.stdout.write(draw(world, scene));
}
