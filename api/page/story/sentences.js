/* Each event that matters as a sentence. */
import { CLIENTS, DATABASE, MASTER, PAWLD } from './world.js';

const LETTERS = 'ABC';
export const nameOf = (actor) => (actor < CLIENTS ? `client ${LETTERS[actor]}` : actor === PAWLD ? 'pawld' : actor === DATABASE ? 'the database' : `master ${actor - MASTER + 1}`);
const Name = (actor) => nameOf(actor).replace(/^./, (letter) => letter.toUpperCase());
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
const VERBS = ['for the lock', 'to read', 'to write'];

/* FENCE_ENOQUORUM and those beside it in fence/protocol/error.h. */
const REFUSALS = { '-1': 'another client holds the lock', '-2': 'the lock was not free in time', '-3': 'several clients competed', '-4': 'no majority of the masters answered', '-5': 'the masters answered too late', '-6': 'a majority of the masters has no vote' };
/* In the order of enum fence_master_state. */
const STATES = [
    (name) => `pawld has no connection to ${name}.`,
    (name) => `pawld asks other masters before it decides about ${name}.`,
    (name) => `pawld checks the data of ${name}.`,
    (name) => `${name.replace(/^./, (letter) => letter.toUpperCase())} rejoins: pawld imports the counters and locks of a majority.`,
    (name) => `pawld excludes ${name}.`,
    (name) => `pawld gives ${name} a vote.`,
];
const ENDS = ['releases the lock', 'stops, because its token was rejected', 'stops, because its lock is no longer valid by its clock'];

const SENTENCES = {
    asks: ({ who, what }) => `${Name(who)} asks ${VERBS[what]}.`,
    granted: ({ whom, token, value }) => `pawld grants token ${token} to ${nameOf(whom)}, valid for ${seconds(value)}.`,
    refused: ({ whom, value }) => `pawld grants nothing to ${nameOf(whom)}: ${REFUSALS[value] ?? `error ${value}`}.`,
    believes: ({ who, token, value }) => `${Name(who)} believes that it holds the lock, with token ${token}, until ${seconds(value / 1000)}.`,
    overlap: ({ who, whom, value }) => `${Name(whom)} also believes that it holds the lock, like ${nameOf(who)}${value ? '. Both locks are valid: exclusion is broken' : ', but its lock is no longer valid'}.`,
    looked: ({ who, value }) => `${Name(who)} checks its clock: the lock is valid for ${seconds(value)} more. So it writes.`,
    ended: ({ who, what }) => `${Name(who)} ${ENDS[what]}.`,
    accepted: ({ whom, what, token, value }) => `The database ${what === 3 ? `accepts the claim of ${nameOf(whom)} and returns ${value}` : `stores ${value}, written by ${nameOf(whom)}`}, token ${token}.`,
    stale: ({ whom, token, value }) => `The database rejects ${nameOf(whom)}: token ${token} is lower than ${value}.`,
    'lost-update': ({ whom, value }) => `An update is lost: ${nameOf(whom)} overwrites the balance ${value}, which it never read.`,
    state: ({ who, what }) => STATES[what](nameOf(who)),
    paused: ({ who }) => `${Name(who)} is paused, and does not notice.`,
    resumed: ({ who }) => `${Name(who)} continues.`,
    killed: ({ who }) => `${Name(who)} is killed.`,
    started: ({ who }) => `${Name(who)} starts with the data of its disk.`,
    wiped: ({ who }) => `${Name(who)} starts without data: all data is lost.`,
    'failed-over': ({ who }) => `The replica of ${nameOf(who)} takes over. The replica lacks the last lock.`,
    clock: ({ who, value }) => `The clock of ${nameOf(who)} is set ${seconds(Math.abs(value))} ${value < 0 ? 'back' : 'forward'}.`,
    cut: ({ who }) => `The network between pawld and ${nameOf(who)} breaks.`,
    joined: ({ who }) => `The network between pawld and ${nameOf(who)} is repaired.`,
    guard: ({ value }) => (value ? 'The guard of the database is on.' : 'The guard of the database is off.'),
    delayed: ({ who, value }) => `A message of ${nameOf(who)} is delayed: it arrives at ${seconds(value / 1000)}.`,
};

/** Null: it is of no interest to people. */
export const sentence = (event) => SENTENCES[event.kind]?.(event) ?? null;

export const isViolation = (text) => text.startsWith('VIOLATION');

/** How bad it is: "bad", "well" or "". */
export const weight = ({ kind, value, text }) => ((text && isViolation(text)) || kind === 'lost-update' || (kind === 'overlap' && value) ? 'bad' : kind === 'stale' ? 'well' : '');
