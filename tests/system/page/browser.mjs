/* A real Chromium, and what each page is held against. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '../../..');
const program = '/usr/bin/chromium';
const pictures = path.join(process.env.PAWL_BUILD ?? path.join(root, 'build'), 'test-results/pages');

/** The folder of a package of npm, in the version of scripts/npm.txt. */
function folderOf(name) {
    const list = readFileSync(path.join(root, 'scripts/npm.txt'), 'utf8');
    const [, version] = new RegExp(`^${name} (\\S+)`, 'm').exec(list);
    return path.join(root, 'build/npm', `${name}-${version}`);
}

const missing = [program, folderOf('playwright-core'), folderOf('axe-core')].find((each) => !existsSync(each));
if (missing) {
    console.error(`skipped: ${missing} is not there: scripts/setup installs it`);
    process.exit(77);
}

const { chromium } = createRequire(import.meta.url)(folderOf('playwright-core'));
const axe = readFileSync(path.join(folderOf('axe-core'), 'axe.min.js'), 'utf8');

/** Names that are not of this machine lead nowhere. */
export const browser = await chromium.launch({
    executablePath: program,
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--disable-background-networking'],
});

export const sizes = {
    desktop: { viewport: { width: 1200, height: 800 }, colorScheme: 'light' },
    dark: { viewport: { width: 1200, height: 800 }, colorScheme: 'dark' },
    phone: { viewport: { width: 390, height: 800 }, colorScheme: 'light' },
};

/** Opens a page. What it did wrong is told by clean(). */
export async function open(t, url, size = sizes.desktop) {
    const context = await browser.newContext(size);
    t.after(() => context.close());
    const page = await context.newPage();
    const faults = [];
    const origin = new URL(url).origin;
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    page.on('request', (request) => {
        if (new URL(request.url()).origin !== origin) faults.push(`request to ${request.url()}`);
    });
    page.on('console', (message) => {
        if (/Content Security Policy|Content-Security-Policy/.test(message.text())) faults.push(message.text());
    });
    await page.addInitScript(() => {
        globalThis.violations = [];
        addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => globalThis.violations.push(`${violatedDirective} ${blockedURI}`));
    });
    await page.goto(url);
    page.clean = async () => {
        assert.deepEqual(faults, []);
        assert.deepEqual(await page.evaluate(() => globalThis.violations), []);
    };
    return page;
}

/** axe finds nothing. */
export async function accessible(page, what) {
    await page.evaluate(axe);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    const told = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
    assert.deepEqual(told, [], what);
}

export async function picture(page, name) {
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: true });
}

/** Tabs on until the element with this accessible name has the focus. */
export async function tabTo(page, name, most = 40) {
    for (let i = 0; i < most; i++) {
        await page.keyboard.press('Tab');
        const here = await page.evaluate(() => {
            const element = document.activeElement;
            return element.labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent;
        });
        if (here.trim() === name) return;
    }
    assert.fail(`the Tab key does not lead to ${name}`);
}
