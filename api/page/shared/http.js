/* Calls of this server. The key is kept here alone: in memory, until the page is left. */

let key = null;

/** A call that was not answered with success. `detail` says what to do. */
export class Problem extends Error {
    constructor(status, body, retryMs) {
        super(body.detail ?? body.title ?? `The server answered ${status}.`);
        Object.assign(this, { status, type: String(body.type ?? '').replace('urn:pawl:', ''), body, retryMs });
    }
}

export const hasKey = () => key !== null;

export function setKey(value) {
    key = value;
}

/** The headers of each call. */
export const headers = (more) => ({ ...more, ...(key === null ? {} : { Authorization: `Bearer ${key}` }) });

/** Throws a Problem with status 0 where no answer comes within `patienceMs`. */
async function answerOf(path, { patienceMs = 10000, ...options }) {
    try {
        return await fetch(path, {
            ...options,
            headers: headers(options.headers),
            cache: 'no-store',
            credentials: 'omit',
            signal: AbortSignal.timeout(patienceMs),
        });
    } catch {
        throw new Problem(0, { detail: 'The server does not answer.' }, 0);
    }
}

async function call(path, options, read) {
    const response = await answerOf(path, options);
    if (!response.ok) {
        const body = await response.json().catch(() => ({}));
        throw new Problem(response.status, body, 1000 * Number(response.headers.get('Retry-After') ?? 0));
    }
    return read(response);
}

export const json = (path, options = {}) => call(path, options, (response) => response.json());

export const text = (path, options = {}) => call(path, options, (response) => response.text());

/**
 * A name in a path. Slashes stay, as they belong to the name; the # of a seat does not. The browser
 * would resolve a part that is "." or "..": no name has one.
 */
export function inPath(name) {
    const parts = name.split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..')) throw new Problem(400, { detail: 'This is not the name of a lock.' });
    return parts.map(encodeURIComponent).join('/');
}
