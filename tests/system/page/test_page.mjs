/* The status page of pawld, and the page of the ledger, in a real Chromium. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { accessible, browser, open, picture, sizes, tabTo } from './browser.mjs';
import { call, folder, ledger, masters, newKey, onFile, pawld } from './servers.mjs';

after(() => browser.close());

const TOTAL_MAX = 150 * 1024;
const PATIENCE = { timeout: 15000 };

/** Locks of each kind, some that wait, and a counter. */
async function busy(url, t) {
    const leaving = new AbortController();
    t.after(() => leaving.abort());
    await call('POST', `${url}/v1/locks/reports/daily`, { ttl_ms: 200000, owner: 'cron@db-3' });
    await call('POST', `${url}/v1/locks/orders/42`, { ttl_ms: 60000, owner: 'worker-7' });
    for (const owner of ['import-1', 'import-2']) await call('POST', `${url}/v1/semaphores/imports`, { permits: 3, ttl_ms: 90000, owner });
    await call('POST', `${url}/v1/counters/invoices`, { count: 1200 });
    /* A wait ends with 503 where a slow machine keeps masters from answering: it is asked for again. */
    const wait = async (owner) => {
        const headers = { 'Content-Type': 'application/json' };
        const body = JSON.stringify({ wait_ms: 100000, owner });
        while (!leaving.signal.aborted) {
            await fetch(`${url}/v1/locks/reports/daily`, { method: 'POST', headers, body, signal: leaving.signal }).catch(() => {});
            await sleep(100);
        }
    };
    ['waiter-1', 'waiter-2'].forEach(wait);
}

const heading = (page, text) => page.getByRole('heading', { level: 1, name: text }).waitFor(PATIENCE);
const seen = (page, text) => page.getByText(text).first().waitFor(PATIENCE);

