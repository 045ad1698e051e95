/* The recipe for etcd, on a server of its own. */
import { join } from 'node:path';

import { blocks } from './page.mjs';
import { judge, Stale } from './race.mjs';
import { answers, folder, freePort, need, run, start } from './servers.mjs';

const [claimBlock, writeBlock] = blocks('etcd', 'sh');
const [padding] = claimBlock.split('\n');
const server = need('etcd', 'etcd-server');
const cli = need('etcdctl', 'etcd-client');
const url = `http://127.0.0.1:${await freePort()}`;
const peer = `http://127.0.0.1:${await freePort()}`;
const environment = { ...process.env, ETCDCTL_API: '3', ETCDCTL_ENDPOINTS: url };

async function done(program, args, more = {}) {
    const { code, output } = await run(program, args, { env: { ...environment, ...more } });
    if (code !== 0) {
        throw new Error(output);
    }
    return output;
}

/** Runs a block of the page, with the variable t of the claim. Its output begins with SUCCESS or FAILURE. */
async function transact(block, refusal, name, token, value) {
    // Without SHLVL bash takes the socket that is its input for rshd, and reads its rc file.
    const output = await done('bash', ['--norc', '-euc', `${padding}\n${block}`], { name, token: String(token), value: String(value) });
    const lines = output.trim().split('\n');
    if (lines[0] === refusal) {
        throw new Stale(output);
    }
    return lines;
}

await start('etcd', [server, '--data-dir', join(folder, 'etcd'), '--listen-client-urls', url,
    '--advertise-client-urls', url, '--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer,
    '--initial-cluster', `default=${peer}`], () => answers(`${url}/health`));

await judge({
    claim: async (name, token) => {
        const lines = await transact(claimBlock, 'SUCCESS', name, token, '');
        return lines.includes(name) ? Number(lines.at(-1)) : 0;
    },
    write: (name, token, number) => transact(writeBlock, 'FAILURE', name, token, number),
    read: async (name) => Number(await done(cli, ['get', '--print-value-only', name])),
    overwrite: (name, number) => done(cli, ['put', name, String(number)]),
});
