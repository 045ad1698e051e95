/* What happens in a second, and how long it takes: from two scrapes of /metrics, one after the
 * other. */
import { h } from '../shared/dom.js';
import { text } from '../shared/http.js';
import { plot } from '../shared/plot.js';
import { count, rough, seconds } from '../shared/words.js';
import { buckets, parse, quantile, total } from './metrics.js';

const WINDOW_MS = 5 * 60 * 1000;
const WINDOW_MIN_MS = 60 * 1000;

/** Results of calls that are no problems. */
const done = new Set(['granted', 'found', 'extended', 'released', 'not-held', 'ok']);
/** Results of calls that met another holder. */
const taken = new Set(['held', 'wait-timeout', 'contended']);

let last = null;
const series = { granted: [], held: [], failed: [], p50: [], p99: [], waiting: [] };

export const totals = () => last?.families ?? null;

const calls = (families, passes) => total(families, 'pawl_calls_total', ({ result }) => passes(result));

/** What is plotted as a rate, of one scrape. */
const counted = (families) => ({
    granted: total(families, 'pawl_grants_total'),
    held: calls(families, (result) => taken.has(result)),
    failed: calls(families, (result) => !done.has(result) && !taken.has(result)) + total(families, 'pawl_requests_refused_total'),
});

function add(name, at, value) {
    series[name].push({ at, value });
    while (series[name][0].at < at - WINDOW_MS) series[name].shift();
}

export async function scrape() {
    const families = parse(await text('/metrics'));
    const now = { at: Date.now(), families, counts: counted(families), acquire: buckets(families, 'pawl_acquire_duration_seconds') };
    const before = last;
    last = now;
    add('waiting', now.at, total(families, 'pawl_waiters'));
    /* A process that restarted counts from zero. */
    if (!before || now.counts.granted < before.counts.granted) return;
    const passed = (now.at - before.at) / 1000;
    for (const [name, value] of Object.entries(now.counts)) add(name, now.at, (value - before.counts[name]) / passed);
    add('p50', now.at, quantile(0.5, before.acquire, now.acquire));
    add('p99', now.at, quantile(0.99, before.acquire, now.acquire));
}

export function ratesView() {
    if (!last) return null;
    const began = Math.min(series.waiting[0].at, last.at - WINDOW_MIN_MS);
    const edges = { from: Math.max(began, last.at - WINDOW_MS), to: last.at };
    return h('section', { 'aria-label': 'Rates', class: 'plots' },
        plot({ title: 'Grants per second', unit: rough, ...edges, lines: [{ name: 'granted', points: series.granted }] }),
        plot({ title: 'Time to a grant', unit: seconds, ...edges, lines: [{ name: 'median', points: series.p50 }, { name: '99%', points: series.p99 }] }),
        plot({ title: 'Waiting calls', unit: count, floor: 1, ...edges, lines: [{ name: 'waiting', points: series.waiting }] }),
        plot({ title: 'Refused per second', unit: rough, ...edges, lines: [{ name: 'held', points: series.held }, { name: 'other', points: series.failed }] }));
}
