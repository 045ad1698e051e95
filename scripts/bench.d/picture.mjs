// Draws the pairs section of a benchmark as SVG: throughput above, latency of acquire below, one
// column for each persistence.
//
// usage: picture.mjs SUBTITLE <MEDIANS >SVG      (MEDIANS: what runs.jq's medians("pairs") gives)
import { readFileSync } from 'node:fs';
import process from 'node:process';

const medians = JSON.parse(readFileSync(0, 'utf8'));
const subtitle = process.argv[2] ?? '';

// In the order of the legend. The colours can be told apart by colour-blind eyes too.
const candidates = [
    { name: 'pawl', label: 'Pawl over HTTP', colour: '#d55e00', width: 3 },
    { name: 'module', label: 'Pawl, module in its masters', colour: '#e69f00', width: 2 },
    { name: 'bare', label: 'its script calls, no service', colour: '#767676', width: 1.5 },
    { name: 'minimal', label: 'least script', colour: '#a6a6a6', width: 1.5 },
    { name: 'redlock', label: 'redlock package', colour: '#0072b2', width: 2 },
    { name: 'redlock-ap', label: 'redlock, auto-pipelining', colour: '#56b4e9', width: 2 },
    { name: 'etcd', label: 'etcd, HTTP gateway', colour: '#009e73', width: 2 },
].filter(({ name }) => medians.some((row) => row[name]));

const persistences = [
    { name: 'always', label: 'fsync on every write' },
    { name: 'none', label: 'no persistence' },
].filter(({ name }) => medians.some((row) => row.persistence === name));

const clients = [...new Set(medians.map((row) => row.connections))].sort((a, b) => a - b);

const plot = { width: 440, height: 260, left: 76, top: 172, gapX: 104, gapY: 92 };
const picture = {
    width: plot.left + persistences.length * (plot.width + plot.gapX) - 10,
    height: plot.top + 2 * (plot.height + plot.gapY) - 22,
};

// ---- elements ----------------------------------------------------------------------------------

const escaped = (text) => String(text).replace(/&/g, '&amp;').replace(/</g, '&lt;');

const element = (name, attributes, content = '') =>
    `<${name} ${Object.entries(attributes)
        .map(([key, value]) => `${key}="${typeof value === 'number' ? +value.toFixed(1) : value}"`)
        .join(' ')}>${content}</${name}>`;

const text = (x, y, content, attributes = {}) =>
    element('text', { x, y, ...attributes }, escaped(content));

const line = (x1, y1, x2, y2, attributes) => element('line', { x1, y1, x2, y2, ...attributes });

const dot = (x, y, colour) => element('circle', { cx: x, cy: y, r: 4, fill: colour });

// ---- scales ------------------------------------------------------------------------------------

// Numbers of clients stand at equal distances, each in the middle of its share of the width.
const xOf = (left, index) => left + ((index + 0.5) * plot.width) / clients.length;

// From the power of ten below all values to the next 1, 2 or 5 times one above them.
function logScale(values, top) {
    const low = Math.floor(Math.log10(Math.min(...values)));
    const highest = Math.max(...values) * 1.05;
    const decade = 10 ** Math.floor(Math.log10(highest));
    const high = Math.log10([1, 2, 5, 10].map((step) => step * decade).find((at) => at >= highest));
    const y = (value) => top + plot.height * (1 - (Math.log10(value) - low) / (high - low));
    const ticks = [];
    for (let power = low; power <= high; power++) ticks.push(10 ** power);
    return { y, ticks };
}

const throughput = (row, { name }) => row[name]?.pairs;
const p50 = (row, { name }) => row[name]?.p50 / 1000;
const p99 = (row, { name }) => row[name]?.p99 / 1000;

// Both columns share a scale, so that they can be compared.
const valuesOf = (...readers) =>
    medians
        .flatMap((row) => candidates.flatMap((one) => readers.map((read) => read(row, one))))
        .filter((value) => value > 0);

// ---- charts ------------------------------------------------------------------------------------

function axes(left, top, { y, ticks }, unit) {
    const bottom = top + plot.height;
    const parts = ticks.map(
        (value) =>
            line(left, y(value), left + plot.width, y(value), { class: 'grid' }) +
            text(left - 8, y(value) + 4, value.toLocaleString('en'), { 'text-anchor': 'end' }),
    );
    clients.forEach((count, index) =>
        parts.push(text(xOf(left, index), bottom + 18, count, { 'text-anchor': 'middle' })),
    );
    return [
        ...parts,
        line(left, bottom, left + plot.width, bottom, { class: 'axis' }),
        text(left + plot.width / 2, bottom + 36, 'clients', { 'text-anchor': 'middle' }),
        text(left - 8, top - 14, unit, { class: 'unit' }),
    ];
}

