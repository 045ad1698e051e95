/* Sign-in with a key. */
import { openDialog } from './dialog.js';
import { h } from './dom.js';
import { hasKey, setKey } from './http.js';

/** Has `check` make a call with the key. A key that fails is dropped, and the problem is shown. */
function signIn(check, changed) {
    let fault = '';
    const field = () => dialog.element.querySelector('input');
    const dialog = openDialog({ title: 'Sign in', content, submit, closed: changed });
    field().focus();

    async function submit() {
        setKey(field().value.trim());
        try {
            await check();
            dialog.close();
        } catch (problem) {
            setKey(null);
            fault = problem.message;
            dialog.draw();
            field().focus();
        }
    }

    function content() {
        return [
            h('p', { id: 'key-hint' }, 'This page keeps the key in memory only. Enter the key again after you sign out, reload or leave the page.'),
            h('label', { for: 'key' }, 'Key'),
            h('input', {
                id: 'key',
                type: 'password',
                autocomplete: 'off',
                spellcheck: 'false',
                required: true,
                placeholder: 'pawl_…',
                'aria-describedby': 'key-hint key-fault',
                'aria-invalid': fault ? 'true' : null,
            }),
            h('p', { id: 'key-fault', class: 'fault', role: 'alert' }, fault),
            h('p', { class: 'buttons' },
                h('button', { type: 'submit', class: 'first' }, 'Sign in'),
                h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel')),
        ];
    }
}

function signOut(changed) {
    setKey(null);
    changed();
}

/** The button of the head of a page. */
export const keyButton = (check, changed) =>
    hasKey()
        ? h('button', { key: 'out', type: 'button', onclick: () => signOut(changed) }, 'Sign out')
        : h('button', { key: 'in', type: 'button', onclick: () => signIn(check, changed) }, 'Sign in');
