/* Server-sent events over fetch(), so that the key goes in a header. EventSource has no headers. */
import { headers } from '../shared/http.js';

/** A reader of the lines of a stream: push(text) calls back with { id, kind, data } for each event. */
export function eventReader(event) {
    let rest = '';
    let now = { kind: 'message', data: [] };
    let id = '';
    const field = (line) => {
        const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
        if (name === 'id') id = value;
        if (name === 'event') now.kind = value;
        if (name === 'data') now.data.push(value);
    };
    const line = (text) => {
        if (text !== '') {
            field(text);
            return;
        }
        if (now.data.length > 0) event({ id, kind: now.kind, data: now.data.join('\n') });
        now = { kind: 'message', data: [] };
    };
    return (text) => {
        const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
        rest = lines.pop();
        lines.forEach(line);
    };
}

/** Reads until the stream ends. Throws where it does not begin; `status` says why. */
export async function readStream({ path, lastId, opened, event, signal }) {
    const response = await fetch(path, {
        headers: headers({ Accept: 'text/event-stream', ...(lastId ? { 'Last-Event-ID': lastId } : {}) }),
        cache: 'no-store',
        credentials: 'omit',
        signal,
    });
    if (!response.ok || !response.headers.get('Content-Type')?.startsWith('text/event-stream'))
        throw Object.assign(new Error('no stream of events'), { status: response.status });
    opened();
    const push = eventReader(event);
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) push(decoder.decode(piece.value, { stream: true }));
}
