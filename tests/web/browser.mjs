// A page in a real browser that fails the test when the browser has anything to complain about.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const require = createRequire(join(process.env.HOTCELL_WEB_MODULES ?? '.', 'x.js'));
const { chromium } = require('playwright-core');

export const url = process.env.HOTCELL_URL;
assert.ok(url, 'HOTCELL_URL is the address of the daemon');
const key = process.env.HOTCELL_KEY;
const shots = process.env.HOTCELL_WEB_SHOTS;
// What may take as long as a compiler.
export const patient = { timeout: 60_000 };

let browser;
let home;
export async function start() {
  home = mkdtempSync(join(tmpdir(), 'hotcell-web-'));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    // Chromium's own sandbox refuses root, and needs user namespaces that not every place has; these pages are ours.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    env: { ...process.env, HOME: home, TMPDIR: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home },
  });
}
export async function stop() {
  await browser?.close();
  rmSync(home, { recursive: true, force: true });
}

// visit(t, '#/playground', options): `expected` are complaints that the test provokes.
export async function visit(
  t,
  hash = '#/',
  { viewport = { width: 1280, height: 860 }, colorScheme = 'light', expected = [], withKey = true } = {},
) {
  const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(patient.timeout);
  const page = await context.newPage();
  const complaints = [];
  const complain = (text) => {
    if (!expected.some((e) => e.test(text))) complaints.push(text);
  };
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') complain(m.text());
  });
  page.on('pageerror', (e) => complain(e.message));
  await page.addInitScript(
    (k) => {
      window.violations = [];
      document.addEventListener('securitypolicyviolation', (e) =>
        window.violations.push(`${e.violatedDirective} ${e.blockedURI}`),
      );
      if (k) sessionStorage.setItem('hotcell.key', k);
    },
    withKey ? key : undefined,
  );
  await page.goto(`${url}/${hash}`);
  await page.locator('h1').first().waitFor();
  t.after(async () => {
    try {
      assert.deepEqual(await page.evaluate(() => window.violations), [], 'nothing breaks the content security policy');
      assert.deepEqual(complaints, [], 'the console is silent');
    } finally {
      await context.close();
    }
  });
  return page;
}

export async function shot(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

export async function api(path, body, method = body === undefined ? 'GET' : 'POST') {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', ...(key ? { Authorization: `Bearer ${key}` } : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

export const execute = (body) => api('/api/v1/sandbox/execute', body);
export const submit = (body) => api('/api/v1/sandbox/execute?wait=false', body);
export const wide = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
