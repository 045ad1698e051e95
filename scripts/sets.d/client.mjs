// One client of scripts/sets: adds to a set in a SQLite database, under a lock, until it is told to end.
//
// usage: client.mjs add --lock KIND --port PORT... --set NAME --number N --folder DIR [--guard PAWL.SO]
//                       [--peers DIR] [--current FILE]
//        client.mjs make --folder DIR --set NAME... [--guard PAWL.SO]
//        client.mjs count --folder DIR
//
// A turn: acquire the lock of the set, read the set, work, write it with one element more, release. An element
// is acknowledged once its write is committed. With --guard the client claims before it reads, and the check
// stands in the transaction of the write.
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { lockOf } from './locks.mjs';

const BUSY_MS = 20000; // more than a client is stopped, perhaps within a transaction
const LONG_PART = 0.1; // of the turns work for long, ...
const LONG_MS = [300, 800]; // ... but for less than a lease
const SHORT_MS = [20, 60];
const PAUSE_MS = [5, 20]; // between two turns
const REFUSED_MS = 50;    // after a lock that could not be had

const { positionals: [verb], values: options } = parseArgs({
    allowPositionals: true,
    options: {
        lock: { type: 'string' },
        port: { type: 'string', multiple: true },
        set: { type: 'string', multiple: true },
        number: { type: 'string' },
        folder: { type: 'string' },
        guard: { type: 'string' },
        peers: { type: 'string' },
        current: { type: 'string' },
    },
});
const between = ([least, most]) => least + Math.random() * (most - least);
const file = (name) => join(options.folder, name);

function open() {
    const db = new DatabaseSync(file('sets.db'), { allowExtension: Boolean(options.guard) });
    db.exec(`PRAGMA busy_timeout = ${BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`);
    if (options.guard) db.loadExtension(options.guard);
    return db;
}

function make() {
    const db = open();
    if (options.guard) db.prepare('SELECT pawl_install()').get();
    db.exec('CREATE TABLE sets (name TEXT PRIMARY KEY, elements TEXT NOT NULL)');
    for (const name of options.set) db.prepare("INSERT INTO sets VALUES (?, '[]')").run(name);
    db.close();
}

// ---- a turn ----------------------------------------------------------------------------------------------

function read(db, name, token) {
    if (options.guard) db.prepare('SELECT pawl_claim(?, ?)').get(name, token);
    return JSON.parse(db.prepare('SELECT elements FROM sets WHERE name = ?').get(name).elements);
}

function write(db, name, token, elements) {
    db.exec('BEGIN IMMEDIATE');
    try {
        if (options.guard) db.prepare('SELECT pawl_check(?, ?)').get(name, token);
        db.prepare('UPDATE sets SET elements = ? WHERE name = ?').run(JSON.stringify(elements), name);
        db.exec('COMMIT');
    } catch (error) {
        if (db.isTransaction ?? true) db.exec('ROLLBACK');
        throw error;
    }
}

/** False: the guard refused. */
async function add(db, name, token, element) {
    try {
        const elements = read(db, name, token);
        writeFileSync(file(`working.${options.number}`), '');
        await sleep(between(Math.random() < LONG_PART ? LONG_MS : SHORT_MS));
        write(db, name, token, [...elements, element]);
        return true;
    } catch (error) {
        if (!error.message.startsWith('stale-token')) throw error;
        return false;
    } finally {
        rmSync(file(`working.${options.number}`), { force: true });
    }
}

async function addUntilTold() {
    const { number, set: [name] } = options;
    const db = open();
    const lock = lockOf(options.lock, { ports: options.port, guarded: Boolean(options.guard), ...options });
    const counts = { refused: 0, unavailable: 0 };
    let told = false;
    process.on('SIGTERM', () => (told = true));
    for (let turn = 0; !told; turn++) {
        const element = `${number}-${turn}`;
        const hold = await lock.acquire(name).catch(() => undefined);
        if (!hold) {
            counts.unavailable++;
            await sleep(REFUSED_MS);
            continue;
        }
        if (await add(db, name, hold.token, element)) appendFileSync(file(`acknowledged.${number}`), `${name} ${element}\n`);
        else counts.refused++;
        await hold.release().catch(() => {});
        await sleep(between(PAUSE_MS));
    }
    appendFileSync(file(`counts.${number}`), JSON.stringify(counts));
    process.exit(0);
}

// ---- the end ---------------------------------------------------------------------------------------------

function count() {
    const files = (prefix) => readdirSync(options.folder).filter((name) => name.startsWith(prefix)).map((name) => readFileSync(file(name), 'utf8'));
    const rows = open().prepare('SELECT name, elements FROM sets').all();
    const there = new Set(rows.flatMap(({ name, elements }) => JSON.parse(elements).map((element) => `${name} ${element}`)));
    const acknowledged = files('acknowledged.').flatMap((text) => text.trim().split('\n'));
    const counts = files('counts.').map((text) => JSON.parse(text));
    const sum = (name) => counts.reduce((all, one) => all + one[name], 0);
    console.log(JSON.stringify({
        acknowledged: acknowledged.length,
        lost: acknowledged.filter((element) => !there.has(element)).length,
        refused: sum('refused'),
        unavailable: sum('unavailable'),
        ended: counts.length,
    }));
}

await { add: addUntilTold, make, count }[verb]();
