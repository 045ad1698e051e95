/* Breaking a lock: the operator types the token of the grant that is to end. */
import { openDialog } from '../shared/dialog.js';
import { h } from '../shared/dom.js';
import { inPath, json, Problem } from '../shared/http.js';

const send = (name, token) =>
    json(`/v1/locks/${inPath(name)}?force=true`, { method: 'DELETE', headers: { 'If-Match': `"${token}"` } });

const sentence = ({ released, token }) =>
    released ? `The grant with token ${token} was broken.` : 'The lock was already free, so nothing was broken.';

/** done(sentence) is called once the lock was broken. */
export function breakLock({ resource: name, token, owner }, done, closed) {
    let fault = '';
    let typed = '';
    const dialog = openDialog({ title: `Break ${name}?`, content, submit, closed });
    dialog.element.querySelector('input').focus();

    async function submit() {
        if (typed !== String(token)) return;
        try {
            done(sentence(await send(name, token)));
            dialog.close();
        } catch (problem) {
            if (!(problem instanceof Problem)) throw problem;
            fault = problem.message;
            dialog.draw();
        }
    }

    function type({ target }) {
        typed = target.value.trim();
        dialog.draw();
    }

    function content() {
        return [
            h('p', null, `${owner || 'The holder'} loses the lock, but learns of the break only at its next extension. Until then a guard rejects its writes. Without a guard, it can write at the same time as the next holder.`),
            h('label', { for: 'token' }, `Type the token ${token} to break this grant`),
            h('input', { id: 'token', inputmode: 'numeric', autocomplete: 'off', spellcheck: 'false', oninput: type, 'aria-describedby': 'break-fault' }),
            h('p', { id: 'break-fault', class: 'fault', role: 'alert' }, fault),
            h('p', { class: 'buttons' },
                h('button', { type: 'submit', class: 'break', disabled: typed !== String(token) }, 'Break the lock'),
                h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel')),
        ];
    }
}
