/* The story in a real Chromium: each scene, against the same script played by the native core. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, test } from 'node:test';

import { accessible, browser, open, picture, sizes, tabTo } from './browser.mjs';
import { folder, onFile } from './servers.mjs';

after(() => browser.close());

const TOTAL_MAX = 150 * 1024;
const PATIENCE = { timeout: 20000 };
const build = process.env.PAWL_BUILD ?? 'build';
const still = { reducedMotion: 'reduce' }; /* a scene is there at once, as a whole */
const scenes = { 'gc-pause': 'A pause', 'delayed-packet': 'A delayed packet', 'clock-jump': 'A clock that jumps', failover: 'A failover that loses data', 'reader-writer': 'Readers and a writer' };

/** The events of the native program, as the page has them. */
function native(words, input = '') {
    const text = execFileSync(path.join(build, 'tests/story'), words, { encoding: 'utf8', input, maxBuffer: 1 << 28 });
    return text.trim().split('\n').map((line) => {
        const [at, kind, who, whom, what, id, token, value] = line.split(' ');
        return { at: Number(at), kind, who: Number(who), whom: Number(whom), what: Number(what), id: Number(id), token: Number(token), value: Number(value) };
    });
}

/* Between them each scene is looked at, and each kind of mark in both themes. */
const shown = { desktop: ['failover', 'reader-writer'], dark: ['clock-jump', 'gc-pause'], phone: ['delayed-packet'] };

const told = (page) => page.evaluate(() => globalThis.story.model.log);
const heading = (page, text) => page.getByRole('heading', { level: 1, name: text }).waitFor(PATIENCE);
const show = async (page, name) => {
    await heading(page, /./);
    await page.evaluate((scene) => (location.hash = `#scene=${scene}`), name);
    await heading(page, scenes[name]);
};
const seen = (page, text) => page.getByText(text).first().waitFor(PATIENCE);
const sum = (page, name) => page.locator('.sums div', { hasText: name }).locator('dd').innerText();

function assertSame(here, there, what) {
    here.forEach((event, k) => assert.deepEqual(event, there[k], `${what}: event ${k}`));
    assert.equal(here.length, there.length, what);
}

