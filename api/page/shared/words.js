/* Numbers, times and lengths of time, as people read them. */

const grouped = new Intl.NumberFormat('en');

/** 100000 is "100,000"; what is not known is a dash. */
export const count = (value) => (value === null || value === undefined ? '–' : grouped.format(value));

/** 1 "lock", 2 "locks". */
export const several = (value, noun) => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;

/** Three digits are enough for what changes every second: 0.52, 41.3, 1,280. */
export function rough(value) {
    if (!Number.isFinite(value)) return '–';
    if (value === 0) return '0';
    if (value >= 100) return count(Math.round(value));
    if (value < 0.01) return '<0.01';
    return String(Number(value.toPrecision(3)));
}

/** Seconds as "0.58 ms" or "2.1 s". */
export function seconds(value) {
    if (!Number.isFinite(value)) return '–';
    return value < 1 ? `${rough(value * 1000)} ms` : `${rough(value)} s`;
}

/** A length of time in two units at most: "850 ms", "12 s", "3 min 20 s", "2 d 4 h". */
export function duration(ms) {
    if (!Number.isFinite(ms)) return '–';
    if (ms < 1000) return `${Math.round(ms)} ms`;
    const s = Math.floor(ms / 1000);
    const units = [
        [86400, 'd'],
        [3600, 'h'],
        [60, 'min'],
        [1, 's'],
    ];
    const first = units.findIndex(([length]) => s >= length);
    const [length, name] = units[first];
    const rest = units[first + 1];
    const more = rest ? Math.floor((s % length) / rest[0]) : 0;
    return `${Math.floor(s / length)} ${name}${more ? ` ${more} ${rest[1]}` : ''}`;
}

const two = (value) => String(value).padStart(2, '0');

/** The time of day of the reader: "14:03:22". */
export function clock(ms) {
    const date = new Date(ms);
    return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The same with milliseconds, for what follows closely. */
export const clockMs = (ms) => `${clock(ms)}.${String(new Date(ms).getMilliseconds()).padStart(3, '0')}`;
