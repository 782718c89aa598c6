import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, patient, shot, start, stop, visit } from './browser.mjs';

before(start);
after(stop);

const write = async (page, code) => page.locator('#code').fill(code);

test('what is run in the playground prints, streams apart, and has a page with all that is known of it', async (t) => {
  const page = await visit(t, '#/playground');
  await write(
    page,
    'import os, sys\nprint("to the one side")\nprint("to the other", file=sys.stderr)\nos.system("true")\n',
  );
  await page.getByTestId('run').click();
  const output = page.getByTestId('output');
  await output.getByText('to the one side').waitFor(patient);
  assert.equal(
    await output
      .locator('.stderr')
      .first()
      .textContent()
      .then((s) => s.includes('to the other')),
    true,
  );
  await page.getByTestId('run-status').getByText('exit code 0').waitFor(patient);
  await shot(page, 'playground');
  await page.getByTestId('open').click();
  await page.getByTestId('verdict').getByText('completed').waitFor();
  await page.getByTestId('output').getByText('to the one side').waitFor();
  const table = page.getByTestId('enforcement');
  await table.getByText('seccomp', { exact: true }).waitFor();
  assert.ok((await table.locator('tbody tr').count()) >= 10, 'each layer has a row');
  await page.locator('.line.marked .number', { hasText: '4' }).waitFor();
  await page.locator('.line.marked').getByText('os.system').first().waitFor();
  assert.ok((await page.getByTestId('resources').getByRole('meter').count()) >= 2, 'usage stands against its limits');
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  await shot(page, 'execution');
});

test('another language is chosen and run: a shell, one that compiles, and the choice is in the commands to share', async (t) => {
  const page = await visit(t, '#/playground');
  const choice = page.getByLabel('Language', { exact: true });
  await page.waitForFunction(() => document.querySelectorAll('#language option').length >= 11, null, patient);
  for (const [language, code, said] of [
    ['bash', 'for i in 1 2 3; do echo "bash $((i * 14))"; done\n', 'bash 42'],
    ['c', '#include <stdio.h>\nint main(void) { puts("compiled here"); return 0; }\n', 'compiled here'],
    ['javascript', 'console.log([6, 7].reduce((a, b) => a * b) + " from node")\n', '42 from node'],
  ]) {
    await choice.selectOption(language);
    await write(page, code);
    await page.getByTestId('run').click();
    await page.getByTestId('output').getByText(said).waitFor(patient);
    await page.getByTestId('run-status').getByText('exit code 0').waitFor(patient);
    assert.match(await page.getByTestId('share').textContent(), new RegExp(`"language":\\s*"${language}"`));
  }
  await shot(page, 'playground-language');
  await page.getByTestId('open').click();
  await page.getByTestId('verdict').getByText('completed').waitFor();
  const { executions } = await api('/api/v1/executions?limit=1');
  assert.equal(executions[0].language, 'javascript');
  await page.goBack();
  await choice.selectOption('python');
});

test('output appears while the program still runs, and Stop ends it', async (t) => {
  const page = await visit(t, '#/playground');
  await write(page, 'import time\nfor n in range(600):\n    print("tick", n, flush=True)\n    time.sleep(0.1)\n');
  await page.getByTestId('run').click();
  await page.getByTestId('output').getByText('tick 3').waitFor(patient);
  await page.getByTestId('run-status').getByText('running').first().waitFor();
  await page.getByTestId('stop').click();
  await page.getByTestId('run-status').getByText('cancelled').first().waitFor(patient);
});

test('the verifier marks the line, and its finding leads there', async (t) => {
  const page = await visit(t, '#/playground');
  await write(page, 'import os\n\nos.system("id")\n');
  await page.getByTestId('verify').click();
  const findings = page.getByTestId('findings');
  await findings.getByText('os.system').first().waitFor(patient);
  assert.equal(await page.locator('.gutter .mark').first().textContent(), '3');
  await findings.getByRole('button', { name: 'Go to line 3' }).first().click();
  assert.equal(await page.evaluate(() => getSelection().toString()), 'os.system("id")');
  await shot(page, 'findings');
  await write(page, 'print(1)\n');
  assert.equal(await findings.count(), 0, 'findings belong to the text they were found in');
});

test('the commands to share do what the page does', async (t) => {
  const page = await visit(t, '#/playground');
  const code = `print('it''s "quoted" $HOME')\n`;
  await write(page, code);
  await page.getByLabel('Memory').fill('64M');
  const curl = await page.getByTestId('share').textContent();
  const body = JSON.parse(/-d '([\s\S]*)'$/.exec(curl)[1].replaceAll(`'\\''`, `'`));
  assert.deepEqual(body, { language: 'python', code, limits: { memory: '64M' } });
  assert.equal((await api('/api/v1/sandbox/execute', body)).stdout, 'its "quoted" $HOME\n');
  await page.getByRole('button', { name: 'hotcell run' }).click();
  assert.match(await page.getByTestId('share').textContent(), /^hotcell run --language python --memory 64M -c '/);
});

test('a program that may use the network is held to a proxy, and told what it refused', async (t) => {
  const page = await visit(t, '#/playground');
  await write(page, 'import socket\ns = socket.create_connection(("127.0.0.1", 3128))\n' +
    's.sendall(b"CONNECT not-allowed.example:443 HTTP/1.1\\r\\nHost: not-allowed.example:443\\r\\n\\r\\n")\nprint(s.recv(100).split()[1])\n');
  await page.getByLabel('network through a proxy').check();
  await page.getByTestId('run').click();
  await page.getByTestId('run-status').getByText('exit code 0').waitFor(patient);
  await page.getByText("b'403'").first().waitFor(patient);
  await shot(page, 'network');
  await page.getByLabel('network through a proxy').uncheck();
});

test('a program without the network has none, also where this daemon gives one to whoever does not say', async (t) => {
  const change = (network_enabled) => api('/api/v1/sandbox/config', { network_enabled }, 'PATCH');
  await change(true);
  t.after(() => change(false));
  const page = await visit(t, '#/playground');
  await write(page, 'import os\nprint("proxy", os.environ.get("https_proxy"))\n');
  await page.getByTestId('share').getByText('"network":"none"').waitFor();
  await page.getByTestId('run').click();
  await page.getByText('proxy None').first().waitFor(patient);
});

test('the keys of the editor indent, and can be left', async (t) => {
  const page = await visit(t, '#/playground');
  const code = page.locator('#code');
  await code.fill('');
  await code.focus();
  await page.keyboard.type('if True:\n');
  await page.keyboard.type('print(1)');
  assert.equal(await code.inputValue(), 'if True:\n    print(1)');
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Tab');
  assert.equal(await code.inputValue(), '    if True:\n        print(1)');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await code.inputValue(), 'if True:\n    print(1)');
  await page.keyboard.press('Control+Enter');
  await page.getByTestId('run-status').getByText('exit code 0').waitFor(patient);
  await code.focus();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  assert.notEqual(await page.evaluate(() => document.activeElement.id), 'code', 'Esc, then Tab leaves the field');
});

test('a refused request says why', async (t) => {
  const page = await visit(t, '#/playground', { expected: [/status of 4\d\d/] });
  await page.getByLabel('Memory').fill('lots');
  await page.getByTestId('run').click();
  await page.getByRole('alert').getByText('memory').waitFor(patient);
});
