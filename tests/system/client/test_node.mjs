/* The Node client against a real pawld. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import test, { describe } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as pawl from '../../../api/client/node/pawl.mjs';
import { Relay, Service, freePort, sleep, startProcess, until } from './node_service.mjs';

const { Client, Held, LockLost } = pawl;
const here = path.dirname(fileURLToPath(import.meta.url));
const module = path.resolve(here, '../../../api/client/node/pawl.mjs');

const clientOf = (...servers) =>
    new Client({ servers: servers.map(({ url }) => url), callTimeoutMs: 3000 });

const waiting = [];

/** A test that mostly waits, and never blocks the event loop. A few at once run at the end. */
const testAside = (...words) => waiting.push(words);

/** Blocks the event loop. */
function block(ms) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Resolves with the reason of `signal` as soon as it is aborted. */
const aborted = (signal) =>
    signal.aborted ? signal.reason : once(signal, 'abort').then(() => signal.reason);

/** Starts a program that imports the client. What it prints is in `said`. */
function start(t, words, env) {
    const child = startProcess(words, {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    child.said = '';
    child.stdout.on('data', (data) => (child.said += data));
    child.ended = once(child, 'close').then(([status]) => status);
    return child;
}

/** The words of a node that runs `text`. */
const script = (text) => [
    process.execPath,
    '--input-type=module',
    '-e',
    `import * as pawl from '${module}';\n${text}`,
];

test('lock is held by one, and free after the work', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const before = await client.acquire('orders/42');
    assert.equal(await before.release(), true);
    const seen = await client.withLock('orders/42', { owner: 'worker-7' }, async (lock) => {
        assert.equal(lock.token, before.token + 1);
        assert.notEqual(lock.lockId, before.lockId);
        assert.equal(lock.ttlMs, 30000);
        assert.ok(lock.held && lock.leftMs() > 20000 && lock.leftMs() < 30000);
        lock.check();
        const refused = await clientOf(service).acquire('orders/42', { waitMs: 0 }).catch((error) => error);
        assert.ok(refused instanceof Held && refused instanceof pawl.PawlError);
        assert.equal(refused.owner, 'worker-7');
        assert.ok(refused.retryAfterMs > 20000);
        return lock;
    });
    assert.equal(seen.held, false);
    assert.equal(seen.leftMs(), 0);
    assert.equal(seen.signal.reason.code, 'released');
    assert.throws(() => seen.check(), LockLost);
    assert.equal((await service.call('GET', 'orders/42')).held, false);
});

test('semaphore has a seat for each permit', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const two = { permits: 2, waitMs: 0 };
    await client.withLock('seats', two, async (lock) => {
        const other = await client.acquire('seats', two);
        assert.deepEqual([lock.seat, other.seat].sort(), [0, 1]);
        assert.deepEqual(lock.names, [`seats#${lock.seat}`]);
        assert.ok(other.token > lock.token);
        await assert.rejects(client.acquire('seats', two), Held);
        await other.extend();
        assert.equal(await other.release(), true);
        await (await client.acquire('seats', two)).release();
    });
    assert.equal((await client.acquire('seats')).seat, undefined);
    for (const permits of [0, 65, 1.5, '2'])
        await assert.rejects(client.acquire('seats', { permits }), pawl.Invalid);
    await assert.rejects(client.acquire(['a', 'b'], { permits: 2 }), pawl.Invalid);
});

test('name stays closed for its delay and for what a release keeps', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const lock = await client.acquire('closed', { ttlMs: 5000, delayMs: 2000 });
    assert.equal((await service.call('GET', 'closed')).delay_ms, 2000);
    assert.equal(await lock.release({ keepMs: 400 }), true);
    assert.equal((await service.call('GET', 'closed')).closed, 'kept');
    await assert.rejects(client.acquire('closed', { waitMs: 0 }), Held);
    await (await client.acquire('closed', { waitMs: 5000 })).release();
    assert.equal((await service.call('GET', 'closed')).held, false);
    await assert.rejects(client.acquire('closed', { delayMs: -1 }), pawl.Invalid);
    await assert.rejects(lock.release({ keepMs: 1.5 }), pawl.Invalid);
});

