import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute, patient, shot, start, stop, url, visit, wide } from './browser.mjs';

let id;
before(async () => {
  await start();
  ({ id } = await execute({ language: 'python', code: 'import os\nprint("x" * 300)\nos.system("true")\n' }));
});
after(stop);

const pages = () => ({
  list: ['#/', 'table.list'],
  execution: [`#/executions/${id}`, '[data-testid=enforcement]'],
  playground: ['#/playground', '#code'],
  latency: ['#/latency', '[data-testid=tiles]'],
  host: ['#/host', 'table.dense'],
  audit: ['#/audit', 'h1'],
});

for (const colorScheme of ['light', 'dark'])
  for (const [device, viewport] of Object.entries({
    desktop: { width: 1280, height: 860 },
    phone: { width: 375, height: 740 },
  }))
    test(`every page fits a ${device}, ${colorScheme}`, async (t) => {
      const page = await visit(t, '#/', { viewport, colorScheme });
      for (const [name, [hash, wanted]] of Object.entries(pages())) {
        await page.goto(`${url}/${hash}`);
        await page.locator(wanted).first().waitFor(patient);
        await page.waitForTimeout(name === 'latency' ? 2500 : 300);
        await shot(page, `${name}-${device}-${colorScheme}`);
        assert.ok((await wide(page)) <= 0, `${name} does not scroll sideways`);
        assert.equal(await page.locator('h1').count(), 1, `${name} has one headline`);
        if (name !== 'execution' || device !== 'phone') continue;
        const hidden = (e) => e.scrollWidth - e.clientWidth;
        assert.ok((await page.locator('.s-events .scroll').evaluate(hidden)) <= 0, 'what an event says is there to be read');
      }
    });

test('everything is reached by keyboard alone', async (t) => {
  const page = await visit(t);
  await page.locator('table.list tbody tr').first().waitFor(patient);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.keyboard.press('?');
  const help = page.getByRole('dialog');
  await help.getByText('Search executions').waitFor();
  await shot(page, 'keys');
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  const link = await page.evaluate(() => document.activeElement.getAttribute('href'));
  assert.match(link, /^#\/executions\//);
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(ring, 'solid', 'what has the focus shows it');
  await page.keyboard.press('Enter');
  await page.getByTestId('verdict').waitFor(patient);
  await page.keyboard.type('gp');
  await page.locator('#code').waitFor();
  await page.keyboard.type('gs');
  await page.getByRole('heading', { name: 'Latency and pool' }).waitFor();
  await page.keyboard.type('gd');
  await page.getByRole('heading', { name: 'This host' }).waitFor();
  await page.keyboard.type('ga');
  await page.getByRole('heading', { name: 'Audit' }).waitFor();
  await page.keyboard.press('/');
  await page.locator('#search:focus').waitFor();
});

test('the theme follows the system until somebody chooses, and the choice lasts', async (t) => {
  const page = await visit(t, '#/', { colorScheme: 'dark' });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.getByTestId('theme').click();
  const light = await background();
  assert.notEqual(light, dark);
  await page.reload();
  await page.locator('h1').waitFor();
  assert.equal(await background(), light);
  await page.getByTestId('theme').click();
  assert.equal(await background(), dark);
});

test('the host page says what a cell has here, and which languages', async (t) => {
  const page = await visit(t, '#/host');
  await page.getByText('landlock_broad').first().waitFor(patient);
  await page.getByText('native', { exact: true }).first().waitFor(patient);
  await page.getByText(/of \d+ usable/).waitFor(patient);
});

test('the audit chain is verified from the page', async (t) => {
  const page = await visit(t, '#/audit');
  await page.getByTestId('audit').locator('tbody tr').first().waitFor(patient);
  await page.getByRole('button', { name: 'Verify the chain' }).click();
  await page.getByTestId('audit-verify').getByText('intact').waitFor(patient);
});

test('numbers of the pool come by themselves', async (t) => {
  const page = await visit(t, '#/latency');
  await page.locator('.uplot').first().waitFor(patient);
  await page.getByText('launcher up').waitFor();
  // What waits is counted as it is: the daemon's own default is eight cells and one Python.
  const tile = (label) => page.locator('.tile', { has: page.getByText(label, { exact: true }) }).locator('dd').first();
  await tile('Parked runtimes').getByText('1', { exact: true }).waitFor(patient);
  await tile('Parked cells').getByText('8', { exact: true }).waitFor(patient);
});

test('a daemon that wants a key is asked with one, and a wrong one is told', async (t) => {
  const page = await visit(t, '#/', { withKey: false, expected: [/status of 401/] });
  const wants = async (route) => {
    const { authorization, ...headers } = route.request().headers();
    if (authorization !== 'Bearer hc_right')
      return route.fulfill({
        status: 401,
        contentType: 'application/json',
        body: '{"message":"this key is not known"}',
      });
    if (process.env.HOTCELL_KEY) headers.authorization = `Bearer ${process.env.HOTCELL_KEY}`;
    return route.fallback({ headers });
  };
  await page.route('**/api/**', wants);
  await page.reload();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('API key').fill('hc_wrong');
  await page.keyboard.press('Enter');
  await dialog.getByText('this key is not known').waitFor(patient);
  await shot(page, 'key');
  await dialog.getByLabel('API key').fill('hc_right');
  await page.keyboard.press('Enter');
  await page.locator('table.list tbody tr').first().waitFor(patient);
  assert.equal(await page.evaluate(() => sessionStorage.getItem('hotcell.key')), 'hc_right');
  assert.equal(
    await page.evaluate(() => JSON.stringify(localStorage).includes('hc_')),
    false,
    'a key does not outlive the tab',
  );
});

test('a daemon that goes away is told of, and the page goes on when it is back', async (t) => {
  const page = await visit(t, '#/', { expected: [/Failed to load|net::ERR/] });
  await page.getByText('Live', { exact: true }).waitFor(patient);
  await page.route('**/api/**', (route) => route.abort());
  await page.reload();
  await page.getByText('no answer').waitFor(patient);
  await page.getByText('The daemon does not answer').first().waitFor(patient);
  await shot(page, 'lost');
  await page.unroute('**/api/**');
  await page.getByText('Live', { exact: true }).waitFor(patient);
  await page.locator('table.list tbody tr').first().waitFor(patient);
});
