/* As hostile_client.c, with the client for Node. */
import process from 'node:process';
import { inspect } from 'node:util';

import { Client } from '../../../api/client/node/pawl.mjs';

const KINDS = {
    Held: 'held', Invalid: 'invalid', LockLost: 'lost', ProtocolError: 'protocol',
    Refused: 'refused', Unavailable: 'unavailable',
};

async function run(url, call, name) {
    let kind = 'granted';
    let said = '';
    try {
        const client = new Client({ servers: [url], callTimeoutMs: 1500 });
        if (call === 'watch') {
            const { value } = await client.watch(name, { waitMs: 0 }).next();
            kind = value === undefined ? 'unchanged' : 'granted';
            said = value?.owner ?? '';
        }
        if (call === 'watch') return process.stdout.write(`${name}\0${kind}\0${said}\0`);
        const lock = await client.acquire(name, { ttlMs: 5000, waitMs: 0 });
        if (call === 'extend') await lock.extend({ ttlMs: 5000 });
    } catch (error) {
        kind = KINDS[error.name] ?? `another error: ${error.stack}`;
        said = `${error.message} ${error.code} ${error.owner} ${error.resource} ` +
            inspect(error.problem);
    }
    process.stdout.write(`${name}\0${kind}\0${said}\0`);
}

const [url, ...words] = process.argv.slice(2);
for (let i = 0; i < words.length; i += 2) await run(url, words[i], words[i + 1]);
process.exit();
