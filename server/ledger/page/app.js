/* The page of the sample ledger: accounts, the highest token that each guard has seen, and what the
 * guards refused. */
import { h } from '../shared/dom.js';
import { hasKey, json, Problem } from '../shared/http.js';
import { keyButton } from '../shared/key.js';
import { beat, drawer, shell } from '../shared/shell.js';
import { table } from '../shared/table.js';
import { clock, count, several } from '../shared/words.js';

const EVERY_MS = 2000;
const PAGES = 10; // of accounts, at most

const ledger = { accounts: [], more: false, rejections: [], problem: null, heardAt: 0 };

async function askAccounts() {
    const accounts = [];
    let after = '';
    for (let pages = 0; pages < PAGES && after !== null; pages++) {
        const page = await json(`/v1/accounts?${new URLSearchParams({ after })}`);
        accounts.push(...page.accounts);
        after = page.next_after;
    }
    return { accounts, more: after !== null };
}

/** Throws where the key is not enough. */
async function ask() {
    const { accounts, more } = await askAccounts();
    const { rejections } = await json('/v1/rejections');
    Object.assign(ledger, { accounts, more, rejections, problem: null, heardAt: Date.now() });
}

const locked = () => ledger.problem?.status === 401;

async function refresh() {
    if (locked() && !hasKey()) return;
    try {
        await ask();
    } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        ledger.problem = problem;
        if (locked()) Object.assign(ledger, { accounts: [], rejections: [] });
    }
    draw();
}

function verdict() {
    const { problem, rejections, heardAt } = ledger;
    if (problem?.status === 0) return ['bad', 'This ledger does not answer.', heardAt ? `It last answered at ${clock(heardAt)}. The page keeps trying.` : 'The page keeps trying.'];
    if (locked()) return ['', 'This ledger needs a key.', 'Sign in with a key to see the accounts.'];
    if (problem) return ['bad', 'The ledger cannot be read.', problem.message];
    if (heardAt === 0) return ['', 'Waiting for the ledger …', ''];
    if (rejections.length === 0) return ['well', 'No stale write was rejected.', 'The guard stores the highest token of each account, and rejects a lower token.'];
    const [{ at_ms: at, resource, token, highest_token: highest }] = rejections;
    return ['care', `${several(rejections.length, 'stale call')} rejected.`, `The last stale call came at ${clock(at)}, for ${resource} with token ${token}. The guard had already seen token ${highest}, so the call changed nothing.`];
}

const accountColumns = [
    { title: 'Account', heads: true, cell: ({ id }) => h('span', { class: 'code' }, id) },
    { title: 'Balance', number: true, cell: ({ balance }) => count(balance) },
    { title: 'Version', number: true, cell: ({ version }) => count(version) },
    { title: 'Token of the last write', number: true, cell: ({ token }) => count(token) },
    { title: 'Guard has seen', number: true, cell: ({ highest_token: highest }) => count(highest || null) },
    { title: 'Memo', cell: ({ memo }) => memo || '–' },
];

const rejectionColumns = [
    { title: 'Time', cell: ({ at_ms: at }) => h('time', { class: 'nowrap', datetime: new Date(at).toISOString() }, clock(at)) },
    { title: 'Name', heads: true, cell: ({ resource }) => h('span', { class: 'code' }, resource) },
    { title: 'Refused', cell: ({ kind }) => h('span', { class: 'state bad' }, kind) },
    { title: 'Its token', number: true, cell: ({ token }) => count(token) },
    { title: 'Guard had seen', number: true, cell: ({ highest_token: highest }) => count(highest) },
];

function view() {
    const [tone, sentence, lead] = verdict();
    const { accounts, more, rejections, heardAt } = ledger;
    return [
        h('div', { role: 'status' }, h('h1', { class: tone }, sentence)),
        h('p', { class: 'lead' }, lead),
        heardAt > 0 && !locked() && [
            h('h2', null, 'Refused'),
            table({ caption: 'Calls that the guard rejected, newest first', columns: rejectionColumns, rows: rejections, key: ({ at_ms: at, resource, token, kind }) => `${at} ${resource} ${token} ${kind}`, empty: 'The guard rejected no call.' }),
            h('h2', null, 'Accounts'),
            more && h('p', { class: 'quiet' }, `The first ${count(accounts.length)}; there are more.`),
            table({ caption: 'Accounts', columns: accountColumns, rows: accounts, key: ({ id }) => id, empty: 'There are no accounts.' }),
        ],
    ];
}

function keyChanged() {
    Object.assign(ledger, { accounts: [], rejections: [], problem: null, heardAt: 0 });
    draw();
    turn();
}

const draw = drawer(() => {
    const { problem, heardAt } = ledger;
    const silent = problem?.status === 0;
    shell({
        name: 'pawl-ledger',
        ways: [],
        state: silent ? `no answer since ${clock(heardAt)}` : `asks every ${EVERY_MS / 1000} s`,
        stateClass: silent ? 'bad' : '',
        button: keyButton(ask, keyChanged),
        view: view(),
    });
});

draw();
const turn = beat(refresh, EVERY_MS);
