// K loops in one process, each: acquire, release, and again. Prints one line of JSON, as
// scripts/bench.d/programs/tally.h says.
//
//     await closedLoop({ prefix: 'redlock', acquire: async (name, ttlMs) => release }, options);
//
// The options of each load: --connections K --names M --seconds S --warmup S
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';

const TTL_MS = 30000;

/** The options of the command line: those of all loads, and `options`. */
export function readOptions(options) {
    const { values } = parseArgs({
        options: {
            ...options,
            connections: { type: 'string', default: '64' },
            names: { type: 'string', default: '1000000' },
            seconds: { type: 'string', default: '5' },
            warmup: { type: 'string', default: '0.3' },
        },
    });
    const number = (name) => [name, Number(values[name])];
    return { ...values, ...Object.fromEntries(['connections', 'names', 'seconds', 'warmup'].map(number)) };
}

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

function summary(endedMs, { connections, names }) {
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

// The same walk over the names as everybody else's: scripts/bench.d/programs/names.h.
async function client(index, { prefix, acquire }, { connections, names }) {
    for (let turn = 0; !ended; turn++) {
        const name = `${prefix}/${process.pid}/${(index + turn * connections) % names}`;
        try {
            const askedMs = performance.now();
            const release = await acquire(name, TTL_MS);
            const acquiredMs = performance.now();
            await release();
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

/** Loads `service` as `options` say, and prints what it came to. */
export async function closedLoop(service, options) {
    begin();
    const clients = Array.from({ length: options.connections }, (_, index) =>
        client(index, service, options),
    );
    if (options.warmup > 0) {
        await sleep(options.warmup);
        begin();
    }
    await sleep(options.seconds);
    ended = true;
    const result = summary(performance.now(), options);
    await Promise.all(clients);
    console.log(JSON.stringify({ ...result, pairs_all: pairsAll }));
}
