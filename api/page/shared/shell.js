/* What is around each view: the head with the ways, the place in the address, and the beat. */
import { h, render } from './dom.js';

/** "#/locks/orders/42%230" is ["locks", "orders/42#0"]. The address never holds a key. */
export function place() {
    const parts = location.hash.replace(/^#\/?/, '').split('/');
    let rest = parts.slice(1).join('/');
    try {
        rest = decodeURIComponent(rest);
    } catch {
        rest = '';
    }
    return [parts[0], rest];
}

/** Draws soon, and once however often it is asked. */
export function drawer(draw) {
    let due = false;
    const now = () => {
        due = false;
        draw();
    };
    return () => {
        if (!due) requestAnimationFrame(now);
        due = true;
    };
}

/** The same for what comes by the hundred: calls `draw` once in `periodMs` at most. */
export function paced(draw, periodMs) {
    let timer = 0;
    let drawnAt = 0;
    const now = () => {
        timer = 0;
        drawnAt = Date.now();
        draw();
    };
    return () => {
        timer ||= setTimeout(now, Math.max(0, drawnAt + periodMs - Date.now()));
    };
}

/** Calls `task` every `periodMs` while the page is seen, one call after the other. */
export function beat(task, periodMs) {
    let timer = 0;
    let busy = false;
    const turn = async () => {
        clearTimeout(timer);
        if (busy || document.hidden) return;
        busy = true;
        await task().catch((error) => console.error(error));
        busy = false;
        timer = setTimeout(turn, periodMs);
    };
    document.addEventListener('visibilitychange', turn);
    turn();
    return turn;
}

const link = (here) => ([path, title]) =>
    h('li', null, h('a', { href: `#/${path}`, 'aria-current': path === here ? 'page' : null }, title));

/** name: of the program; ways: [path, title]; state: words of how fresh all is; button: sign-in. */
export function shell({ name, ways, state, stateClass, button, view }) {
    render(document.getElementById('page'),
        h('a', { class: 'skip', href: '#main', onclick: skip }, 'Skip to the content'),
        h('header', null,
            h('p', { class: 'name' }, h('a', { href: '#/' }, name), h('span', { class: 'host' }, location.host)),
            ways.length > 0 && h('nav', { 'aria-label': 'Views' }, h('ul', null, ways.map(link(place()[0])))),
            h('p', { class: `fresh ${stateClass}` }, state),
            button),
        h('main', { id: 'main', tabindex: '-1' }, view));
}

function skip(event) {
    event.preventDefault();
    document.getElementById('main').focus();
}
