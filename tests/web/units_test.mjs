// The parts of the page that read what comes from outside, without a browser.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../..');
const modules = join(root, 'build/web/node_modules');
const esbuild = ['x64', 'arm64'].map((cpu) => join(modules, `@esbuild/linux-${cpu}/bin/esbuild`)).find(existsSync);

async function load(...files) {
  const source = files.map((f) => `export * from ${JSON.stringify(join(root, 'web/src', f))};`).join('\n');
  const code = execFileSync(esbuild, ['--bundle', '--format=esm'], { input: source, env: { NODE_PATH: modules } });
  return import(`data:text/javascript;base64,${code.toString('base64')}`);
}
const { Ansi, visible, EventParser, bytes, ns, quote, verdict } = await load('text.ts', 'sse.ts', 'format.ts');

test('events are the same wherever the chunks end and however lines do', () => {
  const stream = ': hello\nid: 7\nevent: stdout\ndata: {"a":\ndata: 1}\n\nretry: 5\ndata:x\n\nevent: lost\n\n';
  const expected = [
    { id: '7', type: 'stdout', data: '{"a":\n1}' },
    { id: '7', type: 'message', data: 'x' },
  ];
  for (const end of ['\n', '\r\n', '\r'])
    for (let size = 1; size <= stream.length; ++size) {
      const seen = [];
      const parser = new EventParser((e) => seen.push(e));
      const text = stream.replaceAll('\n', end);
      for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
      // A lone CR at the end may be half of a CRLF.
      parser.push(end === '\r' ? ':' : '');
      assert.deepEqual(seen, expected, `${JSON.stringify(end)}, ${size}`);
    }
});

test('colours are kept and everything else of a terminal is dropped, wherever the chunks end', () => {
  const text =
    'a\x1b[1;31mb\x1b[0m\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1b[2J\x1b[10;10He\x1b(Bf\x1b[38;5;2mg\x1b[mh\r\ni\rj';
  for (let size = 1; size <= text.length; ++size) {
    const ansi = new Ansi();
    const parts = [];
    for (let at = 0; at < text.length; at += size) parts.push(...ansi.feed(text.slice(at, at + size)));
    assert.equal(parts.map((p) => p.text).join(''), 'abcdefgh\ni\nj', String(size));
    const classes = (c) => parts.find((p) => p.text.includes(c)).classes;
    assert.equal(classes('b'), 'ansi-red ansi-bold');
    assert.equal(classes('g'), 'ansi-green');
    assert.equal(classes('h'), '');
  }
});

test('an escape sequence without an end does not hold back the text for ever', () => {
  const ansi = new Ansi();
  const seen = ansi
    .feed(`\x1b]0;${'x'.repeat(1000)}`)
    .map((p) => p.text)
    .join('');
  assert.ok(seen.length > 0);
});

test('characters that deceive the eye are shown', () => {
  assert.equal(visible('a\u202eb\u200bc\u0000d\te\n'), 'a⟨U+202E⟩b⟨U+200B⟩c␀d\te\n');
  assert.equal(visible('Grüße, 世界 👋'), 'Grüße, 世界 👋');
});

test('numbers are short and keep their unit', () => {
  assert.deepEqual([0, 1023, 1024, 1536, 268435456, 1e12].map(bytes), [
    '0 B',
    '1023 B',
    '1 KiB',
    '1.5 KiB',
    '256 MiB',
    '931 GiB',
  ]);
  assert.deepEqual([0, 999, 1500, 2.5e6, 61e9, 7200e9].map(ns), [
    '0 ns',
    '999 ns',
    '1.50 µs',
    '2.50 ms',
    '1 min 1 s',
    '2 h 0 min',
  ]);
});

test('what is quoted for a shell comes out of the shell as it went in', () => {
  for (const text of ['plain', '', "it's", '$HOME `id` "x" \\ !', 'two\nlines', '*', '-n'])
    assert.equal(execFileSync('sh', ['-c', `printf %s ${quote(text)}`]).toString(), text);
});

test('every way to end has words', () => {
  const end = { status: 'killed', exit_code: null, signal: 11 };
  assert.equal(verdict({ ...end, exit_reason: 'signal' }), 'SIGSEGV');
  assert.equal(verdict({ ...end, exit_reason: null }), 'killed');
  assert.equal(verdict({ ...end, exit_reason: 'exited', exit_code: 3 }), 'exit 3');
});
