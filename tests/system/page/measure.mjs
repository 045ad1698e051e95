/* How the status page bears a large fleet: 100,000 locks and 1,000 events a second. Prints the times of
 * its frames, and its memory by the minute. It takes ten minutes, and is no test: nothing fails here.
 *
 *     node tests/system/page/measure.mjs [MINUTES] */
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

import { browser, open } from './browser.mjs';
import { call, masters, pawld } from './servers.mjs';

const LOCKS = 100000;
const GROUP = 64; // locks of one request
const STEP_MS = 128; // each makes an extension and a grant and a release of GROUP / 2 locks
const AT_ONCE = 8; // requests that fill the fleet
const VIEW_MS = 15000;
const minutes = Number(process.argv[2] ?? 10);

const endings = [];
const t = { after: (ending) => endings.unshift(ending) };

const groupOf = (i) => Array.from({ length: GROUP }, (_, k) => `fleet/${i % 100}/${i}/${k}`);
const headers = ({ lock_id: id }) => ({ 'Lock-Id': id });

/** Acquires, again and again where a busy machine keeps the master from answering. */
async function acquire(url, body) {
    let answer = { status: 0 };
    while (answer.status !== 201) answer = await call('POST', `${url}/v1/locks`, body);
    return answer;
}

/** All locks: an answer for each group of them. */
async function fill(url) {
    const bodies = Array.from({ length: Math.ceil(LOCKS / GROUP) }, (_, i) => ({ resources: groupOf(i), ttl_ms: 300000, owner: `load-${i % 50}` }));
    const groups = [];
    for (let i = 0; i < bodies.length; i += AT_ONCE)
        groups.push(...(await Promise.all(bodies.slice(i, i + AT_ONCE).map((body) => acquire(url, body)))));
    return groups;
}

/** Extends groups one after the other, and takes and releases short locks: so many events a second. */
async function work(url, groups, counts, signal) {
    let turn = 0;
    const began = Date.now();
    while (!signal.aborted) {
        const group = groups[turn % groups.length];
        const body = { resources: group.grants.map(({ resource }) => resource), tokens: group.grants.map(({ token }) => token), ttl_ms: 300000 };
        const extended = call('PATCH', `${url}/v1/locks`, body, headers(group));
        const names = Array.from({ length: GROUP / 2 }, (_, k) => `jobs/${turn % 40}/${k}`);
        const taken = await call('POST', `${url}/v1/locks`, { resources: names, owner: 'job', ttl_ms: 30000 });
        if (taken.status === 201) counts.events += GROUP;
        const released = call('DELETE', `${url}/v1/locks`, { resources: names }, headers(taken));
        counts.events += (await extended).status === 200 ? GROUP : 0;
        if ((await released).status !== 200) counts.failed++;
        turn++;
        await sleep(Math.max(0, began + turn * STEP_MS - Date.now()));
    }
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
const ms = (value) => `${value.toFixed(0)} ms`;

function frameTimes(page) {
    return page.evaluate(() => {
        const { frames } = globalThis;
        globalThis.frames = [];
        return frames;
    });
}

async function memory(session) {
    await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    const of = (wanted) => metrics.find(({ name }) => name === wanted).value;
    return `${(of('JSHeapUsedSize') / 1e6).toFixed(1)} MB of heap, ${of('Nodes')} nodes, ${of('JSEventListeners')} listeners`;
}

async function measure() {
    const fleet = await masters(t, 1);
    const { url } = await pawld(t, fleet.flatMap((master) => ['--master', master.url]));
    const groups = await fill(url);
    console.log(`${groups.length * GROUP} locks are held`);
    const counts = { events: 0, failed: 0 };
    const stop = new AbortController();
    const working = work(url, groups, counts, stop.signal);
    const page = await open(t, url);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    await page.evaluate(() => {
        globalThis.frames = [];
        let last = performance.now();
        const frame = (now) => {
            globalThis.frames.push(now - last);
            last = now;
            requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
    });
    await sleep(5000);
    console.log(`at the start: ${await memory(session)}`);
    const views = ['', 'locks', 'events', 'locks/jobs/0/0'];
    const times = new Map(views.map((view) => [view, []]));
    const began = Date.now();
    for (let i = 0, minute = 1; Date.now() - began < minutes * 60000; i++) {
        const view = views[i % views.length];
        await page.evaluate((place) => (location.hash = `#/${place}`), view);
        await frameTimes(page);
        await sleep(VIEW_MS);
        times.get(view).push(...(await frameTimes(page)));
        if (Date.now() - began < minute * 60000) continue;
        console.log(`after ${minute++} min: ${await memory(session)}`);
    }
    const passed = (Date.now() - began) / 1000;
    stop.abort();
    await working;
    for (const [view, all] of times) {
        all.sort((a, b) => a - b);
        console.log(`#/${view}: frames p50 ${ms(quantile(all, 0.5))}, p99 ${ms(quantile(all, 0.99))}, longest ${ms(all.at(-1) ?? NaN)}`);
    }
    console.log(`${Math.round(counts.events / passed)} events a second, ${counts.failed} requests failed`);
    await page.clean();
}

try {
    await measure();
} finally {
    for (const ending of endings) await ending();
    await browser.close();
}