test('readers hold together, and a writer alone', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const read = { mode: 'read', waitMs: 0 };
    const write = { mode: 'write', waitMs: 0, ttlMs: 600 };
    const reader = await client.acquire('shared', read);
    const other = await client.acquire('shared', read);
    assert.notEqual(reader.seat, other.seat);
    await assert.rejects(client.acquire('shared', write), Held);
    await other.extend();
    assert.equal(await other.release(), true);
    assert.equal(await reader.release(), true);
    const token = await client.withLock('shared', write, async (writer) => {
        assert.deepEqual([writer.names, writer.seat], [['shared'], undefined]);
        assert.ok(writer.token > other.token);
        await new Promise((resolve) => setTimeout(resolve, 1000)); // it is extended
        assert.ok(writer.held);
        await assert.rejects(client.acquire('shared', read), Held);
        return writer.token;
    });
    assert.ok((await client.acquire('shared', read)).token > token);
    for (const options of [{ mode: 'reads' }, { mode: 'read', permits: 2 }])
        await assert.rejects(client.acquire('shared', options), pawl.Invalid);
});

test('lock is released where the work fails, and its error is passed on', async (t) => {
    const service = await Service.start(t);
    const failing = clientOf(service).withLock('a', async () => {
        throw new RangeError('of the work');
    });
    await assert.rejects(failing, RangeError);
    assert.equal((await service.call('GET', 'a')).held, false);
});

test('work may release its lock itself', async (t) => {
    const service = await Service.start(t);
    const result = await clientOf(service).withLock('a', async (lock) => {
        assert.equal(await lock.release(), true);
        assert.throws(() => lock.check(), { code: 'released' });
        assert.equal((await service.call('GET', 'a')).held, false);
        return 7;
    });
    assert.equal(result, 7);
});

test('release of a lock that ended before is a lost lock', async (t) => {
    const service = await Service.start(t);
    const working = clientOf(service).withLock('a', { ttlMs: 1000 }, async (lock) => {
        block(1010);
        await lock.release();
    });
    await assert.rejects(working, { name: 'LockLost', code: 'expired' });
});

testAside('waiter gets the lock when it is released, and hears who is in the way', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const holder = await client.acquire('a', { owner: 'first' });
    const heard = [];
    const onWaiting = (by) => heard.push(by);
    const waiting = client.acquire('a', { ttlMs: 4000, waitMs: 20000, onWaiting });
    await until(() => heard.length > 0, 'the holder');
    assert.equal(heard[0].owner, 'first');
    await sleep(1500);
    await holder.release();
    const lock = await waiting;
    assert.ok(lock.leftMs() > 2600, 'the wait costs nothing');
    assert.equal(lock.token, holder.token + 1);
    assert.equal(heard.length, 1);
});

test('wait ends in time', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    await client.acquire('a');
    const beganMs = performance.now();
    await assert.rejects(client.acquire('a', { waitMs: 300 }), Held);
    assert.ok(performance.now() - beganMs >= 295);
});

testAside('states of a watched lock are told as they change', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const states = client.watch('a');
    assert.deepEqual((await states.next()).value, { held: false });
    const lock = await client.acquire('a', { owner: 'worker-7' });
    const held = { held: true, token: lock.token, owner: 'worker-7' };
    assert.deepEqual((await states.next()).value, held);
    setTimeout(() => lock.release(), 300);
    assert.deepEqual((await states.next()).value, { held: false });
});

testAside('first looks of one turn are one request, and each watch waits in its own', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    const client = clientOf(relay);
    const watches = NAMES.map((name) => client.watch(name));
    const next = () => Promise.all(watches.map((watch) => watch.next()));
    await next();
    const changed = next();
    for (const name of NAMES) await clientOf(service).acquire(name);
    assert.deepEqual((await changed).map(({ value }) => value.held), [true, true, true]);
    const paths = relay.requests.map((request) => request.split(' ')[1].split('?')[0]);
    assert.deepEqual(paths.sort(), ['/v1/batch', ...NAMES.map((name) => `/v1/locks/${name}`)].sort());
});

testAside('watch ends after its time, and with its signal', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const seen = [];
    for await (const { held } of client.watch('a', { waitMs: 700 })) seen.push(held);
    for await (const { held } of client.watch('a', { waitMs: 0 })) seen.push(held);
    assert.deepEqual(seen, [false, false]);
    const watching = (async () => {
        for await (const { held } of client.watch('a', { signal: AbortSignal.timeout(500) }))
            seen.push(held);
    })();
    await assert.rejects(watching, { name: 'TimeoutError' });
    assert.equal(seen.length, 3);
    assert.throws(() => client.watch('a', { unless: 5 }), pawl.Invalid);
    assert.throws(() => client.watch(['a']), pawl.Invalid);
});

