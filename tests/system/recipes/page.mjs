/* The code of storage/guard/RECIPES.md, so that the tests run what the page says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { root } from './servers.mjs';

const page = readFileSync(join(root, 'storage/guard/RECIPES.md'), 'utf8');

/** The blocks of code of a kind (lua, sh, js) below the heading, in their order. */
export function blocks(heading, kind) {
    const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
    const found = [...(section ?? '').matchAll(/^```(\w+)\n(.*?)^```$/gms)]
        .filter(([, itsKind]) => itsKind === kind)
        .map(([, , code]) => code);
    if (found.length === 0) {
        throw new Error(`RECIPES.md has no block of ${kind} below '${heading}'`);
    }
    return found;
}

/** What a block of JavaScript declares: the names wanted. It sees the names given. */
export function declared(block, given, ...wanted) {
    const names = Object.keys(given);
    return new Function(...names, `${block}\nreturn { ${wanted.join(', ')} };`)(
        ...names.map((name) => given[name]));
}