// Heights at which labels of 15 do not touch, each as near as can be to where it belongs.
function spread(heights) {
    const placed = heights.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
    for (let i = 1; i < placed.length; i++)
        placed[i].at = Math.max(placed[i].at, placed[i - 1].at + 15);
    return placed.sort((a, b) => a.index - b.index).map(({ at }) => at);
}

// A line for each candidate, its last value in figures at the end.
function throughputChart(rows, left, top) {
    const scale = logScale(valuesOf(throughput), top);
    const lines = candidates
        .map((candidate) => ({
            ...candidate,
            points: rows
                .map((row) => ({
                    x: xOf(left, clients.indexOf(row.connections)),
                    value: throughput(row, candidate),
                }))
                .filter(({ value }) => value > 0)
                .map((point) => ({ ...point, y: scale.y(point.value) })),
        }))
        .filter(({ points }) => points.length > 0);
    const labels = spread(lines.map(({ points }) => points.at(-1).y + 4));
    const drawn = lines.map(({ points, colour, width }, index) => {
        const path = points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
        const { x, value } = points.at(-1);
        return (
            element('polyline', { points: path, stroke: colour, 'stroke-width': width }) +
            points.map((point) => dot(point.x, point.y, colour)).join('') +
            text(x + 10, labels[index], value.toLocaleString('en'), {
                class: 'value',
                style: `fill: ${colour}`,
            })
        );
    });
    return [...axes(left, top, scale, 'acquire+release pairs per second'), ...drawn];
}

// Side by side for each number of clients: a dot at the median, a bar from there to the 99th
// percentile.
function latencyChart(rows, left, top) {
    const scale = logScale(valuesOf(p50, p99), top);
    const present = candidates.filter(({ name }) => rows.some((row) => row[name]));
    const step = 14;
    const drawn = rows.flatMap((row) =>
        present.map((candidate, index) => {
            if (!row[candidate.name]) return '';
            const middle = xOf(left, clients.indexOf(row.connections));
            const x = middle + (index - (present.length - 1) / 2) * step;
            const [y50, y99] = [scale.y(p50(row, candidate)), scale.y(p99(row, candidate))];
            const bar = { stroke: candidate.colour, 'stroke-width': 2.5 };
            return (
                line(x, y50, x, y99, bar) +
                line(x - 4, y99, x + 4, y99, bar) +
                dot(x, y50, candidate.colour)
            );
        }),
    );
    const unit = 'acquire, milliseconds: dot p50, end of the bar p99';
    return [...axes(left, top, scale, unit), ...drawn];
}

function legend(y) {
    let x = plot.left - 8;
    return candidates.map(({ label, colour, width }) => {
        const entry =
            line(x, y - 4, x + 22, y - 4, { stroke: colour, 'stroke-width': width }) +
            dot(x + 11, y - 4, colour) +
            text(x + 28, y, label);
        x += 28 + label.length * 6.6 + 22;
        return entry;
    });
}

function column({ name, label }, index) {
    const left = plot.left + index * (plot.width + plot.gapX);
    const rows = medians.filter((row) => row.persistence === name);
    return [
        text(left - 8, plot.top - 42, label, { class: 'column' }),
        ...throughputChart(rows, left, plot.top),
        ...latencyChart(rows, left, plot.top + plot.height + plot.gapY),
    ];
}

const style = `
    text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #333 }
    .title { font-size: 19px; font-weight: 600 }
    .subtitle, .unit { fill: #666 }
    .column { font-size: 15px; font-weight: 600 }
    .value { font-weight: 600 }
    polyline { fill: none }
    .grid { stroke: #e3e3e3 }
    .axis { stroke: #999 }
`;

console.log(
    [
        `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${picture.width} ${picture.height}"`,
        `     width="${picture.width}" height="${picture.height}" role="img">`,
        element('title', {}, 'Acquire and release of locks: throughput and latency'),
        element('style', {}, style),
        element('rect', { width: '100%', height: '100%', fill: '#fff', rx: 8 }),
        text(plot.left - 8, 36, 'Acquire and release of locks', { class: 'title' }),
        text(plot.left - 8, 58, subtitle, { class: 'subtitle' }),
        ...legend(92),
        ...persistences.flatMap(column),
        '</svg>',
    ].join('\n'),
);
