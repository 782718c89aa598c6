import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { patient, shot, start, stop, url, visit, wide } from './browser.mjs';

const key = process.env.HOTCELL_KEY;
const headers = { 'Content-Type': 'application/json', ...(key ? { Authorization: `Bearer ${key}` } : {}) };
const api = async (method, path, body) => {
  const r = await fetch(`${url}/api/v1/cells${path}`, { method, headers, body: body && JSON.stringify(body) });
  assert.ok(r.ok, `${method} ${path}: ${r.status} ${await r.clone().text()}`);
  return r.status === 204 ? null : r.json();
};

let cell;
before(async () => {
  await start();
  cell = await api('POST', '', { name: `page-${process.pid}`, labels: { team: 'blue' }, files: { 'a.txt': 'one\n', 'src/main.py': 'print(6 * 7)\n' } });
  await api('POST', `/${cell.id}/snapshots`, { label: 'first' });
});
after(async () => {
  await fetch(`${url}/api/v1/cells/${cell.id}`, { method: 'DELETE', headers });
  await stop();
});

const kTabs = {
  terminal: '[data-testid=terminal][data-state=open]',
  files: '[data-testid=files] tbody tr',
  changes: '.change',
  snapshots: '[data-testid=snapshots]',
  contexts: '.empty',
  usage: '[data-testid=usage]',
};

for (const colorScheme of ['light', 'dark'])
  for (const [device, viewport] of Object.entries({ desktop: { width: 1280, height: 860 }, phone: { width: 375, height: 740 } }))
    test(`cells fit a ${device}, ${colorScheme}`, async (t) => {
      const page = await visit(t, '#/cells', { viewport, colorScheme });
      await page.locator(`tr[data-id="${cell.id}"]`).waitFor(patient);
      await shot(page, `cells-${device}-${colorScheme}`);
      assert.ok((await wide(page)) <= 0, 'the list does not scroll sideways');
      for (const [tab, wanted] of Object.entries(kTabs)) {
        await page.goto(`${url}/#/cells/${cell.id}/${tab}`);
        await page.locator(wanted).first().waitFor(patient);
        await page.waitForTimeout(400);
        await shot(page, `cell-${tab}-${device}-${colorScheme}`);
        assert.ok((await wide(page)) <= 0, `${tab} does not scroll sideways`);
        assert.equal(await page.locator('h1').count(), 1, `${tab} has one headline`);
      }
    });

test('a terminal is typed into, left and found again', async (t) => {
  const page = await visit(t, `#/cells/${cell.id}/terminal`);
  const terminal = page.locator('[data-testid=terminal][data-state=open]');
  await terminal.waitFor(patient);
  await page.locator('.xterm-helper-textarea').focus();
  await page.keyboard.type('X=kept; echo mark$((40+2))\n');
  await page.getByText('mark42').first().waitFor(patient);
  await page.keyboard.press('Shift+Escape');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'terminal-leave', 'there is a way out by keyboard');
  await page.goto(`${url}/#/cells`);
  await page.goto(`${url}/#/cells/${cell.id}/terminal`);
  await terminal.waitFor(patient);
  await page.locator('.xterm-helper-textarea').focus();
  await page.keyboard.type('echo still $X\n');
  await page.getByText('still kept').first().waitFor(patient);
  await shot(page, 'terminal');
});

test('what a cell reads and writes is drawn beside what it uses', async (t) => {
  const writing = api('POST', `/${cell.id}/exec`, {
    shell: 'for i in 1 2 3 4 5 6 7 8 9 10; do head -c 8000000 /dev/zero > big; sync big; sleep 1; done; rm big',
  });
  const page = await visit(t, `#/cells/${cell.id}/usage`);
  for (const name of ['CPU', 'Memory', 'Disk', 'Processes', 'I/O']) await page.getByRole('region', { name, exact: true }).waitFor(patient);
  const io = page.getByRole('region', { name: 'I/O', exact: true });
  await io.getByRole('img', { name: /^I\/O over the last minutes, now .+\/s read, .+\/s written$/ }).waitFor(patient);
  // Both lines, told apart below the plot; the one that is written to has a rate that is none of zero.
  await io.locator('.plot-says .key-accent', { hasText: /^read .+\/s$/ }).waitFor(patient);
  await io.locator('.plot-says .key-warn', { hasText: /^written [1-9].* .?i?B\/s$/ }).waitFor(patient);
  await shot(page, 'usage-io');
  await writing;
});

test('a cell is made, worked in and removed from the page', async (t) => {
  const page = await visit(t, '#/cells');
  await page.getByRole('button', { name: 'New cell' }).click();
  await page.getByLabel('Name').fill(`made-${process.pid}`);
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.locator('[data-testid=terminal][data-state=open]').waitFor(patient);
  await page.getByRole('link', { name: 'Files' }).click();
  await page.getByTestId('upload').setInputFiles({ name: 'up.txt', mimeType: 'text/plain', buffer: Buffer.from('uploaded') });
  await page.getByRole('button', { name: 'up.txt' }).first().click();
  await page.getByText('uploaded').waitFor(patient);
  await page.getByRole('link', { name: 'Contexts' }).click();
  await page.getByRole('button', { name: 'New python' }).click();
  await page.getByLabel('Code').fill('x = 20; x + 22');
  await page.getByLabel('Code').press('Control+Enter');
  await page.locator('.turn-value', { hasText: '42' }).waitFor(patient);
  await page.getByRole('link', { name: 'Snapshots' }).click();
  await page.getByRole('button', { name: 'Take a snapshot' }).click();
  await page.getByTestId('snapshots').waitFor(patient);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).first().click();
  await page.getByRole('button', { name: /Really remove made-/ }).click();
  await page.locator(`tr[data-id="${cell.id}"]`).waitFor(patient);
  assert.equal(await page.getByText(`made-${process.pid}`).count(), 0);
});

test('a question is approved from the page', async (t) => {
  const asks = await api('POST', '', { name: `asks-${process.pid}`, decisions: 'decisions: {default: ask, timeout: 2m}' });
  const run = api('POST', `/${asks.id}/exec`, { command: 'echo', args: ['allowed'] });
  const page = await visit(t, `#/cells/${asks.id}/usage`);
  await page.getByTestId('questions').waitFor(patient);
  await shot(page, 'question');
  await page.getByRole('button', { name: 'Approve' }).click();
  assert.equal((await run).stdout, 'allowed\n');
  await page.goto('about:blank');   // which would ask for what is gone
  await api('DELETE', `/${asks.id}`);
});