testAside('server that does not wait is not asked in a hot loop', async (t) => {
    let looks = 0;
    const server = http.createServer((request, response) => {
        looks++;
        response.end('{"held": false}');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.after(() => server.close().closeAllConnections());
    const client = new Client({ servers: [`http://127.0.0.1:${server.address().port}`] });
    let seen = 0;
    for await (const state of client.watch('a', { waitMs: 1000 })) seen += !state.held;
    assert.equal(seen, 1);
    assert.ok(looks < 10, `${looks} looks`);
});

testAside('several names are acquired all or none', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    await (await client.acquire('b')).release();
    await client.withLock(['a', 'b', 'c/d'], { ttlMs: 2000 }, async (lock) => {
        assert.equal(lock.token, undefined);
        assert.deepEqual([...lock.tokens], [['a', 1], ['b', 2], ['c/d', 1]]);
        const refused = await client.acquire(['x', 'c/d'], { waitMs: 0 }).catch((error) => error);
        assert.ok(refused instanceof Held);
        assert.equal(refused.resource, 'c/d');
        assert.equal((await service.call('GET', 'x')).held, false);
        await sleep(2500);
        lock.check();
    });
    for (const name of ['a', 'b', 'c/d'])
        assert.equal((await service.call('GET', name)).held, false);
});

testAside('lock is extended while the work lasts', async (t) => {
    const service = await Service.start(t);
    await clientOf(service).withLock('a', { ttlMs: 2000 }, async (lock) => {
        await sleep(4500);
        lock.check();
        assert.equal((await service.call('GET', 'a')).token, lock.token);
    });
});

testAside('validity counts from the sending of the request', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    relay.reply = () => sleep(1000).then(() => true);
    const lock = await clientOf(relay).acquire('a', { ttlMs: 4000 });
    assert.ok(lock.leftMs() > 0 && lock.leftMs() <= 3000);
    await lock.extend({ ttlMs: 6000 });
    assert.ok(lock.leftMs() > 3000 && lock.leftMs() <= 5000);
});

testAside('lock that is not extended ends with its lease', async (t) => {
    const service = await Service.start(t);
    const lock = await clientOf(service).acquire('a', { ttlMs: 1000, stopMs: 400 });
    await lock.extend({ ttlMs: 2000 });
    assert.ok(lock.leftMs() > 1000);
    const reason = await aborted(lock.signal);
    assert.equal(reason.code, 'ending');
    assert.ok(lock.held, 'the signal comes early');
    await until(() => !lock.held, 'the end of the lease');
    await assert.rejects(lock.extend(), { name: 'LockLost', code: 'expired' });
});

/* One asks at 0, 1.1 and 2.2 s, and the other at 0.5 and 1.6 s: for 1.1 s each, as pawld hears it. */
testAside('waiters keep their places from step to step', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    relay.change = (request) => request.replace('"wait_ms":60000', '"wait_ms": 1100');
    const served = [];
    const wait = (name) =>
        clientOf(relay).withLock('a', { waitMs: 600000 }, () => served.push(name));
    const holder = await clientOf(service).acquire('a', { ttlMs: 60000 });
    const waits = [wait('first')];
    await sleep(500);
    waits.push(wait('second'));
    const steps = () =>
        relay.requests
            .filter((request) => request.startsWith('POST'))
            .filter((request) => Number(/^waited-ms: (\d+)/im.exec(request)[1]) >= 1100).length;
    await until(() => steps() >= 3, 'the third step');
    await until(async () => (await service.call('GET', 'a')).waiters === 2, 'the line of both');
    await holder.release();
    await Promise.all(waits);
    assert.deepEqual(served, ['first', 'second']);
    const asked = relay.requests.filter((request) => request.startsWith('POST'));
    const ids = new Set(asked.map((request) => /"lock_id":"([^"]+)"/.exec(request)[1]));
    assert.equal(ids.size, 2);
});

testAside('nothing is left behind where no answer arrives', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    relay.reply = (request) => !request.startsWith('POST');
    const client = new Client({ servers: [relay.url], callTimeoutMs: 1500 });
    await assert.rejects(client.acquire('a', { waitMs: 0 }), pawl.Unavailable);
    assert.ok(relay.count('DELETE') > 0);
    const { token } = await clientOf(service).acquire('a');
    assert.ok(token > 1, 'an attempt had got the lock');
});

