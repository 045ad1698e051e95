/* What these tests run: masters, pawld and the ledger, in a folder of their own. All of it ends with
 * the test. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';

import { freePort, startProcess, until } from '../client/node_service.mjs';

const bin = (name) => path.join(process.env.PAWL_BUILD ?? 'build', 'bin', name);
const quiet = { stdio: ['ignore', 'ignore', 'ignore'] };

export function folder(t) {
    const place = mkdtempSync(path.join(os.tmpdir(), 'pawl-page-'));
    t.after(() => rmSync(place, { recursive: true, force: true }));
    return place;
}

/** A process that can be killed, and ends with the test. */
function run(t, words) {
    const child = startProcess(words, quiet);
    const kill = async () => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGKILL');
        await once(child, 'exit');
    };
    t.after(kill);
    return { kill };
}

const ok = (url) => fetch(url).then((response) => response.ok, () => false);

/** Some Redis masters that are a fleet: { url, kill } of each. */
export async function masters(t, count) {
    const place = folder(t);
    const all = [];
    for (let i = 0; i < count; i++) {
        const port = await freePort();
        const own = path.join(place, String(i));
        mkdirSync(own);
        const words = ['redis-server', '--port', port, '--bind', '127.0.0.1', '--dir', own, '--save', '', '--appendonly', 'yes'];
        all.push({ url: `redis://127.0.0.1:${port}`, ...run(t, words.map(String)) });
    }
    const list = all.flatMap(({ url }) => ['--master', url]);
    await until(() => {
        try {
            execFileSync(bin('pawld'), ['init', '--new', ...list], quiet);
            return true;
        } catch {
            return false;
        }
    }, 'a new fleet');
    return all;
}

export async function pawld(t, words) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = run(t, [bin('pawld'), '--listen', `127.0.0.1:${port}`, ...words]);
    await until(() => ok(`${url}/readyz`), 'pawld');
    return { url, ...server };
}

export const onFile = (t, ...words) => pawld(t, ['--data', path.join(folder(t), 'data'), ...words]);

export async function ledger(t) {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    run(t, [bin('pawl-ledger'), '--listen', `127.0.0.1:${port}`, '--db', path.join(folder(t), 'db')]);
    await until(() => ok(`${url}/v1/rejections`), 'the ledger');
    return { url };
}

/** A new key in the file. */
export const newKey = (file, role, id, prefix = '*') =>
    execFileSync(bin('pawl'), ['key', 'new', '--role', role, '--prefix', prefix, '--id', id, '--file', file], { encoding: 'utf8' }).trim();

export async function call(method, url, body, headers = {}) {
    const response = await fetch(url, {
        method,
        headers: { ...(body ? { 'Content-Type': 'application/json' } : {}), ...headers },
        body: body && JSON.stringify(body),
    });
    return { status: response.status, ...(await response.json()) };
}
