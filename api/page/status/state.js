/* What the page knows of the server, and when it heard so. Views read it, and ask for more. */
import { hasKey, json, Problem } from '../shared/http.js';

export const state = {
    fleet: null, // of GET /v1/fleet
    ready: null, // { ok, detail } of GET /readyz
    heardAt: 0, // when the last answer came; 0: none yet
    silent: false, // the last call had no answer
    locked: false, // a key is needed, and there is none
};

/** Whatever the calls of the page came to, its key and its server are judged here. */
export function judge(problem) {
    state.silent = problem.status === 0;
    state.locked = problem.status === 401;
    if (problem.status !== 0) state.heardAt = Date.now();
}

function heard() {
    state.silent = false;
    state.heardAt = Date.now();
}

/** /readyz says what to do. Without a key it is all that there is. */
async function askReady() {
    try {
        await json('/readyz');
        state.ready = { ok: true, detail: '' };
    } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        if (problem.status === 0) {
            state.silent = true;
            return;
        }
        state.ready = { ok: false, detail: problem.message, type: problem.type };
    }
    heard();
}

/** Tries the key that is there, or none: throws where it is not enough. */
export async function askFleet() {
    state.fleet = await json('/v1/fleet');
    state.locked = false;
    heard();
}

export async function refresh() {
    if (state.locked && !hasKey()) return askReady();
    try {
        await askFleet();
    } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        judge(problem);
        if (state.locked) state.fleet = null;
    }
    if (!state.silent && !state.fleet?.ready) await askReady();
    else state.ready = null;
    return undefined;
}