const NAMES = ['a', 'b', 'c'];

test('calls of one turn are one request, and each has its own outcome', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    const client = clientOf(relay);
    const holder = await clientOf(service).acquire('b');
    const outcomes = await Promise.allSettled(
        NAMES.map((name) => client.acquire(name, { waitMs: 0 })),
    );
    assert.deepEqual(outcomes.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled']);
    assert.ok(outcomes[1].reason instanceof Held);
    assert.equal(relay.requests.length, 1);
    const locks = [outcomes[0].value, outcomes[2].value];
    await Promise.all(locks.map((lock) => lock.extend()));
    assert.deepEqual(await Promise.all(locks.map((lock) => lock.release())), [true, true]);
    assert.deepEqual(relay.requests.map((request) => request.split(' ')[1]), [
        '/v1/batch', '/v1/batch', '/v1/batch',
    ]);
    await holder.release();
});

test('lost answer of a batch is asked for again under the same lock ids', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    relay.reply = () => relay.count('POST') > 1;
    const client = clientOf(relay);
    const locks = await Promise.all(NAMES.map((name) => client.acquire(name, { waitMs: 0 })));
    assert.deepEqual(locks.map(({ token }) => token), [1, 1, 1]);
    const asked = relay.requests.join();
    for (const { lockId } of locks) assert.equal(asked.split(lockId).length, 3);
});

test('server without batches gets each call by itself', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    relay.change = (request) => request.replace('POST /v1/batch', 'POST /v1/older');
    const client = clientOf(relay);
    for (const count of [NAMES.length + 1, NAMES.length]) {
        const before = relay.requests.length;
        const locks = await Promise.all(NAMES.map((name) => client.acquire(name, { waitMs: 0 })));
        assert.equal(relay.requests.length - before, count);
        for (const lock of locks) await lock.release();
    }
});

test('gateway that refuses batches alone gets each call by itself', async (t) => {
    const service = await Service.start(t);
    const gateway = http.createServer((request, response) => {
        if (request.url === '/v1/batch') return response.writeHead(403).end('<html>');
        const { method, headers, url } = request;
        const passed = http.request({ port: service.port, method, headers, path: url }, (answer) =>
            answer.pipe(response.writeHead(answer.statusCode)),
        );
        return request.pipe(passed);
    });
    gateway.listen(0, '127.0.0.1');
    await once(gateway, 'listening');
    t.after(() => gateway.close().closeAllConnections());
    const client = clientOf({ url: `http://127.0.0.1:${gateway.address().port}` });
    const locks = await Promise.all(NAMES.map((name) => client.acquire(name, { waitMs: 0 })));
    for (const lock of locks) await lock.release();
});

test('call that makes a whole batch malformed is refused alone', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    const client = clientOf(relay);
    const asked = NAMES.map((name) => client.acquire(name, { waitMs: 0 }));
    const odd = client.acquire('odd', { waitMs: 0, owner: '\ud800' });
    await assert.rejects(odd, pawl.Invalid);
    const locks = await Promise.all(asked);
    await Promise.all(locks.map((lock) => lock.release()));
    assert.ok(relay.requests.at(-1).startsWith('POST /v1/batch'));
});

test('aborted call of a batch leaves nothing behind', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    relay.change = async (request) => {
        if (request.startsWith('POST')) await sleep(300);
        return request;
    };
    const client = clientOf(relay);
    const controller = new AbortController();
    const { signal } = controller;
    const wanted = client.acquire('a', { waitMs: 0 });
    const unwanted = client.acquire('b', { ttlMs: 60000, waitMs: 0, signal });
    await until(() => relay.count('POST') === 1, 'the batch');
    controller.abort(new RangeError('not wanted any more'));
    await assert.rejects(unwanted, RangeError);
    await (await wanted).release();
    await until(async () => !(await service.call('GET', 'b')).held, 'the release of the unwanted lock');
});

testAside('next server is asked where one is gone or hangs', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    relay.reply = () => new Promise(() => {});
    const gone = { url: `http://127.0.0.1:${await freePort()}` };
    for (const dead of [gone, relay]) {
        const lock = await clientOf(dead, service).acquire('a');
        assert.equal(await lock.release(), true);
    }
});

