// How many acquire+release pairs a second does the redlock package do, straight on the masters? K
// loops in one process, each: acquire, release, and again. Prints one line of JSON, as
// scripts/bench.d/programs/tally.h says.
//
// usage: node bench.mjs --master URL... --connections K --names M --seconds S --warmup S
//                       [--autopipelining]
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';

import { Redis } from 'ioredis';
import Redlock from 'redlock';

const TTL_MS = 30000;

const { values } = parseArgs({
    options: {
        master: { type: 'string', multiple: true },
        connections: { type: 'string', default: '64' },
        names: { type: 'string', default: '1000000' },
        seconds: { type: 'string', default: '5' },
        warmup: { type: 'string', default: '0.3' },
        autopipelining: { type: 'boolean', default: false },
    },
});
const connections = Number(values.connections);
const names = Number(values.names);

// ---- what is counted ---------------------------------------------------------------------------

let tally;
let ended = false;
let pairsAll = 0; // with the warm-up, and what came after the end

function begin() {
    tally = {
        beganMs: performance.now(),
        cpu: process.cpuUsage(),
        pairs: 0,
        acquireUs: [],
        releaseUs: [],
        errors: {},
    };
}

function quantiles(latencies) {
    const sorted = Float64Array.from(latencies).sort();
    const at = (quantile) => Math.round(sorted[Math.floor(sorted.length * quantile)] ?? 0);
    return { p50: at(0.5), p99: at(0.99), max: Math.round(sorted.at(-1) ?? 0) };
}

function summary(endedMs) {
    const seconds = (endedMs - tally.beganMs) / 1000;
    return {
        connections,
        names,
        seconds: Number(seconds.toFixed(3)),
        pairs: tally.pairs,
        pairs_per_s: Math.round(tally.pairs / seconds),
        acquire_us: quantiles(tally.acquireUs),
        release_us: quantiles(tally.releaseUs),
        errors: tally.errors,
        cpu_us: process.cpuUsage(tally.cpu),
    };
}

// ---- the load ----------------------------------------------------------------------------------

const masters = values.master.map(
    (url) => new Redis(url, { enableAutoPipelining: values.autopipelining }),
);
const redlock = new Redlock(masters);

// The same walk over the names as everybody else's: scripts/bench.d/programs/names.h.
async function client(index) {
    for (let turn = 0; !ended; turn++) {
        const name = `redlock/${process.pid}/${(index + turn * connections) % names}`;
        try {
            const askedMs = performance.now();
            const lock = await redlock.acquire([name], TTL_MS);
            const acquiredMs = performance.now();
            await lock.release();
            pairsAll++;
            if (ended) return;
            tally.acquireUs.push((acquiredMs - askedMs) * 1000);
            tally.releaseUs.push((performance.now() - acquiredMs) * 1000);
            tally.pairs++;
        } catch (error) {
            tally.errors[error.name] = (tally.errors[error.name] ?? 0) + 1;
        }
    }
}

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

begin();
const clients = Array.from({ length: connections }, (_, index) => client(index));
if (Number(values.warmup) > 0) {
    await sleep(Number(values.warmup));
    begin();
}
await sleep(Number(values.seconds));
ended = true;
const result = summary(performance.now());
await Promise.all(clients);
await redlock.quit();
console.log(JSON.stringify({ ...result, pairs_all: pairsAll }));
