/* The first sentence: can this server grant a lock, and if not, what to do. */
import { h } from '../shared/dom.js';
import { clock, duration, several } from '../shared/words.js';
import { state } from './state.js';

const asks = 'The page keeps trying.';

const silent = () => ({
    tone: 'bad',
    sentence: 'This server does not answer.',
    lead: state.heardAt ? `It last answered at ${clock(state.heardAt)}. ${asks}` : asks,
    advice: ['Check that pawld runs and that the network reaches pawld. Other servers of the fleet can still grant locks.'],
});

const unknown = () => ({ tone: '', sentence: 'Waiting for the server …', lead: '', advice: [] });

function withoutKey() {
    const { ok, detail } = state.ready;
    return {
        tone: ok ? 'well' : 'bad',
        sentence: ok ? 'This server can grant locks.' : 'This server cannot grant locks.',
        lead: ok ? 'Sign in with a key to see masters and locks.' : detail,
        advice: [],
    };
}

function cannotGrant({ n, active, majority }) {
    const stopping = state.ready?.type === 'stopping';
    return {
        tone: 'bad',
        sentence: stopping ? 'This server is shutting down.' : 'This server cannot grant locks.',
        lead: state.ready?.detail.replace(/; see \/v1\/fleet .*$/, '.') ?? `${active} of ${n} masters vote, and ${majority} must vote.`,
        advice: stopping ? [] : whyNot(),
    };
}

/** A sentence for each master that does not vote. */
const whyNot = () =>
    state.fleet.masters
        .filter((master) => master.state !== 'active')
        .map(({ member, address, detail, back_in_ms: back }) =>
            `Master ${member} (${address}): ${detail ?? 'this master does not vote.'}${back ? ` The master should vote again in ${duration(back)}.` : ''}`);

const whose = (members) => `${members.length === 1 ? 'Master' : 'Masters'} ${members.join(', ')}`;

/** What is wrong with masters that vote: a sentence for each finding, whichever masters have it. */
function findings({ masters, audit }) {
    const found = new Map();
    for (const { member, audit: own, state: name } of masters)
        for (const { detail } of name === 'active' ? own : []) found.set(detail, [...(found.get(detail) ?? []), member]);
    for (const { members, detail } of audit) found.set(detail, members ?? []);
    return [...found].map(([detail, members]) => `${whose(members)}: ${detail}`);
}

function canGrant(fleet) {
    const { n, active, majority } = fleet;
    const missing = n - active;
    const spare = active - majority;
    const found = findings(fleet);
    const votes = n === 1 ? 'The only master votes.' : `${active === n ? `All ${n}` : `${active} of ${n}`} masters vote; ${majority} are needed.`;
    const left = spare === 0 && n > 1 ? ' If one more master fails, no lock can be granted.' : '';
    return {
        tone: missing > 0 ? 'care' : 'well',
        sentence: missing > 0
            ? `This server can grant locks, but ${several(missing, 'master')} ${missing === 1 ? 'does' : 'do'} not vote.`
            : 'This server can grant locks.',
        lead: votes + left,
        advice: [...whyNot(), ...found],
    };
}

export function verdict() {
    if (state.silent) return silent();
    if (state.fleet) return state.fleet.ready ? canGrant(state.fleet) : cannotGrant(state.fleet);
    return state.ready ? withoutKey() : unknown();
}

export function verdictView() {
    const { tone, sentence, lead, advice } = verdict();
    return h('div', { key: 'verdict' },
        h('div', { role: 'status' }, h('h1', { class: tone }, sentence)),
        lead && h('p', { class: 'lead' }, lead),
        advice.length > 0 && h('ul', { class: `advice ${tone}` }, advice.map((text) => h('li', null, text))));
}
