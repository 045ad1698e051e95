/* What the tests of the Node client share: a pawld, and a relay that does harm to some requests.
 * All of it ends with the test that started it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 20000; // of a slow machine

export { sleep };

/** Waits until `condition` says yes. Fails the test after a time. */
export async function until(condition, what) {
    const endMs = performance.now() + PATIENCE_MS;
    while (!(await condition())) {
        assert.ok(performance.now() < endMs, `${what} does not come`);
        await sleep(10);
    }
}

const PORT_FIRST = 11000;
const PORT_COUNT = 19000; // up to 29999; Linux connects from 32768 upwards
const PORT_STRIDE = 37; // of two processes
let nextPort = process.pid * PORT_STRIDE;

/** Tries to listen at a port. False: somebody else does. */
async function isFree(port) {
    const server = net.createServer();
    server.listen(port, '127.0.0.1');
    try {
        await once(server, 'listening');
    } catch {
        return false;
    }
    server.close();
    await once(server, 'close');
    return true;
}

/** A free port below those of outgoing connections. So a killed server finds it free again. */
export async function freePort() {
    for (let tries = 0; tries < PORT_COUNT; tries++) {
        const port = PORT_FIRST + (nextPort++ % PORT_COUNT);
        if (await isFree(port)) return port;
    }
    throw new Error('no free port on 127.0.0.1');
}

/** Starts a program that ends with this process, however that ends. */
export function startProcess(words, options) {
    return spawn('setpriv', ['--pdeathsig', 'KILL', ...words], options);
}

/** A pawld on a folder of its own. */
export class Service {
    #folder;
    #process;
    port;

    static async start(t) {
        const service = new Service();
        service.#folder = mkdtempSync(path.join(os.tmpdir(), 'pawl-node-'));
        service.port = await freePort();
        t.after(async () => {
            await service.kill();
            rmSync(service.#folder, { recursive: true, force: true });
        });
        await service.start();
        return service;
    }

    get url() {
        return `http://127.0.0.1:${this.port}`;
    }

    async start() {
        const program = path.join(process.env.PAWL_BUILD ?? 'build', 'bin', 'pawld');
        const options = ['--data', path.join(this.#folder, 'data'), '--listen'];
        const listen = `127.0.0.1:${this.port}`;
        this.#process = startProcess([program, ...options, listen], {
            stdio: ['ignore', 'ignore', 'inherit'],
        });
        const isReady = () => fetch(`${this.url}/readyz`).then(({ ok }) => ok, () => false);
        await until(isReady, 'pawld');
    }

    async kill() {
        const child = this.#process;
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill('SIGKILL');
        await once(child, 'exit');
    }

    signal(name) {
        this.#process.kill(name);
    }

    /** A call without the client. */
    async call(method, resource, headers = {}) {
        const response = await fetch(`${this.url}/v1/locks/${resource}`, { method, headers });
        return { status: response.status, ...(await response.json()) };
    }

    /** Releases a lock behind the back of its holder. */
    async take(lock) {
        const [name] = lock.names;
        const { released } = await this.call('DELETE', name, { 'Lock-Id': lock.lockId });
        assert.equal(released, true);
    }
}

/**
 * Passes connections on to a port. `change` may rewrite a request, and may wait. `reply` is called before a reply
 * is passed on, with the request: it may wait, and false has the connection cut instead.
 */
export class Relay {
    #server;
    #sockets = new Set();
    requests = [];
    change = (request) => request;
    reply = () => true;

    static async start(t, port) {
        const relay = new Relay();
        relay.#server = net.createServer((client) => relay.#pass(client, port));
        relay.#server.listen(0, '127.0.0.1');
        await once(relay.#server, 'listening');
        t.after(() => {
            relay.#server.close();
            relay.#sockets.forEach((socket) => socket.destroy());
        });
        return relay;
    }

    get url() {
        return `http://127.0.0.1:${this.#server.address().port}`;
    }

    count(method) {
        return this.requests.filter((request) => request.startsWith(method)).length;
    }

    #pass(client, port) {
        const server = net.connect(port, '127.0.0.1');
        const cut = () => [client, server].forEach((socket) => socket.destroy());
        let request = '';
        [client, server].forEach((socket) => {
            this.#sockets.add(socket);
            socket.on('close', cut).on('error', cut).setNoDelay(true);
        });
        client.on('data', async (data) => {
            if (/^[A-Z]+ \//.test(data)) this.requests.push(data.toString());
            request = this.requests.at(-1);
            server.write(await this.change(data.toString()));
        });
        server.on('data', async (data) => {
            if (await this.reply(request)) client.write(data);
            else cut();
        });
    }
}