testAside('lock outlives a restart of pawld', async (t) => {
    const service = await Service.start(t);
    await clientOf(service).withLock('a', { ttlMs: 6000 }, async (lock) => {
        await service.kill();
        await sleep(500);
        await service.start();
        await sleep(6000);
        lock.check();
        assert.equal((await service.call('GET', 'a')).token, lock.token);
    });
});

testAside('signal comes before the validity ends when pawld hangs', async (t) => {
    const service = await Service.start(t);
    const client = new Client({ servers: [service.url], callTimeoutMs: 1000 });
    let lock;
    const working = client.withLock('a', { ttlMs: 3000, stopMs: 1000 }, async (given) => {
        lock = given;
        service.signal('SIGSTOP');
        const reason = await aborted(lock.signal);
        assert.ok(lock.leftMs() > 0, 'the lock was held until then');
        assert.equal(reason.code, 'ending');
        assert.throws(() => lock.check(), LockLost);
        await until(() => !lock.held, 'the end of the lease');
    });
    await assert.rejects(working, { name: 'LockLost', code: 'expired' });
    service.signal('SIGCONT');
});

testAside('nobody waits where no server answers', async (t) => {
    const gone = { url: `http://127.0.0.1:${await freePort()}` };
    const beganMs = performance.now();
    await assert.rejects(clientOf(gone).acquire('a', { waitMs: 60000 }), {
        name: 'Unavailable',
        code: 'no-answer',
        reached: false,
    });
    assert.ok(performance.now() - beganMs < 15000);
});

testAside('signal tells that the lock was lost', async (t) => {
    const service = await Service.start(t);
    const working = clientOf(service).withLock('a', { ttlMs: 2000 }, async (lock) => {
        await service.take(lock);
        const reason = await aborted(lock.signal);
        assert.ok(reason instanceof LockLost);
        assert.equal(reason.code, 'lost');
        assert.equal(lock.held, false);
        return 'ignored';
    });
    await assert.rejects(working, { name: 'LockLost', code: 'lost' });
});

testAside('signal tells that the lock was broken', async (t) => {
    const service = await Service.start(t);
    const working = clientOf(service).withLock('a', { ttlMs: 2000 }, async (lock) => {
        const token = (await service.call('GET', 'a')).token;
        await service.call('DELETE', 'a?force=true', { 'If-Match': `"${token}"` });
        const reason = await aborted(lock.signal);
        assert.ok(reason instanceof LockLost);
        assert.equal(reason.message, 'a was broken by an operator');
    });
    await assert.rejects(working, { name: 'LockLost', code: 'broken' });
    assert.equal((await service.call('GET', 'a')).held, false);
});

test('one name that is lost is the lock lost', async (t) => {
    const service = await Service.start(t);
    const lock = await clientOf(service).acquire(['a', 'b']);
    await service.call('DELETE', 'b', { 'Lock-Id': lock.lockId });
    await assert.rejects(lock.extend(), { name: 'LockLost', code: 'lost' });
    assert.equal(lock.held, false);
    assert.equal(await lock.release(), false);
    assert.equal((await service.call('GET', 'a')).held, false);
});

test('lock is not held after the event loop was blocked past the lease', async (t) => {
    const service = await Service.start(t);
    const working = clientOf(service).withLock('a', { ttlMs: 2000 }, async (lock) => {
        assert.ok(lock.held);
        block(2100);
        assert.equal(lock.held, false);
        assert.throws(() => lock.check(), { code: 'expired' });
        assert.ok(lock.signal.aborted);
        await sleep(500);
        assert.equal(lock.held, false);
    });
    await assert.rejects(working, { name: 'LockLost', code: 'expired' });
});

testAside('name that is lost is told at once, though another name is not answered', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    const lock = await clientOf(relay).acquire(['a', 'b']);
    await service.take(lock);
    relay.reply = (request) => !request.startsWith('PATCH /v1/locks/b');
    const beganMs = performance.now();
    const extending = assert.rejects(lock.extend(), { name: 'LockLost', code: 'lost' });
    await aborted(lock.signal);
    assert.ok(performance.now() - beganMs < 2000, 'not at the end of the call');
    assert.equal(lock.held, false);
    await extending;
});

/* An extension that names too low a token is answered with a new grant. */
async function extendAsNewGrant(t, options) {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    await (await clientOf(service).acquire('a')).release();
    const lock = await clientOf(relay).acquire('a', options);
    assert.equal(lock.token, 2);
    relay.change = (request) => request.replace(/fencing-token: 2/i, 'Fencing-Token: 1');
    return lock;
}