describe('story', { concurrency: 3 }, () => {
    /* One server for all tests, which ask it for files alone. */
    let url;
    const ends = [];
    before(async () => ({ url } = await onFile({ after: (end) => ends.unshift(end) })));
    after(async () => {
        for (const end of ends) await end();
    });

    test('each scene grants and refuses what the native core does, event by event', async (t) => {
        const page = await open(t, `${url}/story`, { ...sizes.desktop, ...still });
        for (const name of Object.keys(scenes)) {
            await show(page, name);
            const here = await told(page);
            assertSame(here, native(['--scene', name]), name);
            assert.equal(await sum(page, 'updates lost'), '0', name);
            assert.ok(here.some(({ kind }) => kind === 'granted'), name);
            assert.equal(here.some(({ kind }) => kind === 'stale'), name !== 'failover', name);
        }
        await page.clean();
    });

    test('each scene can be played without the guard, and then an update is lost', async (t) => {
        const page = await open(t, `${url}/story`, { ...sizes.desktop, ...still });
        for (const name of ['gc-pause', 'delayed-packet', 'clock-jump']) {
            await show(page, name);
            await page.getByRole('button', { name: 'Play without the guard' }).click();
            await page.getByRole('button', { name: 'Play with the guard' }).waitFor(PATIENCE);
            assert.equal(await sum(page, 'updates lost'), '1', name);
            assert.equal(await sum(page, 'stale requests rejected'), '0', name);
            assert.match(page.url(), new RegExp(`#scene=${name}&guard=0$`));
        }
        await page.clean();
    });

    test('page is accessible and keeps to its policy, in both themes and on a phone', async (t) => {
        for (const [size, options] of Object.entries(sizes)) {
            const page = await open(t, `${url}/story`, { ...options, ...still });
            await heading(page, 'A pause');
            for (const name of shown[size]) {
                await show(page, name);
                await accessible(page, `${name}, ${size}`);
                await picture(page, `story-${name}-${size}`);
            }
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            assert.ok(wide <= 0, `the page is wider than the ${size} by ${wide} px`);
            await page.clean();
        }
    });

    test('page is small, and its policy allows WebAssembly on its own route alone', async (t) => {
        const page = await open(t, `${url}/story`, { ...sizes.desktop, ...still });
        await heading(page, 'A pause');
        const total = await page.evaluate(() =>
            [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((all, { decodedBodySize }) => all + decodedBodySize, 0));
        t.diagnostic(`${total} bytes`);
        assert.ok(total > 60000 && total < TOTAL_MAX, `${total} bytes`);
        const policy = async (place) => (await fetch(url + place)).headers.get('Content-Security-Policy');
        assert.match(await policy('/story'), /script-src 'self' 'wasm-unsafe-eval';/);
        for (const place of ['/', '/page/story/app.js', '/page/status/app.js']) assert.doesNotMatch(await policy(place), /unsafe/);
        await page.clean();
    });

    test('free play with the keyboard alone: what was done is in the address, and plays again', async (t) => {
        const page = await open(t, `${url}/story#seed=7&masters=5&steps=300.loop.0.0_900.loop.1.0`);
        await heading(page, 'Free play');
        const until = (test) => page.waitForFunction(test, null, PATIENCE);
        await until(() => globalThis.story.model.beliefs.length > 0);
        for (const [name, kind] of [['client A: Pause', 'paused'], ['master 2: Kill', 'killed'], ['master 3: Wipe', 'wiped'], ['master 4: Clock +30 s', 'clock'], ['master 5: Cut off', 'cut'], ['the database: Guard off', 'guard']]) {
            await page.getByRole('button', { name, exact: true }).focus();
            await page.keyboard.press('Enter');
            assert.equal(await page.evaluate((wanted) => globalThis.story.model.log.some((event) => event.kind === wanted), kind), true, name);
        }
        await page.getByRole('button', { name: 'To the start' }).focus();
        await page.keyboard.press('Enter');
        const { script, end } = await page.evaluate(() => {
            const { run } = globalThis.story;
            const last = run.script.steps[run.script.steps.length - 1].ms + 20000;
            run.to(last);
            return { script: run.script, end: last };
        });
        const here = await told(page);
        const steps = script.steps.map(({ ms, op, whom, value }) => `${ms} ${op} ${whom} ${value}\n`).join('');
        assertSame(here, native(['--script', '7', '5', String(end)], steps), 'free play');
        const again = await open(t, page.url());
        await heading(again, 'Free play');
        await again.evaluate((last) => { globalThis.story.playing = false; globalThis.story.run.to(0); globalThis.story.run.to(last); }, end);
        assertSame(await told(again), here, 'the address');
        await page.clean();
        await again.clean();
    });

    test('every control is reached by the Tab key, and a message is held up', async (t) => {
        const page = await open(t, `${url}/story#scene=gc-pause`, { ...sizes.desktop, ...still });
        await heading(page, 'A pause');
        await page.evaluate(() => { globalThis.story.run.to(400); });
        await page.getByRole('button', { name: 'Step', exact: true }).click();
        await tabTo(page, 'acquire, client A to pawld: 5 s later', 60);
        await page.keyboard.press('Enter');
        assert.ok((await told(page)).some(({ kind }) => kind === 'delayed'));
        assert.match(page.url(), /#seed=33&masters=3&end=20000&steps=/);
        await tabTo(page, 'Time: 0.5 s', 60);
        await page.keyboard.press('ArrowRight');
        await seen(page, 'Time: 0.6 s');
        await page.clean();
    });

    test('a message is dragged later by the pointer', async (t) => {
        const page = await open(t, `${url}/story#scene=gc-pause`, { ...sizes.desktop, ...still });
        await heading(page, 'A pause');
        await page.evaluate(() => { globalThis.story.run.to(0); globalThis.story.run.to(560); globalThis.story.run.do('hold', 2, 0); });
        const line = page.locator('.message[data-message]').first();
        const { x, y, width, height } = await line.boundingBox();
        await page.mouse.move(x + width / 2, y + height / 2);
        await page.mouse.down();
        await page.mouse.move(x + width / 2 + 120, y + height / 2, { steps: 4 });
        await page.mouse.up();
        const delayed = (await told(page)).find(({ kind }) => kind === 'delayed');
        const sent = (await told(page)).find(({ kind, id }) => kind === 'sent' && id === delayed.id);
        assert.equal(delayed.value - sent.value, 3e6, '120 pixels are three seconds');
        assert.match(page.url(), new RegExp(`_560\\.delay\\.${delayed.id}\\.3000`));
        await page.clean();
    });

    test('a failing history of the simulator is watched, event by event', async (t) => {
        const file = path.join(folder(t), 'scene');
        const trace = execFileSync(path.join(build, 'tests/mutants'), ['--shrink', '--scene', file, 'majority-of-asked'], { encoding: 'utf8' });
        const [, title, , ...lines] = readFileSync(file, 'utf8').trim().split('\n');
        const violation = /VIOLATION: .*$/m.exec(trace)[0];
        const page = await open(t, `${url}/story`, { ...sizes.desktop, ...still });
        await heading(page, 'A pause');
        const choose = (name) => page.getByLabel('Open a scene of the simulator').setInputFiles(name);
        await choose(import.meta.filename);
        await seen(page, 'test_story.mjs is not a scene of the simulator');
        await choose(file);
        await heading(page, title.replace('title ', ''));
        await seen(page, violation);
        const here = await told(page);
        assert.deepEqual(here.map(({ at, kind, text, ...rest }) => [at, kind, ...(text ? [text] : Object.values(rest))].join(' ')), lines);
        /* The trace tells of each grant by itself. */
        const traced = [...trace.matchAll(/^ *([\d.]+) ms {2}server (\d) answers call \d+ \(lock \d+\): success, token ([1-9]\d*)/gm)].map(([, ms, server, token]) => `${ms} ${server} ${token}`);
        const grants = here.filter(({ kind }) => kind === 'granted').map(({ at, who, token }) => `${(at / 1000).toFixed(3)} ${who - 8} ${token}`);
        assert.ok(grants.length > 1 && grants.every((grant) => traced.includes(grant)), `${grants} of ${traced}`);
        await accessible(page, 'a recorded scene');
        await picture(page, 'story-recorded');
        await page.getByRole('button', { name: 'To the start' }).click();
        await seen(page, 'Time: 0.00 ms');
        assert.equal(await page.getByRole('button', { name: 'Kill' }).count(), 0);
        await page.clean();
    });

    test('a scene plays by itself, and stops', async (t) => {
        const page = await open(t, `${url}/story#scene=failover`);
        await heading(page, scenes.failover);
        await page.getByLabel('Speed').selectOption('6');
        await seen(page, 'B waits until A has released the lock');
        await page.getByRole('button', { name: 'Play again' }).waitFor(PATIENCE);
        assertSame(await told(page), native(['--scene', 'failover']), 'failover');
        await page.clean();
    });

    test('the static files play the same on any web server', async (t) => {
        const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.gz': 'application/octet-stream' };
        const server = createServer((request, response) => {
            const name = new URL(request.url, 'http://x').pathname.replace('/below/', '') || 'index.html';
            response.setHeader('Content-Type', types[path.extname(name)]);
            response.end(readFileSync(path.join(build, 'story', name)));
        });
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        t.after(() => server.close());
        const page = await open(t, `http://127.0.0.1:${server.address().port}/below/#scene=clock-jump`, { ...sizes.desktop, ...still });
        await heading(page, scenes['clock-jump']);
        assertSame(await told(page), native(['--scene', 'clock-jump']), 'clock-jump');
        await page.clean();
    });
});
