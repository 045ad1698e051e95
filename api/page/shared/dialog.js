/* A dialog of the browser: it keeps the focus within itself, Escape closes it, and the focus goes
 * back to where it was. */
import { h, render } from './dom.js';

/**
 * Shows `content()` under a title, and closes with `closed`. Returns how to draw it again, how to
 * close it, and its element. submit: what its form does.
 */
export function openDialog({ title, content, submit, closed }) {
    const element = document.createElement('dialog');
    const draw = () =>
        render(element, h('form', { onsubmit: send }, h('h2', { id: 'dialog-title' }, title), content()));
    const close = () => element.close();
    function send(event) {
        event.preventDefault();
        submit();
    }
    element.setAttribute('aria-labelledby', 'dialog-title');
    element.onclose = () => {
        element.remove();
        closed();
    };
    document.body.append(element);
    draw();
    element.showModal();
    return { draw, close, element };
}
