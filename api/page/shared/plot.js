/* A small plot of the last minutes, as SVG. */
import { h } from './dom.js';
import { clock } from './words.js';

const WIDTH = 260;
const HEIGHT = 64;
const TOP = 4;

/** The next of 1, 2, 5, 10, 20 ... at or above a value: so the scale changes seldom. */
function ceiling(value) {
    if (!(value > 0)) return 1;
    const decade = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((step) => step * decade).find((step) => step >= value * 0.9999);
}

/** Points as a path; where a value is missing the line is interrupted. */
function path(points, x, y) {
    let drawing = false;
    return points
        .map(({ at, value }) => {
            if (!Number.isFinite(value)) {
                drawing = false;
                return '';
            }
            const step = `${drawing ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
            drawing = true;
            return step;
        })
        .join('');
}

/**
 * title, unit(value): words. lines: [{ name, points: [{ at, value }] }], the first one is the
 * number that is shown large. from, to: times of the edges.
 */
export function plot({ title, unit, lines, from, to, floor = 0 }) {
    const values = lines.flatMap(({ points }) => points.map(({ value }) => value)).filter(Number.isFinite);
    const top = ceiling(Math.max(floor, ...values));
    const x = (at) => ((at - from) / (to - from)) * WIDTH;
    const y = (value) => HEIGHT - (value / top) * (HEIGHT - TOP);
    const last = (points) => points.at(-1)?.value;
    const said = lines.map(({ name, points }) => `${name} ${unit(last(points))}`).join(', ');
    return h('figure', { class: 'plot' },
        h('figcaption', null,
            h('span', { class: 'title' }, title),
            lines.map(({ name, points }, i) => h('span', { class: `now line-${i}` },
                h('b', null, unit(last(points))), lines.length > 1 && h('i', null, name)))),
        h('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT + 1}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${title}: ${said}` },
            h('path', { class: 'ground', d: `M0 ${HEIGHT}H${WIDTH}` }),
            lines.map(({ points }, i) => h('path', { class: `line line-${i}`, d: path(points, x, y) }))),
        h('p', { class: 'axis', 'aria-hidden': 'true' },
            h('span', null, clock(from)), h('span', null, `top ${unit(top)}`), h('span', null, clock(to))));
}
