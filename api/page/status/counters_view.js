/* Named counters, and what this process has counted since it started. */
import { h } from '../shared/dom.js';
import { json, Problem } from '../shared/http.js';
import { table } from '../shared/table.js';
import { count, several } from '../shared/words.js';
import { total } from './metrics.js';
import { totals } from './rates.js';
import { judge } from './state.js';

const LIMIT = 200;
const counters = { prefix: '', items: [], cursor: null, problem: null, at: 0 };

async function page(cursor) {
    const { prefix } = counters;
    const query = new URLSearchParams({ prefix, limit: LIMIT, ...(cursor ? { cursor } : {}) });
    try {
        const answer = await json(`/v1/counters?${query}`);
        if (prefix !== counters.prefix) return;
        const before = cursor ? counters.items : [];
        Object.assign(counters, { items: [...before, ...answer.counters], cursor: answer.next_cursor, problem: null, at: Date.now() });
    } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        judge(problem);
        counters.problem = problem;
    }
}

/** Once more was loaded the page leaves the list as it is. */
export const refreshCounters = async () => {
    if (counters.items.length <= LIMIT) await page(null);
};

export function forgetCounters() {
    Object.assign(counters, { items: [], cursor: null, problem: null, at: 0 });
}

/** [words, name of a metric]. */
const counted = [
    ['Grants', 'pawl_grants_total'],
    ['Extensions', 'pawl_extensions_total'],
    ['Extensions that became a new grant', 'pawl_regrants_total'],
    ['Extensions refused at the extension limit', 'pawl_extensions_exhausted_total'],
    ['Locks lost', 'pawl_locks_lost_total'],
    ['Locks broken by an operator', 'pawl_locks_broken_total'],
    ['Attempts that failed because callers competed', 'pawl_attempts_contended_total'],
    ['Extra requests because a master was late', 'pawl_hedges_total'],
];

const processColumns = [
    { title: 'Since this process started', heads: true, cell: ([words]) => words },
    { title: 'Count', number: true, cell: ([, name]) => count(total(totals(), name)) },
];

const columns = [
    { title: 'Name', heads: true, cell: ({ name }) => h('span', { class: 'code' }, name) },
    { title: 'Last value', number: true, cell: ({ value }) => count(value) },
];

let timer = 0;
function typed({ target }, ask) {
    clearTimeout(timer);
    timer = setTimeout(() => {
        forgetCounters();
        counters.prefix = target.value.trim();
        ask();
    }, 250);
}

export function countersView(ask) {
    const { items, cursor, problem, at, prefix } = counters;
    const more = async () => {
        await page(cursor);
        ask();
    };
    return [
        h('h1', null, 'Counters'),
        totals() && table({ caption: 'Since this process started', columns: processColumns, rows: counted, key: ([, name]) => name }),
        h('h2', null, 'Named counters'),
        h('div', { class: 'controls' }, h('p', { class: 'wide' }, h('label', { for: 'counter' }, 'Names that begin with'),
            h('input', { id: 'counter', type: 'search', value: prefix, spellcheck: 'false', maxlength: '255', oninput: (event) => typed(event, ask) }))),
        problem && h('p', { class: 'fault', role: 'alert' }, problem.message),
        h('p', { class: 'quiet', role: 'status' }, at === 0 ? 'Loading the counters …' : `${several(items.length, 'counter')}${cursor ? '; there are more' : ''}.`),
        items.length > 0 && table({ caption: 'Named counters', columns, rows: items, key: ({ name }) => name }),
        cursor && h('p', null, h('button', { type: 'button', onclick: more }, 'Load more')),
    ];
}
