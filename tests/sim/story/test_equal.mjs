/* The story tells the same events as a native program and as a module for WebAssembly: each event
 * of 1,000 seeds and of each scene, in order. The page runs the module. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';

import { EVENT_NUMBERS, load, play, read } from '../../../api/page/story/world.js';
import { draw } from '../../../api/story/picture.mjs';

const build = process.env.PAWL_BUILD ?? 'build';
const native = path.join(build, 'tests/story');
const bytes = readFileSync(path.join(build, 'api/story/story.wasm'));
assert.ok(bytes.length > 0, 'story.wasm was not built: run scripts/setup, and build again');
const world = await load(bytes);

const SEEDS = process.env.PAWL_TEST_SHORT === '1' ? 100 : 1000;
const ROW = 4 * EVENT_NUMBERS;

/** The rows of the native program, story after story. */
async function* nativeStories(...words) {
    const child = spawn(native, ['--raw', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exit = once(child, 'exit');
    let left = Buffer.alloc(0);
    let parts = [];
    for await (const chunk of child.stdout) {
        left = Buffer.concat([left, chunk]);
        const whole = left.length - (left.length % ROW);
        let from = 0;
        for (let at = 0; at < whole; at += ROW) {
            if (left.readInt32LE(at) !== -1) continue;
            parts.push(left.subarray(from, at));
            yield Buffer.concat(parts);
            parts = [];
            from = at + ROW;
        }
        parts.push(left.subarray(from, whole));
        left = left.subarray(whole);
    }
    assert.deepEqual(await exit, [0, null]);
}

function playHere(script) {
    const parts = [];
    play(world, script, (rows) => parts.push(Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength)));
    return Buffer.concat(parts);
}

const events = (buffer) => read(new Int32Array(buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.length)), world.kinds);

function assertEqual(here, there, what) {
    if (here.equals(there)) return;
    const [ours, theirs] = [events(here), events(there)];
    ours.forEach((event, k) => assert.deepEqual(event, theirs[k], `${what}: event ${k} is another in WebAssembly`));
    assert.fail(`${what}: ${ours.length} events in WebAssembly, ${theirs.length} natively`);
}

test(`${SEEDS} seeds tell the same events natively and in WebAssembly`, async (t) => {
    const told = {};
    let seed = 0;
    for await (const there of nativeStories('--seeds', `0..${SEEDS}`)) {
        const script = world.ofSeed(seed);
        const here = playHere(script);
        assertEqual(here, there, `seed ${seed}`);
        const all = events(here);
        for (const { kind } of all) told[kind] = (told[kind] ?? 0) + 1;
        /* The guard, wherever it stays on, lets no update be lost; and no token is granted twice. */
        if (!script.steps.some(({ op }) => op === 'guard')) {
            assert.ok(!all.some(({ kind }) => kind === 'lost-update'), `seed ${seed} lost an update`);
        }
        seed++;
    }
    assert.equal(seed, SEEDS);
    /* What never happens was not shown to be equal. */
    for (const kind of world.kinds) if (kind !== 'delayed') assert.ok(told[kind] > 0, `no event of the kind ${kind}`);
    t.diagnostic(JSON.stringify(told));
});

test('each scene tells the same events natively and in WebAssembly', async () => {
    assert.equal(world.scenes.length, 5);
    for (const scene of world.scenes) {
        let count = 0;
        for await (const there of nativeStories('--scene', scene.name)) {
            assertEqual(playHere(scene), there, scene.name);
            count++;
        }
        assert.equal(count, 1);
    }
});

test('the pictures in the pages are those of these scenes', () => {
    for (const name of ['gc-pause', 'failover']) {
        const file = `fence/pictures/${name}.svg`;
        const scene = world.scenes.find((each) => each.name === name);
        assert.ok(readFileSync(file, 'utf8') === draw(world, scene), `${file} is old: node api/story/picture.mjs ${name} > ${file}`);
    }
});