test('new grant is a lost lock', async (t) => {
    const lock = await extendAsNewGrant(t, {});
    await assert.rejects(lock.extend(), { name: 'LockLost', code: 'new-grant' });
    assert.equal(lock.held, false);
    assert.equal(lock.signal.reason.code, 'new-grant');
    assert.equal(await lock.release(), true);
});

test('new grant is taken where its holder wants to know', async (t) => {
    const told = [];
    const lock = await extendAsNewGrant(t, { onNewGrant: (again) => told.push(again.token) });
    assert.deepEqual(await lock.extend(), { newGrant: true });
    assert.ok(lock.held && !lock.signal.aborted);
    assert.deepEqual(told, [lock.token]);
    assert.ok(lock.token >= 2);
    assert.equal(await lock.release(), true);
});

testAside('new grant of one name is told later where the other name failed', async (t) => {
    const service = await Service.start(t);
    const relay = await Relay.start(t, service.port);
    await (await clientOf(service).acquire('a')).release();
    const told = [];
    const client = new Client({ servers: [relay.url], callTimeoutMs: 1500 });
    const onNewGrant = (again) => told.push(again.tokens.get('a'));
    const lock = await client.acquire(['a', 'b'], { onNewGrant });
    assert.ok(lock.tokens.get('a') > 1);
    const withoutBatch = (request) => request.replace('POST /v1/batch', 'POST /v1/older');
    relay.change = (request) =>
        withoutBatch(request).replace(/fencing-token: \d+/i, 'Fencing-Token: 1');
    relay.reply = (request) => !request.startsWith('PATCH /v1/locks/b');
    await assert.rejects(lock.extend(), pawl.Unavailable);
    assert.ok(lock.held && told.length === 0);
    relay.change = withoutBatch;
    relay.reply = () => true;
    assert.deepEqual(await lock.extend(), { newGrant: true });
    assert.deepEqual(told, [lock.tokens.get('a')]);
    assert.deepEqual(await lock.extend(), { newGrant: false });
    assert.equal(told.length, 1);
});

test('aborted wait ends at once and leaves nothing behind', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const holder = await client.acquire('a');
    const controller = new AbortController();
    const waiting = client.acquire('a', {
        ttlMs: 60000, // longer than until() is patient: a lock that is left behind stays
        waitMs: 60000,
        signal: controller.signal,
    });
    const state = () => service.call('GET', 'a');
    await until(async () => (await state()).waiters === 1, 'the waiter');
    controller.abort(new RangeError('not wanted any more'));
    await assert.rejects(waiting, RangeError);
    await holder.release();
    // The server may learn of the release before it learns that the waiter is gone.
    await until(async () => !(await state()).held, 'the free lock');
    await assert.rejects(client.acquire('a', { signal: controller.signal }), RangeError);
});

testAside('signal of the caller is passed on to the work, which keeps its lock', async (t) => {
    const service = await Service.start(t);
    const controller = new AbortController();
    const options = { ttlMs: 2000, signal: controller.signal };
    const result = await clientOf(service).withLock('a', options, async (lock) => {
        controller.abort(new RangeError('stop'));
        assert.equal(lock.signal.reason, controller.signal.reason);
        assert.throws(() => lock.check(), RangeError);
        await sleep(2500); // to tidy up
        assert.ok(lock.held);
        return 7;
    });
    assert.equal(result, 7);
});

test('many locks on one signal bring no warning', async (t) => {
    const service = await Service.start(t);
    const text = `
        process.on('warning', (warning) => console.log(warning.name));
        const client = new pawl.Client({ servers: ['${service.url}'] });
        const { signal } = new AbortController();
        const names = Array.from({ length: 30 }, (unused, index) => 'a' + index);
        await Promise.all(names.map((name) => client.withLock('one', { signal }, (one) =>
            client.withLock(name, { signal: one.signal }, () => {}))));
        await client.withLock('one', { signal }, async (one) => {
            const nested = names.map((name) => client.acquire(name, { signal: one.signal }));
            const heard = names.map(() => one.signal.addEventListener('abort', () => {}));
            for (const lock of await Promise.all(nested)) await lock.release();
        });
        setTimeout(() => console.log('done'), 50);`;
    const child = start(t, script(text));
    assert.equal(await child.ended, 0);
    assert.equal(child.said, 'done\n');
});

