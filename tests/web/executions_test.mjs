import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, execute, patient, shot, start, stop, submit, visit } from './browser.mjs';

before(start);
after(stop);

const unique = () => Math.random().toString(36).slice(2, 10);

test('an execution comes into the open list by itself, and its end too', async (t) => {
  const page = await visit(t);
  await page.getByText('Live', { exact: true }).waitFor(patient);
  const { id } = await submit({ language: 'python', code: 'import time\ntime.sleep(2)\n' });
  const row = page.locator(`tr[data-id="${id}"]`);
  await row.getByText('running').first().waitFor(patient);
  await row.getByText('exit 0').waitFor(patient);
});

test('what runs draws its CPU as it uses it: a line that is high while it computes and low while it sleeps', async (t) => {
  const page = await visit(t);
  await page.getByText('Live', { exact: true }).waitFor(patient);
  const code = 'import time\nend = time.time() + 2\nwhile time.time() < end: pass\ntime.sleep(3)\n';
  const { id } = await submit({ language: 'python', code });
  const line = page.locator(`tr[data-id="${id}"] .spark polyline`);
  const heights = async () =>
    (await line.getAttribute('points', patient)).split(' ').map((xy) => 15 - Number(xy.split(',')[1]));
  await line.waitFor({ state: 'attached', ...patient });
  await page.waitForFunction(
    (which) => document.querySelector(which)?.getAttribute('points').split(' ').length >= 20,
    `tr[data-id="${id}"] .spark polyline`,
    patient,
  );
  await page.waitForTimeout(2500);
  const drawn = await heights();
  assert.ok(drawn.every((h) => h >= 0 && h <= 14.5), `inside of its box: ${drawn}`);
  assert.ok(Math.max(...drawn) > 10 && Math.min(...drawn) < 4, `high and low: ${drawn}`);
  await page.locator(`tr[data-id="${id}"]`).getByText('exit 0').waitFor(patient);
});

test('the list is filtered by words, state and language, and the address keeps the filter', async (t) => {
  const word = unique();
  await execute({ language: 'python', code: `print("${word}")\n` });
  await execute({ language: 'bash', code: `echo ${word}; exit 3\n` });
  const page = await visit(t);
  const rows = page.getByTestId('executions').locator('tbody tr');
  await page.locator('#search').fill(word);
  await page.waitForFunction(() => document.querySelectorAll('table.list tbody tr').length === 2, null, patient);
  await page.getByLabel('State').selectOption('failed');
  await page.waitForFunction(() => document.querySelectorAll('table.list tbody tr').length === 1, null, patient);
  await rows.getByText('exit 3', { exact: true }).waitFor();
  await page.reload();
  await rows.getByText('exit 3', { exact: true }).waitFor(patient);
  await page.getByLabel('Language', { exact: true }).selectOption('python');
  await page.getByText('No execution matches.').waitFor(patient);
  await page.getByRole('button', { name: 'Clear' }).click();
  await rows.first().waitFor(patient);
  assert.ok((await rows.count()) >= 2);
});

test('a long run is watched and killed on its page', async (t) => {
  const { id } = await submit({
    language: 'python',
    code: 'import time\nprint("here", flush=True)\nx = bytearray(20_000_000)\ntime.sleep(100)\n',
  });
  const page = await visit(t, `#/executions/${id}`);
  await page.getByTestId('output').getByText('here').waitFor(patient);
  await page.locator('.uplot').first().waitFor(patient);
  await shot(page, 'running');
  await page.getByText('They stand here when it has ended.').waitFor(patient);
  await page.getByTestId('kill').click();
  await page.getByTestId('verdict').getByText('Cancelled').waitFor(patient);
  assert.equal((await api(`/api/v1/executions/${id}`)).exit_reason, 'cancelled');
  assert.equal(await page.getByTestId('kill').count(), 0);
  await page.getByText('execution.killed').first().waitFor(patient);
});

test('a denial says what, why, and the line that would allow it or that none does', async (t) => {
  const { id, denials } = await execute({ language: 'bash', code: 'unshare -U true\n' });
  assert.ok(denials.length > 0);
  const page = await visit(t, `#/executions/${id}`);
  const denial = page.locator('.denial').first();
  await denial.getByText('unshare').first().waitFor(patient);
  await denial.getByText(/To allow it|No option allows this/).waitFor();
});

test('a compiler error stands in the compile step', async (t) => {
  const { id } = await execute({ language: 'c', code: 'int main(void) { return x; }\n' });
  const page = await visit(t, `#/executions/${id}`);
  await page.getByTestId('verdict').getByText('Does not compile').waitFor(patient);
  await page.locator('.diagnostic').first().waitFor();
  assert.match(await page.locator('.phases').getAttribute('aria-label'), /compile [^,]*$/, 'nothing ran after it');
});

test('what waited for its turn and then for its compiler shows both', async (t) => {
  const code = `int main(void) { return ${Math.floor(Math.random() * 100)}; }  // ${Date.now()}\n`;
  const { id } = await execute({ language: 'c', code });
  const { start_time: start, end_time: end, result } = await api(`/api/v1/executions/${id}`);
  assert.equal(start.slice(0, 26), result.start_time.slice(0, 26), 'the list has the times of the result');
  assert.equal(end.slice(0, 26), result.end_time.slice(0, 26));
  const page = await visit(t, `#/executions/${id}`);
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  assert.match(await page.locator('.phases').getAttribute('aria-label'), /^queue and hand-over [^,]*, compile [^,]*, run /);
});

test('what a program writes is text, never markup, colours aside', async (t) => {
  const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';
  const { id } = await execute({
    language: 'python',
    code: `print("""${hostile}""")\nprint("\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07\\x1b[2J after \\u202e")\n`,
  });
  const page = await visit(t, `#/executions/${id}`);
  const output = page.getByTestId('output');
  await output.getByText(hostile).waitFor(patient);
  assert.equal(await page.locator('main img, main script').count(), 0);
  assert.equal(await output.locator('.ansi-red').textContent(), 'red');
  const text = await output.textContent();
  assert.ok(!text.includes('title') && !text.includes('\x1b') && !text.includes('\u202e'));
  assert.ok(text.includes('⟨U+202E⟩'), 'a mark that turns the text around is shown');
});

test('html of a program sits in a frame that runs nothing', async (t) => {
  const code = `class H:
    def _repr_html_(self):
        return ("<table><tr><td onclick='x()'>cell</td></tr></table><style>td{color:red}</style>"
                "<script>parent.document.title='owned'</script><img src=x onerror='parent.y()'>")
H()
`;
  const { id, outputs } = await execute({ language: 'python', code, rich: true });
  assert.ok(outputs.some((o) => o.type === 'html'));
  const page = await visit(t, `#/executions/${id}`);
  const frame = page.locator('iframe.rich-frame').first();
  await frame.waitFor(patient);
  assert.equal(await frame.getAttribute('sandbox'), '');
  await page.frameLocator('iframe.rich-frame').first().getByText('cell').waitFor();
  assert.equal(await page.frameLocator('iframe.rich-frame').first().locator('script, [onclick], [onerror]').count(), 0);
  assert.doesNotMatch(await page.title(), /owned/);
});

test('an unknown execution is a sentence, not an empty page', async (t) => {
  const page = await visit(t, '#/executions/00000000-0000-0000-0000-000000000000', { expected: [/status of 404/] });
  await page.getByRole('alert').waitFor(patient);
});
