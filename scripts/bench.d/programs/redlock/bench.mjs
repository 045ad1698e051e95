// How many acquire+release pairs a second does the redlock package do, straight on the masters?
//
// usage: node bench.mjs --master URL... [--autopipelining], and the options of closed_loop.mjs
import { Redis } from 'ioredis';
import Redlock from 'redlock';

import { closedLoop, readOptions } from './closed_loop.mjs';

const options = readOptions({
    master: { type: 'string', multiple: true },
    autopipelining: { type: 'boolean', default: false },
});
const enableAutoPipelining = options.autopipelining;
const redlock = new Redlock(options.master.map((url) => new Redis(url, { enableAutoPipelining })));

await closedLoop(
    {
        prefix: 'redlock',
        acquire: async (name, ttlMs) => {
            const lock = await redlock.acquire([name], ttlMs);
            return () => lock.release();
        },
    },
    options,
);
await redlock.quit();