/* Most of the time a test waits for the page to ask again: so three run at a time. */
describe('page', { concurrency: 3 }, () => {
    test('page is small, comes from the server alone, and is asked for again by its tag', async (t) => {
        const file = path.join(folder(t), 'keys');
        newKey(file, 'read', 'reader');
        const { url } = await onFile(t, '--keys', file);
        const page = await open(t, url);
        await heading(page, 'This server can grant locks.');
        const total = await page.evaluate(() =>
            [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
                .filter(({ name }) => !name.includes('/v1/'))
                .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0));
        t.diagnostic(`${total} bytes`);
        assert.ok(total > 20000 && total < TOTAL_MAX, `${total} bytes`);

        const script = await fetch(`${url}/page/status/app.js`);
        const etag = script.headers.get('ETag');
        assert.match(script.headers.get('Content-Security-Policy'), /^default-src 'none'; script-src 'self';/);
        assert.equal(script.headers.get('X-Content-Type-Options'), 'nosniff');
        assert.equal(script.headers.get('Cache-Control'), 'no-cache');
        const again = await fetch(`${url}/page/status/app.js`, { headers: { 'If-None-Match': etag } });
        assert.equal(again.status, 304);
        const other = await fetch(`${url}/page/status/app.js`, { headers: { 'If-None-Match': '"0000000000000000"' } });
        assert.equal(other.status, 200);
        assert.equal((await fetch(`${url}/page/status/none.js`)).status, 404);
        await page.clean();
    });

    test('every view is accessible and keeps to its policy, in both themes and on a phone', async (t) => {
        const fleet = await masters(t, 3);
        const { url } = await pawld(t, fleet.flatMap((master) => ['--master', master.url]));
        await busy(url, t);
        const views = {
            overview: ['', '2 waiting'],
            locks: ['locks', 'worker-7'],
            lock: ['locks/reports/daily', 'Break this lock …'],
            seat: ['locks/imports%230', 'seat 0'],
            semaphores: ['semaphores', 'import-2'],
            counters: ['counters', '1,200'],
            events: ['events', 'Time, such as 14:03'],
        };
        for (const [size, options] of Object.entries(sizes)) {
            const page = await open(t, url, options);
            for (const [name, [hash, text]] of Object.entries(views)) {
                await page.evaluate((place) => (location.hash = `#/${place}`), hash);
                await seen(page, text);
                await accessible(page, `${name}, ${size}`);
                const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
                assert.ok(wide <= 0, `${name} is wider than the ${size} by ${wide} px`);
                await picture(page, `${name}-${size}`);
            }
            await page.clean();
        }
    });

    test('verdict follows the masters, and says what to do', async (t) => {
        const fleet = await masters(t, 3);
        const { url } = await pawld(t, fleet.flatMap((master) => ['--master', master.url]));
        const page = await open(t, url);
        await heading(page, 'This server can grant locks.');
        await fleet[1].kill();
        await heading(page, 'This server can grant locks, but 1 master does not vote.');
        await seen(page, 'If one more master fails, no lock can be granted.');
        await seen(page, new RegExp(`^Master 2 \\(${fleet[1].url}\\): `));
        await accessible(page, 'one master down');
        await fleet[2].kill();
        await heading(page, 'This server cannot grant locks.');
        await seen(page, /1 of 3 masters are active, and 2 are needed/);
        await accessible(page, 'two masters down');
        await picture(page, 'overview-down');
        await page.clean();
    });

    test('server that does not answer is said to be silent', async (t) => {
        const server = await onFile(t);
        const page = await open(t, server.url);
        await heading(page, 'This server can grant locks.');
        await server.kill();
        await heading(page, 'This server does not answer.');
    });

    test('key is kept in memory alone', async (t) => {
        const file = path.join(folder(t), 'keys');
        const key = newKey(file, 'read', 'reader');
        const { url } = await onFile(t, '--keys', file);
        const page = await open(t, url);
        await seen(page, 'Sign in with a key to see masters and locks.');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await accessible(page, 'sign-in');
        await page.getByLabel('Key', { exact: true }).fill('pawl_reader_wrong');
        await page.keyboard.press('Enter');
        await seen(page, /The key is unknown/);
        await accessible(page, 'sign-in with a wrong key');
        await page.getByLabel('Key', { exact: true }).fill(key);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Masters' }).waitFor(PATIENCE);
        const kept = await page.evaluate(async () => {
            /* An item named "key" is no property of a storage. */
            const items = (storage) => Array.from({ length: storage.length }, (_, i) => storage.getItem(storage.key(i)));
            const others = [...(await indexedDB.databases()), ...(await caches.keys()), history.state, name];
            return JSON.stringify([items(localStorage), items(sessionStorage), document.cookie, location.href, others]);
        });
        assert.ok(!kept.includes('pawl_'), kept);
        await page.getByRole('button', { name: 'Sign out' }).click();
        await seen(page, 'Sign in with a key to see masters and locks.');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByLabel('Key', { exact: true }).fill(key);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Masters' }).waitFor(PATIENCE);
        await page.reload();
        await seen(page, 'Sign in with a key to see masters and locks.');
        assert.equal(await page.getByRole('heading', { name: 'Masters' }).count(), 0);
        await page.clean();
    });

    test('lock is broken by who may, once its token is typed, with the keyboard alone', async (t) => {
        const file = path.join(folder(t), 'keys');
        const admin = newKey(file, 'admin', 'operator');
        const reader = newKey(file, 'read', 'reader');
        const { url } = await onFile(t, '--keys', file);
        const bearer = { Authorization: `Bearer ${admin}` };
        const held = await call('POST', `${url}/v1/locks/reports/daily`, { ttl_ms: 200000, owner: 'cron@db-3' }, bearer);
        const page = await open(t, `${url}/#/locks`);
        const signIn = async (key) => {
            await tabTo(page, 'Sign in');
            await page.keyboard.press('Enter');
            await page.keyboard.type(key);
            await page.keyboard.press('Enter');
            await page.getByRole('button', { name: 'Sign out' }).waitFor(PATIENCE);
        };
        const breakIt = async () => {
            await tabTo(page, 'Break this lock …');
            await page.keyboard.press('Enter');
            await page.keyboard.type(String(held.token + 7));
            assert.ok(await page.getByRole('button', { name: 'Break the lock' }).isDisabled());
            await page.keyboard.press('Control+A');
            await page.keyboard.type(String(held.token));
            await page.keyboard.press('Enter');
        };
        await signIn(reader);
        await tabTo(page, 'Names that begin with');
        await page.keyboard.type('rep');
        await seen(page, /whose name begins with “rep”/);
        await tabTo(page, 'reports/daily');
        await page.keyboard.press('Enter');
        await heading(page, 'reports/daily');
        await breakIt();
        await seen(page, /the key reader has the role read/);
        await accessible(page, 'break refused');
        await picture(page, 'break-desktop');
        await page.keyboard.press('Escape');
        assert.equal((await call('GET', `${url}/v1/locks/reports/daily`, null, bearer)).held, true);
        await tabTo(page, 'Sign out');
        await page.keyboard.press('Enter');
        await signIn(admin);
        await page.getByRole('button', { name: 'Break this lock …' }).waitFor(PATIENCE);
        await breakIt();
        await seen(page, `The grant with token ${held.token} was broken.`);
        await seen(page, 'The lock is free.');
        assert.equal((await call('GET', `${url}/v1/locks/reports/daily`, null, bearer)).held, false);
        await page.clean();
    });

    test('key for some names is told so, and finds them by prefix', async (t) => {
        const file = path.join(folder(t), 'keys');
        const key = newKey(file, 'lock', 'orders-app', 'orders/');
        const { url } = await onFile(t, '--keys', file);
        await call('POST', `${url}/v1/locks/orders/42`, { ttl_ms: 60000, owner: 'worker-7' }, { Authorization: `Bearer ${key}` });
        const page = await open(t, `${url}/#/locks`);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByLabel('Key', { exact: true }).fill(key);
        await page.keyboard.press('Enter');
        await seen(page, /This key is limited to some prefixes/);
        await page.getByLabel('Names that begin with').fill('orders/');
        await seen(page, 'worker-7');
        await page.clean();
    });

    test('address of a lock leads to no other call', async (t) => {
        const { url } = await onFile(t);
        const page = await open(t, url);
        await heading(page, 'This server can grant locks.');
        const paths = [];
        page.on('request', (request) => paths.push(new URL(request.url()).pathname));
        for (const name of ['../../readyz', '%2E%2E%2F%2E%2E%2Freadyz', 'orders/./../../../readyz', 'orders//42']) {
            await page.evaluate((place) => (location.hash = `#/locks/${place}`), name);
            await seen(page, 'This is not the name of a lock.');
            await page.evaluate(() => (location.hash = '#/locks'));
            await heading(page, 'Locks');
        }
        assert.deepEqual(paths.filter((path) => !/^\/(v1\/(fleet|locks|events)|metrics|page\/shared\/icon.svg)$/.test(path)), []);
        await page.clean();
    });

    test('100,000 locks do not freeze the page, and it says what it shows', async (t) => {
        const fleet = await masters(t, 1);
        const { url } = await pawld(t, fleet.flatMap((master) => ['--master', master.url]));
        const names = Array.from({ length: 100000 }, (_, i) => `fleet/${i % 1000}/${i}`);
        const groups = Array.from({ length: Math.ceil(names.length / 64) }, (_, i) => names.slice(64 * i, 64 * i + 64));
        for (let i = 0; i < groups.length; i += 32)
            await Promise.all(groups.slice(i, i + 32).map((resources) => call('POST', `${url}/v1/locks`, { resources, ttl_ms: 300000, owner: 'load' })));
        const page = await open(t, url);
        await page.evaluate(() => {
            globalThis.longest = 0;
            new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => (globalThis.longest = Math.max(globalThis.longest, duration)))).observe({ type: 'longtask' });
        });
        await seen(page, /Of the first 1,0\d\d locks/);
        await page.getByRole('link', { name: 'Locks', exact: true }).click();
        await seen(page, /There are more/);
        await page.getByRole('button', { name: 'Held', exact: true }).click();
        await page.getByRole('button', { name: 'Show more' }).click();
        await page.getByLabel('Names that begin with').fill('fleet/7/7007');
        await seen(page, /1 lock whose name begins with “fleet\/7\/7007”/);
        const longest = await page.evaluate(() => globalThis.longest);
        t.diagnostic(`longest task: ${Math.round(longest)} ms`);
        assert.ok(longest < 1000, `a task of ${longest} ms`);
        await page.clean();
    });

    test('loss stays on the overview beside many refusals, which are fewer there', async (t) => {
        const { url } = await onFile(t);
        const page = await open(t, url);
        await page.getByText('live', { exact: true }).waitFor(PATIENCE);
        /* A busy disk may answer 503. */
        const until = async (status, ...words) => {
            for (;;) {
                const answer = await call(...words);
                if (answer.status === status) return answer;
                await sleep(100);
            }
        };
        const { token, lock_id: id } = await until(201, 'POST', `${url}/v1/locks/orders/1`, { ttl_ms: 100 });
        await until(201, 'POST', `${url}/v1/locks/orders/1`, { wait_ms: 5000, owner: 'worker-6' });
        await until(409, 'PATCH', `${url}/v1/locks/orders/1`, {}, { 'Lock-Id': id, 'Fencing-Token': String(token) });
        await until(201, 'POST', `${url}/v1/locks/orders/2`, { owner: 'worker-7' });
        for (let k = 0; k < 9; k++) await call('POST', `${url}/v1/locks/orders/2`, { owner: `late-${k}` });
        const rows = (kind) => page.getByRole('table', { name: 'Recent problems' }).getByRole('row').filter({ has: page.getByRole('rowheader', { name: kind }) });
        await rows('refused').getByText('late-8').waitFor(PATIENCE);
        assert.match(await rows('lost').first().textContent(), /the lease had ended.*orders\/1/);
        assert.equal(await rows('refused').count(), 3);
        await page.clean();
    });

    test('events come live, and are found by kind, name and minute', async (t) => {
        const { url, kill } = await onFile(t);
        if ((await fetch(`${url}/v1/events`, { signal: AbortSignal.timeout(5000) })).status === 404) return t.skip('this pawld has no events');
        const page = await open(t, `${url}/#/events`);
        await page.getByText('live', { exact: true }).waitFor(PATIENCE);
        const { token, lock_id: id } = await call('POST', `${url}/v1/locks/orders/42`, { owner: 'worker-7' });
        await call('POST', `${url}/v1/locks/orders/42`, { owner: 'worker-8' });
        const row = (kind) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: kind }) });
        await row('granted').getByText('worker-7').waitFor(PATIENCE);
        assert.match(await row('granted').textContent(), new RegExp(`orders/42${token}worker-7`));
        await row('refused').getByText('worker-8').waitFor(PATIENCE);
        await accessible(page, 'events');
        await picture(page, 'events-live');
        await page.getByLabel('What').selectOption('trouble');
        await row('granted').waitFor({ state: 'detached', ...PATIENCE });
        await page.getByLabel('What').selectOption('granted');
        await row('granted').waitFor(PATIENCE);
        await page.getByLabel('Time, such as').fill('99:');
        await row('granted').waitFor({ state: 'detached', ...PATIENCE });
        await seen(page, /^0 events of \d+ since the page began to listen at .* audit log/);
        await page.getByLabel('Time, such as').fill((await page.evaluate(() => new Date().toTimeString())).slice(0, 2));
        await row('granted').waitFor(PATIENCE);
        await page.evaluate(() => (location.hash = '#/locks/orders/42'));
        await row('granted').waitFor(PATIENCE);
        await call('DELETE', `${url}/v1/locks/orders/42`, null, { 'Lock-Id': id });
        await row('released').waitFor(PATIENCE);
        await kill();
        await heading(page, 'orders/42');
        return page.clean();
    });

    test('ledger shows accounts, guards, and what was refused as it happens', async (t) => {
        const { url } = await ledger(t);
        const write = (token, balance) => call('PUT', `${url}/v1/accounts/anna`, { balance, memo: 'rent' }, { 'Fencing-Token': String(token) });
        await write(34, 130);
        const page = await open(t, url);
        await heading(page, 'No stale write was rejected.');
        await seen(page, 'anna');
        assert.equal((await write(33, 150)).status, 412);
        await heading(page, '1 stale call rejected.');
        await seen(page, /accounts\/anna with token 33\. The guard had already seen token 34/);
        for (const [size, options] of Object.entries(sizes)) {
            const each = await open(t, url, options);
            await heading(each, '1 stale call rejected.');
            await accessible(each, `ledger, ${size}`);
            await picture(each, `ledger-${size}`);
            await each.clean();
        }
        await page.clean();
    });
});
