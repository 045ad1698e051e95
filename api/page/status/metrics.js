/* Reading the text of GET /metrics. */

/** Makes of it a map: name to a list of { labels, value }. */
export function parse(text) {
    const families = new Map();
    for (const line of text.split('\n')) {
        const found = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
        if (!found) continue;
        const [, name, inside = '', value] = found;
        const labels = Object.fromEntries([...inside.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, word]) => [label, word]));
        if (!families.has(name)) families.set(name, []);
        families.get(name).push({ labels, value: Number(value) });
    }
    return families;
}

/** The sum of the samples of a name that pass. */
export const total = (families, name, passes = () => true) =>
    (families.get(name) ?? []).filter(({ labels }) => passes(labels)).reduce((sum, { value }) => sum + value, 0);

/** The counts of a histogram's buckets, by upper bound. Samples of all labels are added up. */
export function buckets(families, name) {
    const counts = new Map();
    for (const { labels, value } of families.get(`${name}_bucket`) ?? []) {
        const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
        counts.set(bound, (counts.get(bound) ?? 0) + value);
    }
    return [...counts].sort(([a], [b]) => a - b);
}

/** The value below which a share of what came between two scrapes lies; NaN where nothing came. */
export function quantile(share, before, after) {
    const known = new Map(before);
    const grown = after.map(([bound, value]) => [bound, value - (known.get(bound) ?? 0)]);
    const all = grown.at(-1)?.[1] ?? 0;
    if (!(all > 0)) return NaN;
    let lower = 0;
    let below = 0;
    for (const [bound, value] of grown) {
        if (value >= share * all) {
            if (bound === Infinity) return lower;
            return lower + ((bound - lower) * (share * all - below)) / (value - below);
        }
        [lower, below] = [bound, value];
    }
    return lower;
}
