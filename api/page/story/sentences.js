/* Each event that matters as a sentence. */
import { CLIENTS, DATABASE, MASTER, PAWLD } from './world.js';

const LETTERS = 'ABC';
export const nameOf = (actor) => (actor < CLIENTS ? `client ${LETTERS[actor]}` : actor === PAWLD ? 'pawld' : actor === DATABASE ? 'the database' : `master ${actor - MASTER + 1}`);
const Name = (actor) => nameOf(actor).replace(/^./, (letter) => letter.toUpperCase());
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
const VERBS = ['for the lock', 'to read', 'to write'];

/* FENCE_ENOQUORUM and those beside it in fence/protocol/error.h. */
const REFUSALS = { '-1': 'another client has it', '-2': 'it did not become free in time', '-3': 'contenders split the masters', '-4': 'no majority of the masters answered', '-5': 'the masters answered too late', '-6': 'a majority of the masters has no vote' };
/* In the order of enum fence_master_state. */
const STATES = [
    (name) => `pawld has no connection to ${name}.`,
    (name) => `pawld asks other masters before it judges ${name}.`,
    (name) => `pawld checks what ${name} has kept.`,
    (name) => `pawld lets ${name} rejoin: it imports the counters and locks of a majority.`,
    (name) => `pawld excludes ${name}.`,
    (name) => `pawld gives ${name} a vote.`,
];
const ENDS = ['releases the lock', 'stops: its token was refused', 'stops: its clock says that the validity is over'];

const SENTENCES = {
    asks: ({ who, what }) => `${Name(who)} asks ${VERBS[what]}.`,
    granted: ({ whom, token, value }) => `pawld grants token ${token} to ${nameOf(whom)}, valid for ${seconds(value)}.`,
    refused: ({ whom, value }) => `pawld grants nothing to ${nameOf(whom)}: ${REFUSALS[value] ?? `error ${value}`}.`,
    believes: ({ who, token, value }) => `${Name(who)} believes that it has the lock, under token ${token}, until ${seconds(value / 1000)}.`,
    overlap: ({ who, whom, value }) => `${Name(whom)} believes so, too, beside ${nameOf(who)}${value ? ', and both validities run: exclusion is broken' : ', though its validity is over'}.`,
    looked: ({ who, value }) => `${Name(who)} looks at its clock: ${seconds(value)} are left. It goes on to write.`,
    ended: ({ who, what }) => `${Name(who)} ${ENDS[what]}.`,
    accepted: ({ whom, what, token, value }) => `The database ${what === 3 ? `takes the claim of ${nameOf(whom)} and answers ${value}` : `stores ${value}, written by ${nameOf(whom)}`}, token ${token}.`,
    stale: ({ whom, token, value }) => `The database refuses ${nameOf(whom)}: token ${token} is older than ${value}.`,
    'lost-update': ({ whom, value }) => `An update is lost: ${nameOf(whom)} overwrites the balance ${value}, which it never read.`,
    state: ({ who, what }) => STATES[what](nameOf(who)),
    paused: ({ who }) => `${Name(who)} is paused, and does not notice.`,
    resumed: ({ who }) => `${Name(who)} goes on where it was.`,
    killed: ({ who }) => `${Name(who)} is killed.`,
    started: ({ who }) => `${Name(who)} starts, with what its disk kept.`,
    wiped: ({ who }) => `${Name(who)} starts without anything: it has lost all data.`,
    'failed-over': ({ who }) => `The replica of ${nameOf(who)} takes its place. It lacks the last lock.`,
    clock: ({ who, value }) => `The clock of ${nameOf(who)} is set ${seconds(Math.abs(value))} ${value < 0 ? 'back' : 'forward'}.`,
    cut: ({ who }) => `The network between pawld and ${nameOf(who)} breaks.`,
    joined: ({ who }) => `The network between pawld and ${nameOf(who)} is mended.`,
    guard: ({ value }) => (value ? 'The guard of the database is on.' : 'The guard of the database is off.'),
    delayed: ({ who, value }) => `A message of ${nameOf(who)} is held up: it arrives at ${seconds(value / 1000)}.`,
};

/** Null: it is of no interest to people. */
export const sentence = (event) => SENTENCES[event.kind]?.(event) ?? null;

export const isViolation = (text) => text.startsWith('VIOLATION');

/** How bad it is: "bad", "well" or "". */
export const weight = ({ kind, value, text }) => ((text && isViolation(text)) || kind === 'lost-update' || (kind === 'overlap' && value) ? 'bad' : kind === 'stale' ? 'well' : '');
