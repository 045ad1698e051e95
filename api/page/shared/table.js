/* A table that scrolls within its own width, where the screen is narrow. */
import { h } from './dom.js';

/**
 * columns: { title, cell(row), number?, sort?, sorted? }. A column with `sort` has a button for a
 * title. rows: anything; `key` makes a name of a row.
 */
export function table({ caption, columns, rows, key, empty, hidden = true }) {
    if (rows.length === 0 && empty) return h('p', { class: 'quiet' }, empty);
    return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
        h('table', null,
            h('caption', { class: hidden ? 'hidden' : null }, caption),
            h('thead', null, h('tr', null, columns.map(head))),
            h('tbody', null, rows.map((row) => h('tr', { key: key(row) }, columns.map((column) => cell(column, row)))))));
}

const classOf = (column) => (column.number ? 'number' : null);

function head(column) {
    const title = column.sort
        ? h('button', { type: 'button', class: 'sort', onclick: column.sort }, column.title,
            h('span', { 'aria-hidden': 'true', class: 'arrow' }, column.sorted ? '▾' : ''))
        : column.title;
    const order = column.sort ? (column.sorted ?? 'none') : null;
    return h('th', { scope: 'col', class: classOf(column), 'aria-sort': order }, title);
}

function cell(column, row) {
    return h(column.heads ? 'th' : 'td', { class: classOf(column), scope: column.heads ? 'row' : null }, column.cell(row));
}
