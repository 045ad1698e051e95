/* Elements as descriptions. A view describes all that it shows, each time; render() changes in the
 * document what differs. So focus, selection and scrolling stay where they are. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Describes an element: h('td', { class: 'number' }, '34'). Children may be lists; null and false
 * are left out. Properties: attributes, handlers ("onclick"), and `key`, which tells rows apart.
 */
export function h(name, properties, ...children) {
    const shown = children.flat(Infinity).filter((child) => child || child === 0);
    return { name, properties: properties ?? {}, children: shown };
}

/** Makes the children of `parent` what is described. */
export function render(parent, ...described) {
    const wanted = described.flat(Infinity).filter((child) => child || child === 0);
    const keyed = new Map();
    for (const node of parent.childNodes) if (node.pawl?.key !== undefined) keyed.set(node.pawl.key, node);
    let place = parent.firstChild;
    for (const description of wanted) {
        const node = fit(description, place, keyed) ?? make(description, parent);
        update(node, description);
        if (node === place) place = place.nextSibling;
        else move(parent, node, place);
    }
    while (place) {
        const next = place.nextSibling;
        place.remove();
        place = next;
    }
}

const isText = (description) => typeof description !== 'object';

/** The node that is there already and can become what is described. */
function fit(description, place, keyed) {
    if (isText(description)) return place?.nodeType === Node.TEXT_NODE ? place : null;
    const { key } = description.properties;
    const node = key === undefined ? place : keyed.get(key);
    const same = node?.pawl?.name === description.name && node.pawl.key === key;
    return same ? node : null;
}

function make(description, parent) {
    if (isText(description)) return document.createTextNode('');
    const { name, properties } = description;
    const inSvg = name === 'svg' || parent.namespaceURI === SVG;
    const node = inSvg ? document.createElementNS(SVG, name) : document.createElement(name);
    node.pawl = { name, key: properties.key, properties: {} };
    return node;
}

/** insertBefore() takes the focus away; moveBefore() does not, where a browser has it. */
function move(parent, node, before) {
    if (parent.moveBefore && node.isConnected && parent.isConnected) parent.moveBefore(node, before);
    else parent.insertBefore(node, before);
}

function update(node, description) {
    if (isText(description)) {
        const text = String(description);
        if (node.data !== text) node.data = text;
        return;
    }
    const before = node.pawl.properties;
    const after = description.properties;
    for (const name of Object.keys(before)) if (!(name in after)) set(node, name, null);
    for (const [name, value] of Object.entries(after)) if (before[name] !== value) set(node, name, value);
    node.pawl.properties = after;
    render(node, description.children);
}

function set(node, name, value) {
    if (name === 'key') return;
    if (name.startsWith('on')) node[name] = value;
    else if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? '' : value);
}
