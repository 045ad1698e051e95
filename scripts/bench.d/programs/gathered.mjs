// How many acquire+release pairs a second does the client for Node do, which gathers the calls of one
// turn of its event loop into one request?
//
// usage: node gathered.mjs --server URL, and the options of redlock/closed_loop.mjs
import process from 'node:process';

import { Client } from '../../../api/client/node/pawl.mjs';
import { closedLoop, readOptions } from './redlock/closed_loop.mjs';

const options = readOptions({ server: { type: 'string' } });
const client = new Client({ servers: [options.server] });

await closedLoop(
    {
        prefix: 'gathered',
        acquire: async (name, ttlMs) => {
            const lock = await client.acquire(name, { ttlMs, waitMs: 0 });
            return () => lock.release();
        },
    },
    options,
);
process.exit(0); // connections that are kept would hold it