test('wrong arguments are refused, and nothing else is locked instead', async (t) => {
    const service = await Service.start(t);
    const client = clientOf(service);
    const rows = [
        ['', {}], ['a/../b', {}], ['..', {}], ['a//b', {}], ['no name', {}], ['\ud800', {}],
        ['x'.repeat(256), {}], [[], {}], [['a', 'a'], {}], ['a', { ttl: 1000 }],
        ['a', { ttlMs: '1000' }], ['a', { ttlMs: 1 }], ['a', { ttlMs: 1e9 }], ['a', { waitMs: -1 }],
        ['a', { owner: '\n' }], ['a', null], [7, {}], [undefined, {}], ['a', { owner: 7 }],
        ['a', { owner: 'x'.repeat(129) }], ['a', { signal: {} }], ['a', { onWaiting: 7 }],
    ];
    for (const [name, options] of rows)
        await assert.rejects(client.acquire(name, options), pawl.Invalid, `${[name]}`);
    await assert.rejects(client.withLock('a'), pawl.Invalid);
    for (const servers of [['nowhere'], ['ftp://a'], ['http://u:p@a'], 'http://a', [7]])
        assert.throws(() => new Client({ servers }), pawl.Invalid);
    for (const wrong of [{ server: [] }, { key: 7 }, { tls: { ca: 7 } }, { tls: { cert: 'x' } }])
        assert.throws(() => new Client(wrong), pawl.Invalid);
    const ttl = client.acquire('a', { ttlMs: 1 });
    await assert.rejects(ttl, { message: /^cannot acquire a: ttlMs is 1; it must be from 100 / });
    for (const name of ['a', 'b']) assert.equal((await service.call('GET', name)).held, false);
});

test('work keeps its process alive', async (t) => {
    const service = await Service.start(t);
    const text = `
        const client = new pawl.Client({ servers: ['${service.url}'] });
        const signal = AbortSignal.timeout(500);
        await client.withLock('a', { signal }, async (lock) => {
            await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
            console.log('done');
        });`;
    const child = start(t, script(text));
    assert.equal(await child.ended, 0);
    assert.equal(child.said, 'done\n');
    assert.equal((await service.call('GET', 'a')).held, false);
});

test('lock that nobody works under keeps no process alive', async (t) => {
    const service = await Service.start(t);
    const text = `
        const client = new pawl.Client({ servers: ['${service.url}'] });
        const lock = await client.acquire('a', { ttlMs: 60000 });
        lock.renew();`;
    const beganMs = performance.now();
    assert.equal(await start(t, script(text)).ended, 0);
    assert.ok(performance.now() - beganMs < 15000);
    assert.equal((await service.call('GET', 'a')).held, true);
});

/* The boot clock goes on during a suspension, and Node's own does not. So the child is shown a boot
 * clock that jumps: a file in place of /proc/uptime, in a mount namespace of its own. */
const mounting = ['-rm', 'mount', '--bind', '/proc/stat', '/proc/uptime'];
const skip = spawnSync('unshare', mounting).status !== 0 && 'needs unshare -rm';

testAside('suspension counts', { skip }, async (t) => {
    const service = await Service.start(t);
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pawl-node-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const file = path.join(folder, 'uptime');
    writeFileSync(file, '1000.00 1000.00\n');
    const text = `
        import { writeFileSync } from 'node:fs';
        const client = new pawl.Client({ servers: ['${service.url}'] });
        const lock = await client.acquire('a', { ttlMs: 30000 });
        const before = lock.leftMs();
        writeFileSync('${file}', '1005.00 1000.00\\n');
        console.log(before > 25000, lock.leftMs() < 25000, lock.held, lock.signal.aborted);
        writeFileSync('${file}', '1031.00 1000.00\\n');
        await new Promise((resolve) => setTimeout(resolve, 1000));
        console.log(lock.signal.reason.code, lock.held);`;
    const shell = 'mount --bind "$0" /proc/uptime && exec "$@"';
    const inside = ['unshare', '-rm', 'sh', '-c', shell, file];
    const child = start(t, [...inside, ...script(text)]);
    assert.equal(await child.ended, 0);
    assert.equal(child.said, 'true true true false\nexpired false\n');
});

const AT_ONCE = 4;

describe('tests that mostly wait', { concurrency: AT_ONCE }, () => {
    for (const words of waiting.reverse()) test(...words); // the longest one stands last
});
