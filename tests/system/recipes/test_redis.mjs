/* The recipe for Redis, on a server of its own. */
import { join } from 'node:path';

import { blocks } from './page.mjs';
import { judge, Stale } from './race.mjs';
import { folder, freePort, need, run, start } from './servers.mjs';

const [script] = blocks('Redis, Valkey', 'lua');
const server = need('redis-server', 'redis-server');
const cli = need('redis-cli', 'redis-tools');
const port = String(await freePort());

async function redis(...words) {
    const { code, output } = await run(cli, ['-e', '-p', port, ...words]);
    if (output.startsWith('STALE ')) {
        throw new Stale(output);
    }
    if (code !== 0) {
        throw new Error(output);
    }
    return output.trim();
}

const guarded = (name, ...values) =>
    redis('EVAL', script, '2', `{${name}}:token`, `{${name}}`, ...values.map(String));

await start('redis', [server, '--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '',
    '--appendonly', 'yes', '--appendfsync', 'always', '--appendfilename', 'recipes.aof',
    '--pidfile', join(folder, 'redis.pid')], () => redis('PING'));

await judge({
    claim: async (name, token) => Number(await guarded(name, token)),
    write: (name, token, number) => guarded(name, token, number),
    read: async (name) => Number(await redis('GET', `{${name}}`)),
    overwrite: (name, number) => redis('SET', `{${name}}`, String(number)),
});
