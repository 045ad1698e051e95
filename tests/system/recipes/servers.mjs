/* Servers of a test: on free ports of 127.0.0.1, in a folder that is gone afterwards. Each dies with the
 * test, even where that is killed. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const build = process.env.PAWL_BUILD ?? join(root, 'build');
const SKIPPED = 77;
const READY_TRIES = 500;
const READY_STEP_MS = 20;
const RUN_S = '10';

export const folder = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), 'pawl-recipes-'));
const running = [];

export function end() {
    for (const server of running.splice(0)) {
        server.kill('SIGKILL');
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
process.on('exit', end);
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

/** Ends the test as one that cannot run here. */
export function skip(why) {
    console.log(`skipped: ${why}`);
    process.exit(SKIPPED);
}

/** Skips the test where a program of a Debian package is not there. */
export function need(program, debian) {
    const places = `${process.env.PATH}:/usr/sbin`.split(':');
    const place = places.map((path) => join(path, program)).find((path) => existsSync(path));
    return place ?? skip(`${program} is not there; Debian has it in ${debian}`);
}

/** The folder node_modules of this package of scripts/npm.txt, which scripts/setup fetched; nothing is
 * fetched while a test runs. */
export function needPackage(name) {
    const line = readFileSync(join(root, 'scripts/npm.txt'), 'utf8').split('\n').find((one) => one.startsWith(`${name} `));
    const place = join(root, 'build/npm', line.split(' ').slice(0, 2).join('-'));
    return existsSync(place) ? join(place, 'node_modules') : skip(`${basename(place)} of npm is not there: scripts/setup fetches it`);
}

/** A port below those from which the kernel connects, where nobody listens. */
export async function freePort() {
    for (;;) {
        const port = 10000 + Math.floor(Math.random() * 20000);
        const server = createServer();
        const free = await new Promise((done) => {
            server.once('error', () => done(false));
            server.listen(port, '127.0.0.1', () => done(true));
        });
        if (free) {
            await new Promise((done) => server.close(done));
            return port;
        }
    }
}

/** Starts a server, and returns when `ready` no longer fails. */
export async function start(name, command, ready) {
    const log = join(folder, `${name}.log`);
    const out = openSync(log, 'a');
    const server = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...command],
        { stdio: ['ignore', out, out], cwd: folder });
    running.push(server);
    for (let tries = 0; server.exitCode === null && tries < READY_TRIES; tries++) {
        try {
            return await ready();
        } catch {
            await sleep(READY_STEP_MS);
        }
    }
    throw new Error(`${name} did not start: ${readFileSync(log, 'utf8')}`);
}

/** Runs a program to its end: {code, output}. A client of a server that is gone may wait for ever, so what
 * the program started ends with the test too: timeout hands the signal on. */
export function run(program, args, options = {}) {
    const command = ['--pdeathsig', 'TERM', '--', 'timeout', RUN_S, program, ...args];
    return new Promise((done) => {
        execFile('setpriv', command, options, (error, stdout, stderr) =>
            done({ code: error ? error.code ?? 1 : 0, output: stdout + stderr }));
    });
}

/** Asks a URL; fails where the answer is none of success. */
export async function answers(url) {
    const answer = await fetch(url);
    await answer.arrayBuffer();
    if (!answer.ok) {
        throw new Error(`${url}: ${answer.status}`);
    }
}

/** A pawld over a file of its own: where its locks are. */
export async function startPawld() {
    const url = `http://127.0.0.1:${await freePort()}`;
    await start('pawld', [join(build, 'bin/pawld'), '--listen', url, '--data', join(folder, 'pawl')],
        () => answers(`${url}/readyz`));
    return `${url}/v1/locks`;
}
