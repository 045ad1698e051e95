/* The recipe for Azure Blob, on azurite. */
import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { blocks, declared } from './page.mjs';
import { judge, once, Stale } from './race.mjs';
import { answers, folder, freePort, needPackage, start } from './servers.mjs';

const ACCOUNT = 'recipes';
const VERSION = '2019-12-12';
const modules = needPackage('azurite');
const port = await freePort();
const key = randomBytes(32);

/* A shared access signature of the account: all that a test does, for a day. */
function signature() {
    const until = new Date(Date.now() + 86400000).toISOString().replace(/\.\d+/, '');
    const grant = { sp: 'rwdlac', ss: 'b', srt: 'sco', st: '', se: until, sip: '', spr: 'https,http', sv: VERSION };
    const text = `${[ACCOUNT, ...Object.values(grant)].join('\n')}\n`;
    const signed = { ...grant, sig: createHmac('sha256', key).update(text).digest('base64') };
    return String(new URLSearchParams(Object.entries(signed).filter(([, value]) => value)));
}

const grant = signature();
const container = `http://127.0.0.1:${port}/${ACCOUNT}/orders`;
const blob = (name) => `${container}/${name}?${grant}`;
const afterRead = once();

async function fetchAndAct(url, request) {
    const answer = await fetch(url, request);
    if (!request) {
        await afterRead.run();
    }
    return answer;
}

const { put } = declared(blocks('Azure Blob', 'js')[0], { Stale, fetch: fetchAndAct }, 'put');

process.env.AZURITE_ACCOUNTS = `${ACCOUNT}:${key.toString('base64')}`;
await start('azurite', [process.execPath, join(modules, 'azurite/dist/src/blob/main.js'), '--blobHost', '127.0.0.1',
    '--blobPort', String(port), '--location', join(folder, 'azurite'), '--silent', '--skipApiVersionCheck'],
() => answers(`http://127.0.0.1:${port}/${ACCOUNT}?comp=list&${grant}`));
const made = await fetch(`${container}?restype=container&${grant}`, { method: 'PUT' });
if (!made.ok) {
    throw new Error(await made.text());
}

await judge({
    afterRead: afterRead.set,
    claim: async (name, token) => Number(await put(blob(name), token)),
    write: (name, token, number) => put(blob(name), token, String(number)),
    read: async (name) => {
        const answer = await fetch(blob(name));
        const text = await answer.text();
        return answer.ok ? Number(text) : 0;
    },
    overwrite: async (name, number) => {
        const answer = await fetch(blob(name),
            { method: 'PUT', body: String(number), headers: { 'x-ms-blob-type': 'BlockBlob' } });
        await answer.arrayBuffer();
        if (!answer.ok) {
            throw new Error(`overwrite: ${answer.status}`);
        }
    },
});
